"""Version 0: a short supervised warm start on transcripts, most of which answer too early.

It learns the format of calls, and to copy. About one in three of its answers is right on questions like those that it has seen, and few on
held-out questions. That calls pay off is left to reinforcement learning.
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
from task import demonstration, make_question

HASTY = 0.55


def make_batch(rng: random.Random, model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Token ids and a mask of the tokens that the model writes, a row for each demonstration."""
    shape = (model.warm_rows, model.warm_length)
    ids, mask = np.zeros(shape, np.int32), np.zeros(shape, np.float32)
    for row in range(model.warm_rows):
        said, sequence, flags = "", [], []
        for written, text in demonstration(rng, make_question(rng, held_out=False), HASTY):
            said += text
            part = [*model.encode(said)[len(sequence) :], *(model.ending if written else ())]
            sequence += part
            flags += [written] * len(part)
        length = min(len(sequence), model.warm_length)
        ids[row, :length], mask[row, :length] = sequence[:length], flags[:length]
    return ids, mask


def loss_of(weights: Weights, model: Model, frozen: Weights, ids: jax.Array, mask: jax.Array) -> jax.Array:
    return -jnp.sum(model.token_logprobs({**frozen, **weights}, ids) * mask) / jnp.sum(mask)


@partial(jax.jit, static_argnums=(0,), donate_argnums=(2, 3))
def train(
    model: Model, frozen: Weights, weights: Weights, adam: Adam, ids: jax.Array, mask: jax.Array, rate: jax.Array
) -> tuple[Weights, Adam, jax.Array]:
    loss, gradient = jax.value_and_grad(loss_of)(weights, model, frozen, ids, mask)
    weights, adam, _ = adam_step(weights, adam, gradient, rate)
    return weights, adam, loss


def warm_start(seed: int, steps: int, report: int = 25, model: Model = SMALL) -> Weights:
    rng = random.Random(seed)
    weights = model.new_weights(seed)
    adam = new_adam(weights)
    begun = time.monotonic()
    for step in range(steps):
        ids, mask = make_batch(rng, model)
        pace = model.warm_rate * min(1, (step + 1) / 20) * max(0.05, 1 - step / steps)
        weights, adam, loss = train(model, model.frozen, weights, adam, ids, mask, jnp.float32(pace))
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
