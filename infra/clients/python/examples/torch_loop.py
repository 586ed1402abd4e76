"""A loop in plain torch that trains a causal language model from Hugging Face transformers with GRPO on batches from the log.

    python torch_loop.py --run demo --model Qwen/Qwen2.5-0.5B-Instruct --folder versions

From turnstream, it needs only the client. It may be killed at any point and started again with the same arguments: what was not
committed is leased again, what was prepared is committed, and if the run continued from other weights, it loads those.
"""

from __future__ import annotations

import argparse
import json
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from turnstream import LineageMismatch, Restore, Run, RunFinished, Trainer, Turnstream, weights

CLIP, CAP = 0.2, 5.0


def token_logprobs(model: Any, ids: Any, attention: Any, temperatures: Any) -> Any:
    """Log probability of each token given those before it, at the temperature that it was sampled with; 0 for the first."""
    logits = model(input_ids=ids, attention_mask=attention).logits[:, :-1].float() / temperatures[:, None, None]
    chosen = torch.log_softmax(logits, -1).gather(-1, ids[:, 1:, None])[..., 0]
    return torch.nn.functional.pad(chosen, (1, 0))


def loss_of(logprobs: Any, arrays: dict[str, Any]) -> tuple[Any, dict[str, float]]:
    """The clipped loss of GRPO. Tokens may have been sampled by an older version."""
    mask = arrays["mask"]
    moved = torch.where(mask > 0, logprobs - arrays["logprobs"], 0.0)
    ratio = moved.exp()
    clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
    gain = torch.minimum(ratio * arrays["advantages"], clipped * arrays["advantages"]).clamp(-CAP, CAP)
    count = mask.sum().clamp(min=1)
    figures = {"behave_kl": float(-moved.sum() / count), "clip_fraction": float(((ratio - clipped).abs() > 0).sum() / count)}
    return -(gain * mask).sum() / count, figures


class Training:
    """A model, its optimizer, and their position in the run."""

    def __init__(self, run: Run, folder: Path, model: str, rate: float, device: str) -> None:
        self.run, self.folder, self.initial, self.rate, self.device = run, folder, model, rate, device
        self.path = folder / "checkpoint.pt"
        self.token: dict[str, Any] = {"lineage": None, "prepared": None}
        known = torch.load(self.path, map_location=device, weights_only=False) if self.path.exists() else None
        self.load(known["folder"] if known else model)
        if known:
            self.optimizer.load_state_dict(known["optimizer"])
            self.token = known["token"]

    def load(self, source: str) -> None:
        self.source = source
        self.model = AutoModelForCausalLM.from_pretrained(source, torch_dtype=torch.float32).to(self.device)
        self.tokenizer = AutoTokenizer.from_pretrained(source)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=self.rate)

    def save(self) -> None:
        """Replaces the checkpoint atomically. It names the folder of the weights, which were saved before."""
        partial = self.path.with_suffix(".tmp")
        torch.save({"folder": self.source, "optimizer": self.optimizer.state_dict(), "token": self.token}, partial)
        partial.replace(self.path)

    def train(self, steps: int, rows: int) -> None:
        with self.claimed() as trainer:
            self.token = {"lineage": trainer.lineage, "prepared": None}
            self.save()
            for batch in trainer.batches(steps=steps):
                figures = self.step(batch.to_numpy(pad_to=64), rows)
                batch.extend()  # raises Fenced if another trainer has claimed the run: this one must not write anything
                version = self.folder / f"v{batch.name}"
                self.model.save_pretrained(version)
                self.tokenizer.save_pretrained(version)
                self.source = str(version)
                prepared = batch.prepare(policy=weights(version.resolve().as_uri()), metrics=figures)
                self.token = {"lineage": trainer.lineage, "prepared": prepared}
                self.save()
                batch.commit(prepared=prepared)
                self.token = {"lineage": trainer.lineage, "prepared": None}
                self.save()
                print(json.dumps({"step": batch.step, **figures}), flush=True)

    def claimed(self) -> Trainer:
        """Claims the run with the checkpoint, or with the weights of the newest version."""
        trainer = self.run.trainer("torch", framework="torch", **self.token)
        try:
            trainer.claim()
        except LineageMismatch:
            # the step in the checkpoint is not part of the run, and its rows may be leased again: its weights must go
            self.token = {"lineage": None, "prepared": None}
            self.load(self.initial)
            trainer = self.run.trainer("torch", framework="torch")
            trainer.claim()
        if trainer.restore is not None:
            self.restore(trainer.restore)
        return trainer

    def restore(self, named: Restore) -> None:
        version, place = named["version"], urlsplit(named["uri"])
        if place.scheme != "file":
            raise SystemExit(f"the weights of version {version} are {named['uri'] or 'unpublished'}: this loop loads folders at file: URIs")
        folder = Path(unquote(place.path))
        if weights(folder.as_uri())["sha256"] != named["sha256"]:
            raise SystemExit(f"{folder} is not version {version}: its hash differs")
        self.load(str(folder))

    def step(self, arrays: dict[str, Any], rows: int) -> dict[str, float]:
        """One update, with gradients accumulated over parts of `rows` rows."""
        tensors = {name: torch.from_numpy(array).to(self.device) for name, array in arrays.items()}
        places = torch.arange(tensors["token_ids"].shape[1], device=self.device)
        tensors["attention"] = (places[None] < tensors["lengths"][:, None]).long()
        total = tensors["mask"].sum().clamp(min=1)
        figures: dict[str, float] = {"loss": 0.0}
        for start in range(0, len(tensors["token_ids"]), rows):
            part = {name: tensor[start : start + rows] for name, tensor in tensors.items()}
            logprobs = token_logprobs(self.model, part["token_ids"].long(), part["attention"], part["temperatures"])
            loss, more = loss_of(logprobs, part)
            share = float(part["mask"].sum() / total)
            (loss * share).backward()
            figures["loss"] += float(loss) * share
            for name, value in more.items():
                figures[name] = figures.get(name, 0.0) + value * share
        figures["grad_norm"] = float(torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0))
        self.optimizer.step()
        self.optimizer.zero_grad()
        return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", required=True)
    parser.add_argument("--model", required=True, help="the model of version 0, which the engine started with")
    parser.add_argument("--folder", type=Path, required=True, help="folder for versions and the checkpoint")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rows", type=int, default=8, help="number of rows per forward pass")
    parser.add_argument("--rate", type=float, default=1e-6)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    flags = parser.parse_args()
    flags.folder.mkdir(parents=True, exist_ok=True)
    with Turnstream() as ts, suppress(RunFinished):
        Training(ts.run(flags.run), flags.folder, flags.model, flags.rate, flags.device).train(flags.steps, flags.rows)


if __name__ == "__main__":
    main()
