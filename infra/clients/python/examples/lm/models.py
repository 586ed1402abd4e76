"""The models of the example behind one interface: a small transformer, and SmolLM2 with `--model smollm2`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax

import model
import vocabulary
from model import Weights


@dataclass(frozen=True, eq=False)
class Model:
    """What the warm start, the engine, the trainer, and the evaluation need of a model.

    Its functions take trained and frozen weights in one dictionary.
    """

    name: str
    #: Recorded with each turn. It identifies the frozen weights, which the hash of a version does not cover.
    engine: str
    tokenizer_sha256: str
    #: Maximum number of tokens of a sequence, and of a turn.
    context: int
    max_tokens: int
    #: Ids of a transcript, from its beginning.
    encode: Callable[[str], list[int]]
    decode: Callable[[Sequence[int]], str]
    #: Ids that end a turn; those that a demonstration adds at the end of a turn; and those that are never sampled.
    ends: frozenset[int]
    ending: tuple[int, ...]
    never: tuple[int, ...]
    #: The trained weights, before training.
    new_weights: Callable[[int], Weights]
    new_cache: Callable[[int], Any]
    decode_step: Callable[[Weights, Any, jax.Array, jax.Array], tuple[jax.Array, Any]]
    token_logprobs: Callable[[Weights, jax.Array], jax.Array]
    frozen: Weights = field(default_factory=dict)
    #: Whether a cache is valid for every prefix of its tokens.
    rewinds: bool = False
    #: Number of sequences to generate at once.
    slots: int = 48
    #: Batches are padded to multiples of these numbers of tokens and of rows, so that the compiled step sees few shapes.
    pad_to: int = 32
    rows: int = 1
    warm_rows: int = 64
    #: A batch of the warm start is computed in this number of parts, whose shapes are compiled separately.
    warm_parts: int = 4
    warm_length: int = 80
    warm_rate: float = 2e-3


SMALL = Model(
    name="example-lm",
    engine="example-lm",
    tokenizer_sha256=vocabulary.SHA256,
    context=model.CONTEXT,
    max_tokens=24,
    encode=vocabulary.encode,
    decode=vocabulary.decode,
    ends=vocabulary.ENDS,
    ending=(),
    never=(vocabulary.IDS[vocabulary.PAD],),
    new_weights=model.new_weights,
    new_cache=model.new_cache,
    decode_step=model.decode_step,
    token_logprobs=model.token_logprobs,
)


def add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", choices=("small", "smollm2"), default="small", help="the model to train")


def named(name: str) -> Model:
    """The model of the flag `--model`. Loads its frozen weights."""
    if name == "small":
        return SMALL
    import smollm2

    return smollm2.load()
