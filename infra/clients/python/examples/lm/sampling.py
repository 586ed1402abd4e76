"""Generates many sequences at once: each has a slot, and a step generates one token for every slot.

Weights may change between two steps. A sequence in progress then continues with the new ones: its cache is computed again, and each token
is recorded with the version that generated it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from model import Weights
from models import SMALL, Model


@dataclass
class Generation:
    """One request and its tokens so far."""

    prompt: list[int]
    max_tokens: int
    temperature: float
    done: Callable[[Generation], None]
    ids: list[int] = field(default_factory=list)
    #: Log probabilities after temperature.
    logprobs: list[float] = field(default_factory=list)
    versions: list[int] = field(default_factory=list)
    finish_reason: str = ""

    def token(self, at: int) -> int:
        return self.prompt[at] if at < len(self.prompt) else self.ids[at - len(self.prompt)]


@dataclass
class _Slot:
    generation: Generation | None = None
    #: Tokens in the cache, computed with the current weights.
    known: list[int] = field(default_factory=list)


@partial(jax.jit, static_argnums=(0,), donate_argnums=(2,))
def _advance(
    model: Model, weights: Weights, cache: Any, ids: jax.Array, positions: jax.Array, temperatures: jax.Array, key: jax.Array
) -> tuple[jax.Array, jax.Array, Any]:
    logits, cache = model.decode_step(weights, cache, ids, positions)
    logits = logits.at[:, jnp.array(model.never)].set(-1e9)
    cold = temperatures == 0
    scaled = logits / jnp.where(cold, 1.0, temperatures)[:, None]
    noise = jnp.where(cold[:, None], 0.0, jax.random.gumbel(key, logits.shape))
    chosen = jnp.argmax(scaled + noise, -1)
    logprobs = jnp.take_along_axis(jax.nn.log_softmax(scaled), chosen[:, None], -1)[:, 0]
    return chosen, logprobs, cache


class Sampler:
    """Not thread-safe."""

    def __init__(self, weights: Weights, version: int, slots: int, seed: int, model: Model = SMALL) -> None:
        self._model = model
        self._slots = [_Slot() for _ in range(slots)]
        self._cache = model.new_cache(slots)
        self._key = jax.random.key(seed)
        self.load(weights, version)

    def load(self, weights: Weights, version: int) -> None:
        """Uses new weights from the next token on."""
        self._weights, self.version = {**self._model.frozen, **weights}, version
        for slot in self._slots:
            slot.known = []

    @property
    def free(self) -> int:
        return sum(slot.generation is None for slot in self._slots)

    @property
    def idle(self) -> bool:
        return self.free == len(self._slots)

    def start(self, generation: Generation) -> None:
        """Takes the free slot whose cache has the longest prefix of the prompt. There must be a free one."""
        free = [slot for slot in self._slots if slot.generation is None]
        slot = max(free, key=lambda one: _common(one.known, generation.prompt))
        # the last token of the prompt is always fed, for its logits
        keep = min(_common(slot.known, generation.prompt), len(generation.prompt) - 1)
        slot.known = slot.known[:keep] if keep == len(slot.known) or self._model.rewinds else []
        slot.generation = generation

    def step(self) -> None:
        """Feeds one token to every active slot."""
        count = len(self._slots)
        # idle slots write to positions that are never read
        ids, positions = np.zeros(count, np.int32), np.full(count, self._model.context - 1, np.int32)
        temperatures = np.ones(count, np.float32)
        for at, slot in enumerate(self._slots):
            if slot.generation is not None:
                positions[at] = len(slot.known)
                ids[at] = slot.generation.token(len(slot.known))
                temperatures[at] = slot.generation.temperature
        self._key, key = jax.random.split(self._key)
        chosen, logprobs, self._cache = _advance(self._model, self._weights, self._cache, ids, positions, temperatures, key)
        for slot, token, logprob in zip(self._slots, np.asarray(chosen).tolist(), np.asarray(logprobs).tolist(), strict=True):
            if slot.generation is not None:
                self._take(slot, slot.generation, token, logprob)

    def _take(self, slot: _Slot, generation: Generation, token: int, logprob: float) -> None:
        slot.known.append(generation.token(len(slot.known)))
        if len(slot.known) < len(generation.prompt) + len(generation.ids):
            return
        generation.ids.append(token)
        generation.logprobs.append(logprob)
        generation.versions.append(self.version)
        full = len(generation.ids) >= generation.max_tokens or len(slot.known) + 1 >= self._model.context - 1
        if token in self._model.ends or full:
            generation.finish_reason = "stop" if token in self._model.ends else "length"
            slot.generation = None
            generation.done(generation)


def _common(left: list[int], right: list[int]) -> int:
    """Length of the common prefix."""
    count = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        count += 1
    return count
