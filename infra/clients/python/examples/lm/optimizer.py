"""Adam with gradient clipping by norm."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from model import Weights


class Adam(NamedTuple):
    """The state of the optimizer."""

    count: jax.Array
    mean: Weights
    square: Weights


def new_adam(weights: Weights) -> Adam:
    return Adam(jnp.zeros((), jnp.int32), jax.tree.map(jnp.zeros_like, weights), jax.tree.map(jnp.zeros_like, weights))


def adam_step(weights: Weights, adam: Adam, gradient: Weights, rate: float | jax.Array, bound: float = 1.0) -> tuple[Weights, Adam, jax.Array]:
    """Returns new weights, the new state, and the norm of the gradient before clipping."""
    norm = jnp.sqrt(sum(jnp.sum(part * part) for part in gradient.values()))
    scale = jnp.minimum(1.0, bound / (norm + 1e-9))
    count = adam.count + 1
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g * scale, adam.mean, gradient)
    square = jax.tree.map(lambda s, g: 0.98 * s + 0.02 * (g * scale) ** 2, adam.square, gradient)
    grown, settled = 1 - 0.9**count, 1 - 0.98**count
    moved = jax.tree.map(lambda w, m, s: w - rate * (m / grown) / (jnp.sqrt(s / settled) + 1e-8), weights, mean, square)
    return moved, Adam(count, mean, square), norm
