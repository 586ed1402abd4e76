"""Reads what `turnstream plot` wrote with TensorBoard's own reader: `tensorboard_check.py <directory> [<steps>]`.

The directory is the one after --out, or its tensorboard/. Prints one line per tag and ends with status 1 when a file does
not read, a scalar is missing or the number of steps is not the given one. Needs `pip install tensorboard setuptools<81`."""

import os
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

WANTED = [
    "reward/reward_mean",
    "f1/f1_mean",
    "turns/turns_p95",
    "searches/searches_mean",
    "accesses/accesses_mean",
    "tokens/tokens_max",
    "training/format_rate",
    "discarded/discarded",
    "staleness/staleness_max",
]


def runs_below(folder):
    for path, _, names in os.walk(folder):
        if any("tfevents" in name for name in names):
            yield path


def check(folder, steps):
    events = EventAccumulator(folder, size_guidance={"scalars": 0})
    events.Reload()
    tags = events.Tags()["scalars"]
    missing = [tag for tag in WANTED if tag not in tags]
    if missing:
        return f"{folder}: no scalar {', '.join(missing)}"
    for tag in tags:
        scalars = events.Scalars(tag)
        if steps is not None and tag == WANTED[0] and len(scalars) != steps:
            return f"{folder}: {tag} has {len(scalars)} steps"
        if [scalar.step for scalar in scalars] != sorted({scalar.step for scalar in scalars}):
            return f"{folder}: {tag} has steps out of order or twice"
        print(f"ok {tag}: {len(scalars)} steps, last {scalars[-1].value:.4g} at step {scalars[-1].step}")
    return None


def main():
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else None
    folders = list(runs_below(sys.argv[1]))
    problems = [problem for problem in (check(folder, steps) for folder in folders) if problem]
    for problem in problems or ([] if folders else [f"{sys.argv[1]}: no event file"]):
        print(f"FAILED {problem}")
        sys.exit(1)


main()
