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
from turnstream import LineageMismatch, Restore, RunFinished, Trainer, Turnstream, weights

LENGTH = 32


class Training:
    """A run, an engine, and a folder of weights."""

    def __init__(self, run: str, engine: str, folder: Path, warm_start: Path) -> None:
        self.run, self.engine, self.folder = run, engine, folder
        self.path = folder / "checkpoint.npz"
        known = self.path.exists()
        self.checkpoint = Checkpoint.load(self.path) if known else Checkpoint.of(load_weights(warm_start.read_bytes()))

    def train(self, ts: Turnstream, steps: int) -> None:
        with self.claimed(ts) as trainer:
            self.keep(trainer)
            self.push(trainer.version)
            for batch in trainer.batches(steps=steps):
                begun = time.monotonic()
                arrays = batch.to_numpy(pad_to=LENGTH)
                self.checkpoint.weights, self.checkpoint.adam, figures = train_step(self.checkpoint.weights, self.checkpoint.adam, arrays)
                file = self.folder / f"v{batch.step}.safetensors"
                save_weights(file, self.checkpoint.weights)
                self.checkpoint.prepared = batch.prepare(policy=weights(file.resolve().as_uri()), metrics=figures)
                self.checkpoint.save(self.path)
                batch.commit(prepared=self.checkpoint.prepared)
                self.keep(trainer)
                self.push(trainer.version)
                reward = arrays["rewards"].mean()
                print(f"step {batch.step}: reward {reward:.2f}, loss {figures['loss']:.3f}, {time.monotonic() - begun:.1f} s", flush=True)

    def claimed(self, ts: Turnstream) -> Trainer:
        """Claims the run with the checkpoint, or with the weights of the newest version."""
        trainer = ts.run(self.run).trainer("example-lm", framework="jax", **self.token())
        try:
            trainer.claim()
        except LineageMismatch as error:
            self.restore(error.restore)
            trainer = ts.run(self.run).trainer("example-lm", framework="jax")
            trainer.claim()
        if trainer.restore is not None:
            self.restore(trainer.restore)
        return trainer

    def token(self) -> dict[str, object]:
        return {"lineage": self.checkpoint.lineage, "prepared": self.checkpoint.prepared}

    def restore(self, named: Restore | None) -> None:
        """Loads the weights of a version."""
        if named is None or not named["uri"]:
            raise SystemExit("the run continues from weights that have not been published")
        data = Path(unquote(urlsplit(named["uri"]).path)).read_bytes()
        if hashlib.sha256(data).hexdigest() != named["sha256"]:
            raise SystemExit(f"{named['uri']} is not version {named['version']}: its hash is another")
        self.checkpoint = Checkpoint.of(load_weights(data))

    def keep(self, trainer: Trainer) -> None:
        """Saves a checkpoint without a prepared commit: the weights are those of the newest version."""
        self.checkpoint.lineage, self.checkpoint.prepared = trainer.lineage, None
        self.checkpoint.save(self.path)

    def push(self, version: int) -> None:
        """Sends the newest weights to the engine."""
        file = self.folder / f"v{version}.safetensors"
        save_weights(file, self.checkpoint.weights)
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
    flags = parser.parse_args()
    flags.folder.mkdir(parents=True, exist_ok=True)
    with Turnstream() as ts, suppress(RunFinished):
        Training(flags.run, flags.engine, flags.folder, flags.warm_start).train(ts, flags.steps)


if __name__ == "__main__":
    main()
