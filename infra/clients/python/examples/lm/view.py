"""Output of the demonstration: one line per event and, in a terminal, a status line at the bottom."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from demo import Record


class View:
    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._moves = sys.stdout.isatty()
        self._shown = ""
        self._heldout = ""

    def title(self, text: str) -> None:
        self._print(f"\n{text}")

    def note(self, text: str) -> None:
        self._print(f"{self._clock()}  {text}")

    def step(self, row: dict[str, Any]) -> None:
        """Shows a step. If there is a status line, only every fifth step is printed permanently."""
        text = f"{self._clock()}  step {row['step']:>4}   reward {_number(row['reward_mean'])}   staleness {_number(row['staleness_mean'])}{self._heldout}"
        if self._moves and row["step"] % 5 != 0:
            self._move(text)
        else:
            self._print(text)

    def score(self, score: dict[str, Any]) -> None:
        self._heldout = f"   held-out {100 * score['all']:.0f} % (version {score['version']})"
        self.note(f"held-out accuracy of version {score['version']}: {100 * score['all']:.1f} % (sums {score['sums']}, facts {score['facts']})")

    def result(self, record: Record) -> None:
        before, after = 100 * record.before["all"], 100 * record.after["all"]
        self.title(f"held-out accuracy {before:.1f} % → {after:.1f} % ({record.gain:+.1f} points) in {record.seconds / 60:.1f} minutes")
        self.note(f"trainer killed {record.kills} times; ledger verify: {record.ledger_verify}; audit: {record.audit}")
        self.note(f"npx turnstream serve shows run {record.run}")

    def _clock(self) -> str:
        seconds = round(time.monotonic() - self._begun)
        return f"{seconds // 60:>3}:{seconds % 60:02}"

    def _move(self, text: str) -> None:
        sys.stdout.write(f"\r\x1b[K{text}")
        sys.stdout.flush()
        self._shown = text

    def _print(self, text: str) -> None:
        if self._shown:
            sys.stdout.write("\r\x1b[K")
            self._shown = ""
        print(text, flush=True)


def _number(value: Any) -> str:
    return "-" if value is None else f"{value:.2f}"
