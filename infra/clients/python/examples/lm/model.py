"""A decoder-only transformer of 0.9 million parameters, in plain JAX.

Every function takes the weights as a dictionary of arrays; nothing here knows of turnstream. A layer looks at each token together with the
one before it, which lets so small a model learn to copy within a minute.
"""

import json
import struct
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from vocabulary import TOKENS

LAYERS, WIDTH, HEADS, HIDDEN = 4, 128, 4, 640
HEAD = WIDTH // HEADS
CONTEXT = 192

Weights = dict[str, jax.Array]


class Cache(NamedTuple):
    """Keys and values of one layer for every position of every sequence, and the input of the layer at the position before.

    Each layer has its own arrays, with axes in the order in which attention reads them: a step then updates them in place.
    """

    keys: jax.Array  # sequence, head, position, channel
    values: jax.Array
    before: jax.Array  # sequence, channel


def new_weights(seed: int) -> Weights:
    """Random weights. Parameters of layers are stacked along the first axis."""
    keys = iter(jax.random.split(jax.random.key(seed), 6))

    def matrix(*shape: int, scale: float = 1.0) -> jax.Array:
        return jax.random.normal(next(keys), shape) * scale / np.sqrt(shape[-2])

    size, small = len(TOKENS), 1 / np.sqrt(2 * LAYERS)
    return {
        "embed": matrix(size, WIDTH, scale=0.5 * np.sqrt(size)),
        "head": matrix(WIDTH, size, scale=0.5),
        "norm": jnp.ones(WIDTH),
        "layers.norm_attention": jnp.ones((LAYERS, WIDTH)),
        "layers.norm_mlp": jnp.ones((LAYERS, WIDTH)),
        "layers.shift": jnp.full((LAYERS, 3, WIDTH), 0.5),
        "layers.qkv": matrix(LAYERS, 3, WIDTH, WIDTH),
        "layers.out": matrix(LAYERS, WIDTH, WIDTH, scale=small),
        "layers.up": matrix(LAYERS, WIDTH, HIDDEN),
        "layers.down": matrix(LAYERS, HIDDEN, WIDTH, scale=small),
    }


def _layers(weights: Weights) -> Weights:
    return {name.removeprefix("layers."): array for name, array in weights.items() if name.startswith("layers.")}


def norm(x: jax.Array, scale: jax.Array, least: float = 1e-6) -> jax.Array:
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + least) * scale


def rotate(x: jax.Array, positions: jax.Array, base: float = 1000.0) -> jax.Array:
    """Rotary position embedding. The axes of x are …, position, head, channel."""
    rates = base ** (-jnp.arange(0, x.shape[-1], 2) / x.shape[-1])
    angles = positions[..., None, None] * rates
    sin, cos = jnp.sin(angles), jnp.cos(angles)
    even, odd = x[..., 0::2], x[..., 1::2]
    return jnp.stack([even * cos - odd * sin, even * sin + odd * cos], -1).reshape(x.shape)


def _qkv(layer: Weights, x: jax.Array, before: jax.Array) -> list[jax.Array]:
    """Queries, keys, and values of x, each mixed with the input at the previous position."""
    mixed = [(x + layer["shift"][i] * before) @ layer["qkv"][i] for i in range(3)]
    return [part.reshape(*x.shape[:-1], HEADS, HEAD) for part in mixed]


def _mlp(layer: Weights, x: jax.Array) -> jax.Array:
    return jnp.square(jax.nn.relu(norm(x, layer["norm_mlp"]) @ layer["up"])) @ layer["down"]


def logits_of(weights: Weights, ids: jax.Array) -> jax.Array:
    """Logits after every position of full sequences (sequence, position). Padding at the end does not affect positions before it."""
    positions = jnp.arange(ids.shape[1])
    seen = positions[:, None] >= positions[None, :]

    def apply(x: jax.Array, layer: Weights) -> tuple[jax.Array, None]:
        y = norm(x, layer["norm_attention"])
        q, k, v = _qkv(layer, y, jnp.pad(y, ((0, 0), (1, 0), (0, 0)))[:, :-1])
        q, k = rotate(q, positions), rotate(k, positions)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(HEAD)
        shares = jax.nn.softmax(jnp.where(seen, scores, -1e9), -1)
        x = x + jnp.einsum("bhqk,bkhd->bqhd", shares, v).reshape(x.shape) @ layer["out"]
        return x + _mlp(layer, x), None

    x, _ = jax.lax.scan(apply, weights["embed"][ids], _layers(weights))
    return norm(x, weights["norm"]) @ weights["head"]


def token_logprobs(weights: Weights, ids: jax.Array) -> jax.Array:
    """Log probability of each token given those before it; 0 for the first."""
    logprobs = jax.nn.log_softmax(logits_of(weights, ids[:, :-1]))
    chosen = jnp.take_along_axis(logprobs, ids[:, 1:, None], -1)[..., 0]
    return jnp.pad(chosen, ((0, 0), (1, 0)))


def new_cache(sequences: int) -> list[Cache]:
    shape = (sequences, HEADS, CONTEXT, HEAD)
    return [Cache(jnp.zeros(shape), jnp.zeros(shape), jnp.zeros((sequences, WIDTH))) for _ in range(LAYERS)]


def decode_step(weights: Weights, cache: list[Cache], ids: jax.Array, positions: jax.Array) -> tuple[jax.Array, list[Cache]]:
    """Feeds one token of each sequence at its own position, and returns the logits after it. Position 0 starts a new sequence."""
    rows, heads = jnp.arange(ids.shape[0])[:, None], jnp.arange(HEADS)[None]
    seen = jnp.arange(CONTEXT)[None, :] <= positions[:, None]
    x, layers, after = weights["embed"][ids], _layers(weights), []
    for at, (keys, values, before) in enumerate(cache):
        layer = {name: array[at] for name, array in layers.items()}
        y = norm(x, layer["norm_attention"])
        q, k, v = (part[:, None] for part in _qkv(layer, y, jnp.where((positions == 0)[:, None], 0.0, before)))
        q, k = rotate(q, positions[:, None]), rotate(k, positions[:, None])
        keys = keys.at[rows, heads, positions[:, None]].set(k[:, 0])
        values = values.at[rows, heads, positions[:, None]].set(v[:, 0])
        scores = jnp.einsum("bhd,bhkd->bhk", q[:, 0], keys) / np.sqrt(HEAD)
        shares = jax.nn.softmax(jnp.where(seen[:, None], scores, -1e9), -1)
        x = x + jnp.einsum("bhk,bhkd->bhd", shares, values).reshape(x.shape) @ layer["out"]
        x = x + _mlp(layer, x)
        after.append(Cache(keys, values, y))
    return norm(x, weights["norm"]) @ weights["head"], after


def save_weights(path: Path, weights: Weights) -> None:
    """Writes a safetensors file atomically."""
    header: dict[str, object] = {}
    arrays = {name: np.asarray(weights[name], np.float32) for name in sorted(weights)}
    end = 0
    for name, array in arrays.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [end, end + array.nbytes]}
        end += array.nbytes
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    partial = path.with_suffix(".partial")
    partial.write_bytes(struct.pack("<Q", len(head)) + head + b"".join(array.tobytes() for array in arrays.values()))
    partial.replace(path)


def load_weights(data: bytes) -> Weights:
    """Reads a safetensors file of float32 arrays."""
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + size])
    body = memoryview(data)[8 + size :]
    return {
        name: jnp.asarray(np.frombuffer(body[slice(*entry["data_offsets"])], np.float32).reshape(entry["shape"]))
        for name, entry in header.items()
    }
