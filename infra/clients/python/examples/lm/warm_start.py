"""Version 0: a short supervised warm start on transcripts, most of which answer too early.

It learns the format of calls, and to copy. About one in five of its answers is right, also on held-out questions. That calls pay off is left
to reinforcement learning.
"""

import argparse
import random
import time
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from model import Weights, save_weights
from models import SMALL, Model, add_model, named
from optimizer import Adam, adam_step, new_adam
from task import Question, demonstration, made_up_fact, make_question

HASTY = 0.55
#: Share of questions about countries that do not exist. They teach the model to copy names, which it would otherwise remember.
MADE_UP = 0.3
#: Parts of a batch are padded to a multiple of this number of tokens, so that few shapes are compiled.
PAD_TO = 16


def _question(rng: random.Random) -> Question:
    return made_up_fact(rng) if rng.random() < MADE_UP else make_question(rng, held_out=False)


def make_batch(rng: random.Random, model: Model) -> list[tuple[np.ndarray, np.ndarray]]:
    """Token ids and a mask of the tokens that the model writes, with a row for each demonstration.

    A batch is divided into parts with rows of similar length, because padding takes as much time as tokens.
    """
    rows = []
    for _ in range(model.warm_rows):
        said, sequence, flags = "", [], []
        for written, text in demonstration(rng, _question(rng), HASTY):
            said += text
            part = [*model.encode(said)[len(sequence) :], *(model.ending if written else ())]
            sequence += part
            flags += [written] * len(part)
        rows.append((sequence[: model.warm_length], flags[: model.warm_length]))
    rows.sort(key=lambda row: len(row[0]))
    size = model.warm_rows // model.warm_parts
    return [_padded(rows[at : at + size]) for at in range(0, model.warm_rows, size)]


def _padded(rows: list[tuple[list[int], list[bool]]]) -> tuple[np.ndarray, np.ndarray]:
    longest = max(len(sequence) for sequence, _ in rows)
    shape = (len(rows), -(-longest // PAD_TO) * PAD_TO)
    ids, mask = np.zeros(shape, np.int32), np.zeros(shape, np.float32)
    for at, (sequence, flags) in enumerate(rows):
        ids[at, : len(sequence)], mask[at, : len(sequence)] = sequence, flags
    return ids, mask


def _loss(weights: Weights, model: Model, frozen: Weights, ids: jax.Array, mask: jax.Array, count: jax.Array) -> jax.Array:
    return -jnp.sum(model.token_logprobs({**frozen, **weights}, ids) * mask) / count


@partial(jax.jit, static_argnums=0)
def _gradient(
    model: Model, frozen: Weights, weights: Weights, ids: jax.Array, mask: jax.Array, count: jax.Array
) -> tuple[jax.Array, Weights]:
    return jax.value_and_grad(_loss)(weights, model, frozen, ids, mask, count)


@partial(jax.jit, donate_argnums=(0, 1))
def _update(weights: Weights, adam: Adam, gradients: list[Weights], rate: jax.Array) -> tuple[Weights, Adam]:
    gradient = {name: sum(part[name] for part in gradients) for name in weights}
    weights, adam, _ = adam_step(weights, adam, gradient, rate)
    return weights, adam


def train(
    weights: Weights, adam: Adam, parts: list[tuple[np.ndarray, np.ndarray]], rate: float, model: Model
) -> tuple[Weights, Adam, jax.Array]:
    """One step on all parts of a batch. Also returns the mean loss of its tokens."""
    count = jnp.float32(sum(mask.sum() for _, mask in parts))
    losses, gradients = zip(*(_gradient(model, model.frozen, weights, ids, mask, count) for ids, mask in parts), strict=True)
    weights, adam = _update(weights, adam, list(gradients), jnp.float32(rate))
    return weights, adam, sum(losses, jnp.float32(0))


def warm_start(seed: int, steps: int, report: int = 25, model: Model = SMALL) -> Weights:
    rng = random.Random(seed)
    weights = model.new_weights(seed)
    adam = new_adam(weights)
    begun = time.monotonic()
    for step in range(steps):
        pace = model.warm_rate * min(1, (step + 1) / 20) * max(0.05, 1 - step / steps)
        weights, adam, loss = train(weights, adam, make_batch(rng, model), pace, model)
        if report and step % report == report - 1:
            print(f"warm start: step {step + 1} of {steps}, loss {float(loss):.3f}, {time.monotonic() - begun:.0f} s", flush=True)
    return weights


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=400)
    add_model(parser)
    flags = parser.parse_args()
    save_weights(flags.out, warm_start(flags.seed, flags.steps, model=named(flags.model)))
