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

from model import Weights, logits_of, new_weights, save_weights
from optimizer import Adam, adam_step, new_adam
from task import demonstration, make_question
from vocabulary import encode

LENGTH = 80
HASTY = 0.55


def make_batch(rng: random.Random, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Token ids and a mask of the tokens that the model writes, both of shape rows × LENGTH."""
    ids, mask = np.zeros((rows, LENGTH), np.int32), np.zeros((rows, LENGTH), np.float32)
    for row in range(rows):
        at = 0
        for written, text in demonstration(rng, make_question(rng, held_out=False), HASTY):
            part = encode(text)[: LENGTH - at]
            ids[row, at : at + len(part)] = part
            mask[row, at : at + len(part)] = written
            at += len(part)
    return ids, mask


def loss_of(weights: Weights, ids: jax.Array, mask: jax.Array) -> jax.Array:
    logprobs = jax.nn.log_softmax(logits_of(weights, ids[:, :-1]))
    chosen = jnp.take_along_axis(logprobs, ids[:, 1:, None], -1)[..., 0]
    return -jnp.sum(chosen * mask[:, 1:]) / jnp.sum(mask[:, 1:])


@partial(jax.jit, donate_argnums=(0, 1))
def train(weights: Weights, adam: Adam, ids: jax.Array, mask: jax.Array, rate: jax.Array) -> tuple[Weights, Adam, jax.Array]:
    loss, gradient = jax.value_and_grad(loss_of)(weights, ids, mask)
    weights, adam, _ = adam_step(weights, adam, gradient, rate)
    return weights, adam, loss


def warm_start(seed: int, steps: int, rows: int = 64, rate: float = 2e-3, report: int = 25) -> Weights:
    rng = random.Random(seed)
    weights = new_weights(seed)
    adam = new_adam(weights)
    begun = time.monotonic()
    for step in range(steps):
        ids, mask = make_batch(rng, rows)
        pace = rate * min(1, (step + 1) / 20) * max(0.05, 1 - step / steps)
        weights, adam, loss = train(weights, adam, ids, mask, jnp.float32(pace))
        if report and step % report == report - 1:
            print(f"warm start: step {step + 1} of {steps}, loss {float(loss):.3f}, {time.monotonic() - begun:.0f} s", flush=True)
    return weights


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=400)
    flags = parser.parse_args()
    save_weights(flags.out, warm_start(flags.seed, flags.steps))
