"""Connects prime-rl to a run: a process that runs next to prime-rl's unmodified trainer.

    python -m turnstream.prime_rl --run demo --output outputs/run_default --ranks 8 --tokens 8192

It leases a batch, writes it where prime-rl's filesystem transport reads step N (`rollouts/step_N/rank_R.bin`), waits for the weights from
the filesystem broadcast (`broadcasts/step_N/STABLE`), and commits them as version N. Its state is in `turnstream.json` in the same
folder, so it may be killed at any time: a batch whose files were written stays leased, because the trainer may be training on it. Files of
a step are kept until prime-rl has a later checkpoint, because it reads them again when it resumes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from . import Batch, Lease, LineageMismatch, Prepared, Run, Skipped, Trainer, TrainingRow, Turnstream, weights
from .frames import need
from .usable import usable_rows

_POLL = 0.5
_FOLDERS = ("checkpoints", "rollouts", "versions")


@dataclass
class MicroBatch:
    """Concatenated sequences. The fields are in the order of prime-rl's MicroBatch, which is encoded as an array."""

    input_ids: list[int] = field(default_factory=list)
    loss_mask: list[bool] = field(default_factory=list)
    advantages: list[float] = field(default_factory=list)
    inference_logprobs: list[float] = field(default_factory=list)
    position_ids: list[int] = field(default_factory=list)
    sequence_lengths: list[int] = field(default_factory=list)
    temperatures: list[float] = field(default_factory=list)
    env_names: list[str] = field(default_factory=list)
    seq_lens: list[int] = field(default_factory=list)

    def add(self, row: TrainingRow, env_name: str) -> None:
        length = len(row["token_ids"])
        self.input_ids += row["token_ids"]
        self.loss_mask += [flag == 1 for flag in row["mask"]]
        self.advantages += [row["advantage"] * flag for flag in row["mask"]]
        self.inference_logprobs += row["logprobs"]
        self.position_ids += range(length)
        self.temperatures += [1.0 if row["temperature"] is None else row["temperature"]] * length
        self.env_names += [env_name] * length
        self.sequence_lengths.append(length)
        self.seq_lens.append(length)

    def without_loss(self) -> MicroBatch:
        """The same tokens without loss."""
        count = len(self.input_ids)
        return MicroBatch(**{**asdict(self), "loss_mask": [False] * count, "advantages": [0.0] * count})

    def wire(self) -> list[Any]:
        return [getattr(self, one.name) for one in fields(self)]


_NOTHING = MicroBatch([0], [False], [0.0], [0.0], [0], [1], [1.0], [""], [1])


def pack(rows: Sequence[TrainingRow], tokens: int, ranks: int, env_name: str) -> list[list[MicroBatch]]:
    """The same number of micro-batches for each rank, of at most `tokens` tokens each, padded with ones that have no loss."""
    packed: list[MicroBatch] = []
    for row in sorted(rows, key=lambda one: -len(one["token_ids"])):
        room = (one for one in packed if len(one.input_ids) + len(row["token_ids"]) <= tokens)
        one = next(room, None)
        if one is None:
            packed.append(one := MicroBatch())
        one.add(row, env_name)
    packed = packed or [_NOTHING]
    packed += [packed[0].without_loss()] * (-len(packed) % ranks)
    packed.sort(key=lambda one: -len(one.input_ids))
    return [packed[rank::ranks] for rank in range(ranks)]


@dataclass
class Known:
    """State that survives a restart of this process."""

    lineage: str | None = None
    #: A batch whose files are written and whose weights have not appeared yet.
    lease: Lease | None = None
    #: Its commit, until it is confirmed.
    prepared: Prepared | None = None
    #: The version of the run that step 0 of prime-rl corresponds to.
    base: int = 0

    @classmethod
    def load(cls, path: Path, base: int) -> Known:
        return cls(**json.loads(path.read_text())) if path.exists() else cls(base=base)

    def save(self, path: Path) -> None:
        _replace(path, json.dumps(asdict(self)).encode())


