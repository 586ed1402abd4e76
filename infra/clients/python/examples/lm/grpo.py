"""One step of GRPO with the decoupled clipped loss.

There are three policies: the one that generated a token (the behavior policy; its log probability comes with the row), the one at the start
of the step (the proximal policy), and the one that is trained. The ratio of the trained to the proximal policy is clipped; the ratio of the
proximal to the behavior policy is a weight with an upper limit.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from model import Weights
from models import SMALL, Model
from optimizer import Adam, adam_step

CLIP, CAP, RATE = 0.2, 5.0, 2e-4
PARTS = 2


def _loss(weights: Weights, model: Model, frozen: Weights, *batch: jax.Array):
    ids, mask, behaved, proximal, advantages = batch
    logprobs = model.token_logprobs({**frozen, **weights}, ids)
    count = jnp.maximum(1.0, mask.sum())
    ratio = jnp.exp(jnp.where(mask > 0, logprobs - proximal, 0.0))
    moved = jnp.exp(jnp.where(mask > 0, proximal - behaved, 0.0))
    clipped = jnp.clip(ratio, 1 - CLIP, 1 + CLIP)
    gain = jnp.minimum(ratio * advantages, clipped * advantages) * jnp.minimum(moved, CAP)
    loss = -jnp.sum(gain * mask) / count
    clip_fraction = jnp.sum((jnp.abs(ratio - 1) > CLIP) * mask) / count
    return loss, {"loss": loss, "clip_fraction": clip_fraction, "behave_kl": jnp.sum((behaved - proximal) * mask) / count}


@partial(jax.jit, static_argnums=0)
def _proximal(model: Model, weights: Weights, ids: jax.Array) -> jax.Array:
    return model.token_logprobs(weights, ids)


@partial(jax.jit, static_argnums=0)
def _update(model: Model, frozen: Weights, weights: Weights, adam: Adam, rate: jax.Array, *batch: jax.Array):
    gradient, figures = jax.grad(_loss, has_aux=True)(weights, model, frozen, *batch)
    weights, adam, norm = adam_step(weights, adam, gradient, rate)
    return weights, adam, {**figures, "grad_norm": norm}


def train_step(
    weights: Weights, adam: Adam, arrays: dict[str, Any], rate: float = RATE, model: Model = SMALL
) -> tuple[Weights, Adam, dict[str, float]]:
    """Trains once on the rows of a batch, in minibatches of equal size. Returns the metrics of the last one."""
    ids, mask, behaved, advantages = (arrays[name] for name in ("token_ids", "mask", "logprobs", "advantages"))
    proximal = np.asarray(_proximal(model, {**model.frozen, **weights}, ids))
    figures: dict[str, Any] = {}
    order = np.random.default_rng(int(ids.sum())).permutation(len(ids))
    for part in np.array_split(order, PARTS):
        batch = (ids[part], mask[part], behaved[part], proximal[part], advantages[part])
        weights, adam, figures = _update(model, model.frozen, weights, adam, jnp.float32(rate), *batch)
    return weights, adam, {name: float(value) for name, value in figures.items()}
