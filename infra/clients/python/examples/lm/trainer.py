"""The trainer: GRPO on batches from the log. It depends on the turnstream client only.

It may be killed at any line and started again with the same arguments. What it did not commit is leased again; what it had prepared is
committed; and if the run went on from other weights, it loads those.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from checkpoint import Checkpoint
from grpo import train_step
from model import load_weights, save_weights
from models import SMALL, Model, add_model, named
from turnstream import LineageMismatch, Restore, RunFinished, Trainer, Turnstream, weights


class Training:
    """A run, an engine, and a folder of weights."""

    def __init__(self, run: str, engine: str, folder: Path, warm_start: Path, model: Model = SMALL) -> None:
        self.run, self.engine, self.folder, self.warm_start, self.model = run, engine, folder, warm_start, model
        self.path = folder / "checkpoint.npz"
        self.checkpoint = Checkpoint.load(self.path) if self.path.exists() else self.first()

    def first(self) -> Checkpoint:
        """The weights of version 0."""
        return Checkpoint.of(load_weights(self.warm_start.read_bytes()))

    def train(self, ts: Turnstream, steps: int) -> None:
        with self.claimed(ts) as trainer:
            self.keep(trainer)
            self.push(trainer.version, self.write(f"claim-{trainer.epoch}"))
            for batch in trainer.batches(steps=steps, rows=self.model.rows):
                begun = time.monotonic()
                arrays = batch.to_numpy(pad_to=self.model.pad_to)
                known = self.checkpoint
                known.weights, known.adam, figures = train_step(known.weights, known.adam, arrays, model=self.model)
                batch.extend()  # raises Fenced if another trainer has claimed the run: this one must not write anything
                file = self.write(f"v{batch.name}")
                self.checkpoint.prepared = batch.prepare(policy=weights(file.resolve().as_uri()), metrics=figures)
                self.checkpoint.save(self.path)
                batch.commit(prepared=self.checkpoint.prepared)
                self.keep(trainer)
                self.push(trainer.version, file)
                reward = arrays["rewards"][arrays["lengths"] > 0].mean()
                print(f"step {batch.step}: reward {reward:.2f}, loss {figures['loss']:.3f}, {time.monotonic() - begun:.1f} s", flush=True)

    def claimed(self, ts: Turnstream) -> Trainer:
        """Claims the run with the checkpoint, or with the weights of the newest version."""
        trainer = ts.run(self.run).trainer("example-lm", framework="jax", **self.token())
        try:
            trainer.claim()
        except LineageMismatch:
            # the step in the checkpoint is not part of the run, and its rows may be leased again: its weights must go
            self.checkpoint = self.first()
            trainer = ts.run(self.run).trainer("example-lm", framework="jax")
            trainer.claim()
        if trainer.restore is not None:
            self.restore(trainer.restore)
        return trainer

    def token(self) -> dict[str, object]:
        return {"lineage": self.checkpoint.lineage, "prepared": self.checkpoint.prepared}

    def restore(self, named: Restore) -> None:
        """Loads the weights of a version."""
        if not named["uri"]:
            raise SystemExit(f"the weights of version {named['version']}, from which the run continues, have not been published")
        data = Path(unquote(urlsplit(named["uri"]).path)).read_bytes()
        if hashlib.sha256(data).hexdigest() != named["sha256"]:
            raise SystemExit(f"{named['uri']} is not version {named['version']}: its hash differs")
        self.checkpoint = Checkpoint.of(load_weights(data))

    def keep(self, trainer: Trainer) -> None:
        """Saves a checkpoint without a prepared commit: the weights are those of the newest version."""
        self.checkpoint.lineage, self.checkpoint.prepared = trainer.lineage, None
        self.checkpoint.save(self.path)

    def write(self, name: str) -> Path:
        """Writes the newest weights to a file that no other trainer writes to."""
        file = self.folder / f"{name}.safetensors"
        save_weights(file, self.checkpoint.weights)
        return file

    def push(self, version: int, file: Path) -> None:
        """Sends the newest weights to the engine."""
        body = {"model_path": file.resolve().as_uri(), "weight_version": f"{self.run}/{version}"}
        url = self.engine.removesuffix("/v1") + "/update_weights_from_disk"
        request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            answer.read()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", required=True)
    parser.add_argument("--engine", required=True, help="the URL that the engine prints")
    parser.add_argument("--folder", type=Path, required=True, help="folder for weights and the checkpoint")
    parser.add_argument("--warm-start", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=60)
    add_model(parser)
    flags = parser.parse_args()
    flags.folder.mkdir(parents=True, exist_ok=True)
    model = named(flags.model)
    with Turnstream() as ts, suppress(RunFinished):
        Training(flags.run, flags.engine, flags.folder, flags.warm_start, model).train(ts, flags.steps)


if __name__ == "__main__":
    main()
