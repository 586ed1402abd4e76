"""The parts of SmolLM2 that need neither its weights nor its tokenizer, with small weights in their place."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent)]
pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from grpo import train_step  # noqa: E402
from model import load_weights, save_weights  # noqa: E402
from models import SMALL, Model  # noqa: E402
from optimizer import new_adam  # noqa: E402
from sampling import Generation, Sampler  # noqa: E402
from smollm2 import RANK, SYSTEM, Shape, network, new_weights, render, stacked, tokenizer_of  # noqa: E402
from task import RESULT, RESULT_END, THINK  # noqa: E402
from vocabulary import TOKENS, encode  # noqa: E402
from warm_start import make_batch  # noqa: E402

SHAPE = Shape(layers=3, trained=2, kv_heads=2, width=4, rotation=100.0, least=1e-5)
CHANNELS, HIDDEN = 24, 40
ROWS_OF = {"attn_k": 8, "attn_v": 8, "ffn_gate": HIDDEN, "ffn_up": HIDDEN}


def small_tensors() -> dict[str, np.ndarray]:
    """Weights with the names and axes of a GGUF file: a matrix has a row for each output."""
    rng = np.random.default_rng(1)

    def matrix(rows: int, columns: int) -> np.ndarray:
        return (rng.standard_normal((rows, columns)) / np.sqrt(columns)).astype(np.float32)

    tensors = {"token_embd.weight": matrix(len(TOKENS), CHANNELS) * 4, "output_norm.weight": np.ones(CHANNELS, np.float32)}
    # makes padding, which is never sampled, improbable: other tokens have large logits
    tensors["token_embd.weight"][0] = 0
    for layer in range(SHAPE.layers):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
            columns = HIDDEN if name == "ffn_down" else CHANNELS
            tensors[f"blk.{layer}.{name}.weight"] = matrix(ROWS_OF.get(name, CHANNELS), columns)
        for name in ("attn_norm", "ffn_norm"):
            tensors[f"blk.{layer}.{name}.weight"] = np.ones(CHANNELS, np.float32)
    return tensors


def small_model() -> Model:
    return replace(SMALL, **network(SHAPE, stacked(small_tensors(), SHAPE)))


def changed(model: Model) -> dict[str, jnp.ndarray]:
    """LoRA matrices that are not zero."""
    return {name: array + 0.05 for name, array in model.new_weights(1).items()}


def test_a_transcript_is_rendered_as_a_chat() -> None:
    beginning = f"<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\n1+2+3<|im_end|>\n<|im_start|>assistant\n"
    assert render("1+2+3" + THINK) == beginning
    called = f"1+2+3{THINK}<calc> 1+2 </calc>{RESULT}3{RESULT_END}{THINK}"
    turn = "<calc> 1+2 </calc><|im_end|>\n<|im_start|>user\n3<|im_end|>\n<|im_start|>assistant\n"
    assert render(called) == beginning + turn


def test_frozen_weights_have_the_layers_first_and_lora_matrices_fit_them() -> None:
    tensors = small_tensors()
    frozen = stacked(tensors, SHAPE)
    shapes = {name: array.shape for name, array in frozen.items()}
    assert shapes["lower.attn_k"] == (1, CHANNELS, 8) and shapes["upper.attn_k"] == (2, CHANNELS, 8)
    assert shapes["upper.ffn_down"] == (2, HIDDEN, CHANNELS) and shapes["upper.ffn_norm"] == (2, CHANNELS)
    assert shapes["embed"] == (len(TOKENS), CHANNELS) and shapes["norm"] == (CHANNELS,)
    np.testing.assert_array_equal(frozen["upper.ffn_up"][1], tensors["blk.2.ffn_up.weight"].T)
    lora = new_weights(frozen, 1)
    assert lora["upper.ffn_up.in"].shape == (2, CHANNELS, RANK) and lora["upper.ffn_up.out"].shape == (2, RANK, HIDDEN)
    assert not any(name in frozen for name in lora) and not lora["upper.attn_q.out"].any()


def test_lora_matrices_change_nothing_before_training_and_come_back_from_their_file(tmp_path: Path) -> None:
    model = small_model()
    ids = jnp.array([encode("12+34")])
    untrained = model.token_logprobs({**model.frozen, **model.new_weights(1)}, ids)
    np.testing.assert_allclose(untrained, model.token_logprobs(model.frozen, ids), atol=1e-4)
    save_weights(tmp_path / "v1.safetensors", changed(model))
    back = load_weights((tmp_path / "v1.safetensors").read_bytes())
    trained = model.token_logprobs({**model.frozen, **back}, ids)
    np.testing.assert_array_equal(trained, model.token_logprobs({**model.frozen, **changed(model)}, ids))
    assert np.abs(trained - untrained).max() > 1e-3


def test_generates_what_the_whole_model_says_also_from_a_part_of_a_cache() -> None:
    model, done = small_model(), []
    weights = changed(model)
    sampler = Sampler(weights, 0, 2, 5, model)

    def generate(prompt: list[int]) -> int:
        sampler.start(Generation(prompt, 6, 1.0, done.append))
        steps = 0
        while not sampler.idle:
            sampler.step()
            steps += 1
        return steps

    generate(encode("capital of Chad"))
    # begins like the first one, and goes on differently
    assert generate(encode("capital of Peru")) < len("capital of Peru")
    for generation in done:
        ids = jnp.array([generation.prompt + generation.ids])
        expected = model.token_logprobs({**model.frozen, **weights}, ids)[0, len(generation.prompt) :]
        # padding is never sampled, but has a little probability
        np.testing.assert_allclose(generation.logprobs, expected, atol=0.05)


def test_a_step_trains_only_lora_matrices() -> None:
    model, rng = small_model(), np.random.default_rng(1)
    weights, mask = model.new_weights(1), np.ones((8, 16), np.float32)
    ids = rng.integers(10, 40, (8, 16)).astype(np.int32)
    mask[:, :4] = 0
    before = np.asarray(model.token_logprobs({**model.frozen, **weights}, jnp.asarray(ids)))
    advantages = np.where(np.arange(8)[:, None] < 4, 1.0, -1.0).astype(np.float32) * mask
    arrays = {"token_ids": ids, "mask": mask, "logprobs": before, "advantages": advantages}
    trained, adam = weights, new_adam(weights)
    for _ in range(3):
        trained, adam, figures = train_step(trained, adam, arrays, 1e-3, model)
    assert trained.keys() == weights.keys()
    change = ((np.asarray(model.token_logprobs({**model.frozen, **trained}, jnp.asarray(ids))) - before) * mask).sum(1)
    assert change[:4].mean() > 0 > change[4:].mean()
    assert all(np.isfinite(value) for value in figures.values())


def test_a_demonstration_ends_each_turn() -> None:
    end = 0

    def encode_chat(text: str) -> list[int]:
        first, *rest = text.split(RESULT)
        return encode(first) + [i for part in rest for i in (end, *encode(RESULT + part))]

    model = replace(SMALL, ending=(end,), warm_rows=4, warm_parts=1, warm_length=120, encode=encode_chat)
    ((ids, mask),) = make_batch(random.Random(3), model)
    for row, flags in zip(ids, mask, strict=True):
        written = np.flatnonzero(flags)
        ends = [at for at in written if at + 1 not in written]
        assert ends and all(row[at] == end for at in ends)


def test_the_tokenizer_keeps_special_tokens_whole_and_digits_apart() -> None:
    pytest.importorskip("tokenizers")
    tokens = ["<|im_start|>", "<|im_end|>", "1", "2", "u", "s", "us", "Ċ"]
    tokenizer = tokenizer_of(tokens, ["u s"], [3, 3, 1, 1, 1, 1, 1, 1])
    ids = tokenizer.encode("<|im_start|>us\n12<|im_end|>").ids
    assert ids == [0, 6, 7, 2, 3, 1]
    assert tokenizer.decode(ids) == "us\n12"
