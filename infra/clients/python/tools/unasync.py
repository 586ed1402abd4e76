"""Writes turnstream/_sync from turnstream/_async: the same code without `async` and `await`. `--check` fails when they differ."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent / "turnstream"
#: Written by hand in both folders.
BY_HAND = {"_waiting.py"}
NAMES = {
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
    "aclose": "close",
    "aiter_lines": "iter_lines",
    "aiter_bytes": "iter_bytes",
    "aread": "read",
    "asynccontextmanager": "contextmanager",
    "AsyncBaseTransport": "BaseTransport",
    "StopAsyncIteration": "StopIteration",
}
NOTE = "# Made from ../_async by tools/unasync.py. Do not edit.\n"


def without_async(text: str) -> str:
    """The synchronous form of a module."""
    text = re.sub(r"\b(?:async|await) ", "", text)
    text = re.sub(r"\w+", lambda word: NAMES.get(word[0], word[0]), text)
    text = re.sub(r"\bAsync(?=[A-Z])", "", text)
    return NOTE + text


def main() -> int:
    differing = []
    for source in sorted((ROOT / "_async").glob("*.py")):
        if source.name in BY_HAND:
            continue
        target = ROOT / "_sync" / source.name
        made = without_async(source.read_text())
        if "--check" not in sys.argv:
            target.write_text(made)
        elif not target.exists() or target.read_text() != made:
            differing.append(target)
    for path in differing:
        print(f"{path} differs from its source: run python tools/unasync.py", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
