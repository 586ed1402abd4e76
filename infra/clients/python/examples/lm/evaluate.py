"""Accuracy of weights on held-out questions: the same questions for every version, sampled as in training."""

from __future__ import annotations

import argparse
import json
import random
import time
from dataclasses import dataclass, field
from pathlib import Path

from model import CONTEXT, Weights, load_weights
from sampling import Generation, Sampler
from task import MAX_TURNS, RESULT, RESULT_END, THINK, TOOLS, Question, make_question, read_call
from vocabulary import decode, encode

#: Maximum number of tokens in a turn.
MAX_TOKENS = 24


@dataclass
class Attempt:
    """One question and the transcript so far."""

    question: Question
    ids: list[int]
    #: 1 for each token that the model wrote, with its log probability.
    mask: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    turns: int = 0
    answer: str | None = None
    ended: bool = False

    @property
    def right(self) -> bool:
        return self.answer == self.question.answer

    def read(self, ids: list[int]) -> None:
        self.ids += ids
        self.mask += [0] * (len(self.ids) - len(self.mask))
        self.logprobs += [0.0] * (len(self.ids) - len(self.logprobs))

    def write(self, generation: Generation) -> None:
        self.ids += generation.ids
        self.mask += [1] * len(generation.ids)
        self.logprobs += generation.logprobs
        self.turns += 1


def attempt_all(weights: Weights, questions: list[Question], temperature: float, seed: int = 0, slots: int = 48) -> list[Attempt]:
    """Answers every question, with the tools of the task and without turnstream."""
    sampler = Sampler(weights, 0, slots, seed)
    attempts = [Attempt(question, []) for question in questions]
    for attempt in attempts:
        attempt.read(encode(attempt.question.text + THINK))
    waiting = list(attempts)

    def take(attempt: Attempt, generation: Generation) -> None:
        attempt.write(generation)
        call = read_call(decode(generation.ids))
        if call is not None and call[0] == "answer":
            attempt.answer = call[1].strip()
        elif call is not None and attempt.turns < MAX_TURNS and len(attempt.ids) < CONTEXT - 2 * MAX_TOKENS - 24:
            attempt.read(encode(RESULT + TOOLS[call[0]](call[1]) + RESULT_END + THINK))
            waiting.append(attempt)
            return
        attempt.ended = True

    while not all(attempt.ended for attempt in attempts):
        while waiting and sampler.free:
            attempt = waiting.pop(0)
            done = (lambda one: lambda generation: take(one, generation))(attempt)
            sampler.start(Generation(list(attempt.ids), MAX_TOKENS, temperature, done))
        sampler.step()
    return attempts


def accuracy(weights: Weights, count: int, temperature: float) -> dict[str, float]:
    """Fraction of correct answers over all questions, over sums, and over facts."""
    rng = random.Random(7)
    attempts = attempt_all(weights, [make_question(rng, held_out=True) for _ in range(count)], temperature)
    kinds = {"all": ("calc", "look"), "sums": ("calc",), "facts": ("look",)}
    chosen = {name: [one for one in attempts if one.question.calls[0][0] in tools] for name, tools in kinds.items()}
    return {name: round(sum(one.right for one in some) / len(some), 3) for name, some in chosen.items()}


def follow(folder: Path, count: int, temperature: float, every: int, last: int) -> None:
    """Evaluates versions while a trainer writes them: the first, the last, and the newest after every `every` steps."""
    done = -every
    while done < last:
        numbers = [int(path.stem[1:]) for path in folder.glob("v*.safetensors") if path.stem[1:].isdigit()]
        newest = max(numbers, default=-1)
        if newest >= done + every or newest == last > done:
            found = accuracy(load_weights((folder / f"v{newest}.safetensors").read_bytes()), count, temperature)
            print(json.dumps({"version": newest, **found}), flush=True)
            done = newest
        else:
            time.sleep(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path, nargs="*")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--follow", type=Path, help="folder with versions, as the trainer writes them")
    parser.add_argument("--every", type=int, default=10, help="steps between evaluations of a folder")
    parser.add_argument("--last", type=int, default=0, help="last version to evaluate")
    flags = parser.parse_args()
    for path in flags.weights:
        found = accuracy(load_weights(path.read_bytes()), flags.questions, flags.temperature)
        print(json.dumps({"weights": path.name, **found}), flush=True)
    if flags.follow is not None:
        follow(flags.follow, flags.questions, flags.temperature, flags.every, flags.last)


if __name__ == "__main__":
    main()
