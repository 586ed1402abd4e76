"""The task: questions whose answers need a tool, and transcripts of how to answer them.

Sums of three numbers take two calls of the calculator, which knows only two operands; capitals and domains of countries take one call of
the lookup. A worker of turnstream runs the same tools (tools.mjs) and writes the same transcript.
"""

import argparse
import json
import random
import re
import string
from dataclasses import dataclass
from pathlib import Path

_LINES = (Path(__file__).parent / "facts.tsv").read_text().splitlines()[1:]
FACTS = {country: {"capital": capital, "domain": domain} for country, capital, domain in (line.split("\t") for line in _LINES)}
#: Every fifth country is asked for in held-out questions only.
HELD_OUT = frozenset(list(FACTS)[::5])
THINK, RESULT, RESULT_END = "\n\n<think>\n", "\n\n<information>\n", "\n</information>"
MAX_TURNS = 4


@dataclass(frozen=True)
class Question:
    """A question, its answer, and the calls that lead to it."""

    text: str
    answer: str
    calls: tuple[tuple[str, str], ...]


def calculate(text: str) -> str:
    """The calculator: two integers with an operator between them."""
    found = re.fullmatch(r"(-?\d{1,6}) ?([+-]) ?(\d{1,6})", text)
    if found is None:
        return "error"
    left, sign, right = int(found[1]), found[2], int(found[3])
    return str(left + right if sign == "+" else left - right)


def look_up(text: str) -> str:
    """The lookup: the name of a fact, `of`, the name of a country."""
    what, _, country = text.partition(" of ")
    return FACTS.get(country, {}).get(what, "nothing")


TOOLS = {"calc": calculate, "look": look_up}


def make_question(rng: random.Random, held_out: bool) -> Question:
    """A sum or a fact. Held-out sums have other last operands than those of training."""
    if rng.random() < 0.5:
        country = rng.choice([name for name in FACTS if (name in HELD_OUT) == held_out])
        what = rng.choice(("capital", "domain"))
        asked = f"{what} of {country}"
        return Question(asked, FACTS[country][what], (("look", asked),))
    a, b = rng.randint(10, 99), rng.randint(10, 99)
    c = rng.randint(1, 19) * 5 if held_out else rng.choice([n for n in range(1, 100) if n % 5])
    first, second = rng.choice("+-"), rng.choice("+-")
    between = calculate(f"{a}{first}{b}")
    calls = (("calc", f"{a}{first}{b}"), ("calc", f"{between}{second}{c}"))
    return Question(f"{a}{first}{b}{second}{c}", calculate(calls[1][1]), calls)


def made_up_fact(rng: random.Random) -> Question:
    """A question about a country that does not exist. Its name and the result of the lookup can only be copied, not remembered."""

    def word() -> str:
        return "".join(rng.choice(string.ascii_lowercase) for _ in range(rng.randint(2, 9))).capitalize()

    country = " ".join(word() for _ in range(rng.choice((1, 1, 2))))
    what = rng.choice(("capital", "domain"))
    asked = f"{what} of {country}"
    return Question(asked, word() if what == "capital" else word()[:2].lower(), (("look", asked),))


def _guess(rng: random.Random, question: Question) -> str:
    """A made-up answer."""
    if question.calls[0][0] == "calc":
        return str(rng.randint(-100, 250))
    what = question.text.partition(" ")[0]
    return rng.choice(list(FACTS.values()))[what]


def demonstration(rng: random.Random, question: Question, hasty: float) -> list[tuple[bool, str]]:
    """A transcript in parts, each with True if the model writes it. With probability `hasty`, a guess replaces the next call."""
    parts = [(False, question.text)]
    for tool, given in question.calls:
        parts.append((False, THINK))
        if rng.random() < hasty:
            return [*parts, (True, f"<answer> {_guess(rng, question)} </answer>")]
        result = calculate(given) if tool == "calc" else question.answer
        parts += [(True, f"<{tool}> {given} </{tool}>"), (False, f"{RESULT}{result}{RESULT_END}")]
    return [*parts, (False, THINK), (True, f"<answer> {question.answer} </answer>")]


_CALL = re.compile(r"<(calc|look|answer)> (.*?) </\1>", re.DOTALL)


def read_call(text: str) -> tuple[str, str] | None:
    """Parses the call or answer in the output of the model."""
    found = _CALL.search(text)
    return None if found is None else (found[1], found[2])


def main() -> None:
    """Writes questions for `turnstream questions import`."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    flags = parser.parse_args()
    rng = random.Random(flags.seed)
    unique = {question.text: question.answer for question in (make_question(rng, held_out=False) for _ in range(flags.count))}
    flags.out.write_text("".join(json.dumps({"question": text, "answer": answer}) + "\n" for text, answer in unique.items()))


if __name__ == "__main__":
    main()