class Bridge:
    """Connects one run to one output folder of prime-rl."""

    def __init__(self, run: Run, output: Path, *, ranks: int, tokens: int, version: int = 0, keep: int = 4) -> None:
        self.run, self.output = run, output
        self.ranks, self.tokens, self.keep = ranks, tokens, keep
        self.known = Known.load(output / "turnstream.json", version)
        self.say: Callable[[str], None] = lambda text: print(text, flush=True)

    def train(self, steps: int | None = None) -> None:
        """Trains until version `steps` or the end of the run."""
        with self._claimed() as trainer:
            self._remember(trainer.lineage, lease=self.known.lease if trainer.held else None)
            if trainer.held is not None:
                self._step(trainer, trainer.held)
            for batch in trainer.batches(steps=steps):
                self._step(trainer, batch)

    def _claimed(self) -> Trainer:
        known = self.known
        claim = {"lineage": known.lineage, "prepared": known.prepared, "held": known.lease}
        trainer = self.run.trainer("prime-rl", framework="prime-rl", **claim)  # type: ignore[arg-type]
        try:
            trainer.claim()
        except LineageMismatch as error:
            raise SystemExit(f"{error}. {self._advice(error.restore)}") from error
        if known.lineage is None and trainer.version != known.base:
            raise SystemExit(f"the run is at version {trainer.version}, not {known.base}. {self._advice(trainer.restore)}")
        return trainer

    def _advice(self, restore: Any) -> str:
        if restore is None:
            return "There are no published weights to continue from."
        version, uri = restore["version"], restore["uri"]
        return f"Start prime-rl from {uri} in a folder other than {self.output}, and start this program with --version {version}"

    def _step(self, trainer: Trainer, batch: Batch) -> None:
        usable, skipped = usable_rows(batch.rows(), self.tokens)
        self._write(batch, usable)
        folder = self._wait(batch)
        self._commit(trainer, batch, folder, skipped)
        self._prune(self._number(batch))
        self.say(f"step {batch.step}: {len(usable)} rows of {batch.lease['rows']}, version {trainer.version} is in {folder}")

    def _write(self, batch: Batch, rows: Sequence[TrainingRow]) -> None:
        """Writes the files of a step. Existing files are from the same batch."""
        if self.known.lease is None and self._stable(batch).exists():
            raise SystemExit(f"{self._stable(batch).parent} has weights that no batch of this run made: start prime-rl in another folder")
        # before the trainer can read the files: a batch that is being trained on must stay leased
        batch.hold()
        self._remember(self.known.lineage, lease=batch.lease)
        folder = self.output / "rollouts" / f"step_{self._number(batch)}"
        folder.mkdir(parents=True, exist_ok=True)
        encode = need("msgspec.msgpack", "prime-rl").encode
        for rank, parts in enumerate(pack(rows, self.tokens, self.ranks, self.run.id)):
            path = folder / f"rank_{rank}.bin"
            if not path.exists():
                _replace(path, encode([one.wire() for one in parts]))

    def _wait(self, batch: Batch) -> Path:
        """Waits for the weights of the step, and links them into a folder that prime-rl does not delete."""
        stable = self._stable(batch)
        while not stable.exists():
            if batch.lost is not None:
                raise batch.lost
            time.sleep(_POLL)
        # raises Fenced if another process has claimed the run: the folder of that process must not be deleted
        batch.extend()
        kept = self.output / "versions" / f"step_{self._number(batch)}"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(stable.parent, kept, copy_function=_link, ignore=shutil.ignore_patterns("STABLE"))
        return kept

    def _commit(self, trainer: Trainer, batch: Batch, folder: Path, skipped: list[Skipped]) -> None:
        prepared = batch.prepare(policy=weights(folder.resolve().as_uri()), skipped=skipped)
        self._remember(self.known.lineage, prepared=prepared)
        batch.commit(prepared=prepared)
        self._remember(trainer.lineage)

    def _prune(self, step: int) -> None:
        """Deletes files that neither a resumed trainer nor a slow engine needs."""
        numbers = {name: [(int(path.name[5:]), path) for path in (self.output / name).glob("step_*")] for name in _FOLDERS}
        oldest = min((number for number, _ in numbers["checkpoints"]), default=0)
        gone = [path for number, path in numbers["rollouts"] if number <= min(oldest, step - 1)]
        gone += [path for number, path in numbers["versions"] if number <= step - self.keep]
        for path in gone:
            shutil.rmtree(path, ignore_errors=True)

    def _number(self, batch: Batch) -> int:
        """The number of the step in prime-rl."""
        return batch.step - self.known.base

    def _stable(self, batch: Batch) -> Path:
        return self.output / "broadcasts" / f"step_{self._number(batch)}" / "STABLE"

    def _remember(self, lineage: str | None, lease: Lease | None = None, prepared: Prepared | None = None) -> None:
        self.known = Known(lineage, lease, prepared, self.known.base)
        self.known.save(self.output / "turnstream.json")


def _link(source: str, target: str) -> None:
    """Creates a hard link, which takes no space, or a copy across file systems."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _replace(path: Path, content: bytes) -> None:
    """Replaces a file atomically."""
    partial = path.with_name(path.name + ".tmp")
    with partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def main(args: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m turnstream.prime_rl", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--run", required=True)
    parser.add_argument("--output", type=Path, required=True, help="output_dir of prime-rl's trainer")
    parser.add_argument("--ranks", type=int, default=1, help="data-parallel ranks of the trainer")
    parser.add_argument("--tokens", type=int, required=True, help="model.seq_len of the trainer: tokens of a micro-batch")
    parser.add_argument("--steps", type=int, help="stop at this version; by default, at the end of the run")
    parser.add_argument("--version", type=int, default=0, help="version of the run that prime-rl starts from")
    parser.add_argument("--keep", type=int, default=4, help="number of versions whose weights are kept")
    flags = parser.parse_args(args)
    flags.output.mkdir(parents=True, exist_ok=True)
    with Turnstream() as ts:
        shape = {"ranks": flags.ranks, "tokens": flags.tokens, "version": flags.version, "keep": flags.keep}
        Bridge(ts.run(flags.run), flags.output, **shape).train(flags.steps)
    return 0


if __name__ == "__main__":
    sys.exit(main())
