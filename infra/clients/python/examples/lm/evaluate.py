"""Accuracy of weights on held-out questions: the same questions for every version, sampled as in training."""

from __future__ import annotations

import argparse
import json
import random
import time
from dataclasses import dataclass, field
from pathlib import Path

from model import Weights, load_weights
from models import SMALL, Model, add_model, named
from sampling import Generation, Sampler
from task import MAX_TURNS, RESULT, RESULT_END, THINK, TOOLS, Question, make_question, read_call


@dataclass
class Attempt:
    """One question and the transcript so far."""

    question: Question
    text: str = ""
    ids: list[int] = field(default_factory=list)
    #: 1 for each token that the model wrote, with its log probability.
    mask: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    turns: int = 0
    answer: str | None = None
    ended: bool = False

    @property
    def right(self) -> bool:
        return self.answer == self.question.answer

    def read(self, text: str, model: Model) -> None:
        """Continues the transcript. If its ids no longer begin with those of the sequence, the sequence starts again, as in an engine."""
        self.text += text
        ids = model.encode(self.text)
        if ids[: len(self.ids)] != self.ids:
            self.mask, self.logprobs = [], []
        self.ids = ids
        self.mask += [0] * (len(self.ids) - len(self.mask))
        self.logprobs += [0.0] * (len(self.ids) - len(self.logprobs))

    def write(self, generation: Generation, model: Model) -> None:
        self.text += model.decode(generation.ids)
        self.ids += generation.ids
        self.mask += [1] * len(generation.ids)
        self.logprobs += generation.logprobs
        self.turns += 1


def attempt_all(weights: Weights, questions: list[Question], temperature: float, seed: int = 0, model: Model = SMALL) -> list[Attempt]:
    """Answers every question, with the tools of the task and without turnstream."""
    sampler = Sampler(weights, 0, model.slots, seed, model)
    attempts = [Attempt(question) for question in questions]
    for attempt in attempts:
        attempt.read(attempt.question.text + THINK, model)
    waiting = list(attempts)

    def take(attempt: Attempt, generation: Generation) -> None:
        attempt.write(generation, model)
        call = read_call(model.decode(generation.ids))
        if call is not None and call[0] == "answer":
            attempt.answer = call[1].strip()
        elif call is not None and attempt.turns < MAX_TURNS and len(attempt.ids) < model.context - 2 * model.max_tokens - 24:
            attempt.read(RESULT + TOOLS[call[0]](call[1]) + RESULT_END + THINK, model)
            waiting.append(attempt)
            return
        attempt.ended = True

    while not all(attempt.ended for attempt in attempts):
        while waiting and sampler.free:
            attempt = waiting.pop(0)
            done = (lambda one: lambda generation: take(one, generation))(attempt)
            sampler.start(Generation(list(attempt.ids), model.max_tokens, temperature, done))
        sampler.step()
    return attempts


def accuracy(weights: Weights, count: int, temperature: float, model: Model = SMALL) -> dict[str, float]:
    """Fraction of correct answers over all questions, over sums, and over facts."""
    rng = random.Random(7)
    attempts = attempt_all(weights, [make_question(rng, held_out=True) for _ in range(count)], temperature, model=model)
    kinds = {"all": ("calc", "look"), "sums": ("calc",), "facts": ("look",)}
    chosen = {name: [one for one in attempts if one.question.calls[0][0] in tools] for name, tools in kinds.items()}
    return {name: round(sum(one.right for one in some) / len(some), 3) for name, some in chosen.items()}


def version_of(file: Path) -> tuple[int, int]:
    """Step and try in the name of a version, such as `v7.0.safetensors`. Of two tries of a step, the later one was committed."""
    step, _, tried = file.stem[1:].partition(".")
    return (int(step), int(tried or -1)) if step.isdigit() else (-1, -1)


def follow(folder: Path, count: int, temperature: float, every: int, last: int, model: Model = SMALL) -> None:
    """Evaluates versions while a trainer writes them: the first, the last, and the newest after every `every` steps."""
    done = -every
    while done < last:
        file = max(folder.glob("v*.safetensors"), key=version_of, default=None)
        newest = -1 if file is None else version_of(file)[0]
        if file is not None and (newest >= done + every or newest == last > done):
            found = accuracy(load_weights(file.read_bytes()), count, temperature, model)
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
    add_model(parser)
    flags = parser.parse_args()
    model = named(flags.model)
    for path in flags.weights:
        found = accuracy(load_weights(path.read_bytes()), flags.questions, flags.temperature, model)
        print(json.dumps({"weights": path.name, **found}), flush=True)
    if flags.follow is not None:
        follow(flags.follow, flags.questions, flags.temperature, flags.every, flags.last, model)


if __name__ == "__main__":
    main()
