"""The same model, task, and GRPO step in one process without turnstream, as a synchronous baseline."""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

import numpy as np

from evaluate import Attempt, accuracy, attempt_all
from grpo import RATE, train_step
from model import CONTEXT, Weights, load_weights, save_weights
from optimizer import new_adam
from task import make_question

GROUPS, SIZE, LENGTH = 16, 8, 96


def gather(weights: Weights, rng: random.Random) -> list[tuple[Attempt, float]]:
    """Attempts of GROUPS groups with differing rewards, and their advantages."""
    rows: list[tuple[Attempt, float]] = []
    while len(rows) < GROUPS * SIZE:
        questions = [question for question in (make_question(rng, held_out=False) for _ in range(8)) for _ in range(SIZE)]
        attempts = attempt_all(weights, questions, 1.0, seed=rng.randrange(1 << 30))
        for at in range(0, len(attempts), SIZE):
            group = attempts[at : at + SIZE]
            rewards = np.array([one.right for one in group], np.float32)
            if 0 < rewards.sum() < SIZE:
                rows += zip(group, ((rewards - rewards.mean()) / rewards.std()).tolist(), strict=True)
    return rows[: GROUPS * SIZE]


def arrays_of(rows: list[tuple[Attempt, float]]) -> dict[str, np.ndarray]:
    """Pads rows like a batch of turnstream. Longer rows are truncated."""
    arrays = {name: np.zeros((len(rows), CONTEXT), np.float32) for name in ("mask", "logprobs", "advantages")}
    arrays["token_ids"] = np.zeros((len(rows), CONTEXT), np.int32)
    for at, (attempt, advantage) in enumerate(rows):
        length = len(attempt.ids)
        arrays["token_ids"][at, :length] = attempt.ids
        arrays["mask"][at, :length] = attempt.mask
        arrays["logprobs"][at, :length] = attempt.logprobs
        arrays["advantages"][at, :length] = np.array(attempt.mask) * advantage
    return {name: array[:, :LENGTH] for name, array in arrays.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("warm_start", type=Path)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--questions", type=int, default=96)
    parser.add_argument("--out", type=Path)
    flags = parser.parse_args()
    rng = random.Random(flags.seed)
    weights = load_weights(flags.warm_start.read_bytes())
    adam, begun = new_adam(weights), time.process_time()
    print(f"warm start: {accuracy(weights, flags.questions, 1.0)}", flush=True)
    for step in range(1, flags.steps + 1):
        rows = gather(weights, rng)
        weights, adam, figures = train_step(weights, adam, arrays_of(rows), flags.rate)
        if step % 5 == 0 or step == flags.steps:
            spent, found = time.process_time() - begun, accuracy(weights, flags.questions, 1.0)
            print(f"step {step}: {found}, loss {figures['loss']:.3f}, {spent:.0f} s of CPU", flush=True)
    if flags.out is not None:
        save_weights(flags.out, weights)


if __name__ == "__main__":
    main()
