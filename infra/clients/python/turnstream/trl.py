"""Connects TRL's AsyncGRPOTrainer to a run: one object that serves as its rollout worker and its weight transfer.

    worker = TurnstreamWorker(ts.run("demo"), Path("versions"), rows_per_step=64)
    trainer = AsyncGRPOTrainer(model, args=config, train_dataset=..., rollout_worker=worker, weight_transfer=worker)
    trainer.add_callback(worker.checkpoint_callback())
    trainer.train()

The samples are the rows of leased batches, in order. Each weight sync ends a step; the last step of a batch commits it. The trainer takes
`rows_per_step` samples per step (per_device_train_batch_size × gradient_accumulation_steps × processes, with settings that the callback
checks), so the adapter counts rows and pads each batch to whole steps with samples that have no gradient. The data loader reads one
micro-batch ahead, so batches are leased ahead of training: TURNSTREAM_PREFETCH must be at least 1.
"""

from __future__ import annotations

import json
import queue
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import ApiError, Batch, ConnectionFailed, LineageMismatch, Run, Skipped, Trainer, TrainingRow, TrainingRows, TurnstreamError, weights
from ._trl_callback import checkpoint_callback
from ._trl_types import Sample, WeightTransfer
from .errors import passes
from .frames import need
from .usable import row_versions, usable_rows

_POLL = 0.5
_STATE = "turnstream.json"


@dataclass
class _Out:
    """A batch whose rows are queued or being trained on."""

    batch: Batch
    skipped: list[Skipped]
    #: Numbers of samples since the start of training: before the first sample of the batch, and up to and including its last sample.
    begin: int
    end: int


class TurnstreamWorker:
    """RolloutWorkerProtocol and WeightTransferProtocol of TRL 1.16 for one run.

    `versions` is a folder that keeps the weights of every version. `base` is the folder of the initial model: its configuration and
    tokenizer are copied next to the weights, so that an engine can load each version from its path. `transfer` also transfers the weights
    to the engine. `checkpoint` is the folder that the trainer resumes from; without one, `version` is the version of the loaded model.
    """

    def __init__(
        self,
        run: Run,
        versions: Path,
        *,
        rows_per_step: int,
        trainer_id: str = "trl",
        base: Path | None = None,
        transfer: WeightTransfer | None = None,
        checkpoint: Path | None = None,
        version: int = 0,
    ) -> None:
        self.rollout_buffer: queue.Queue[Sample] = queue.Queue()
        #: Part of the protocol; this worker adds no metrics.
        self.metrics_queue: queue.Queue[dict[str, Any]] = queue.Queue()
        self.temperatures: set[float] = set()
        self._run, self._versions, self.rows_per_step, self._trainer_id = run, versions, rows_per_step, trainer_id
        self._base, self._transfer, self._version = base, transfer, version
        self._lineage = json.loads((checkpoint / _STATE).read_text())["lineage"] if checkpoint is not None else None
        self._trainer: Trainer | None = None
        self._out: list[_Out] = []
        self._groups: dict[str, int] = {}
        self._leased = self._trained = self._model_version = 0
        # leases and commits exclude each other: a lease that waits while a commit changes the lineage would be refused
        self._turn = threading.Lock()
        self._ended = threading.Event()
        self._failure: Exception | None = None
        self._heard = time.monotonic()
        self._thread: threading.Thread | None = None

    # RolloutWorkerProtocol

    def start(self) -> None:
        """Claims the run with the lineage of the checkpoint, and starts leasing."""
        trainer = self._run.trainer(self._trainer_id, framework="trl", lineage=self._lineage)
        try:
            trainer.claim()
        except LineageMismatch as error:
            raise _behind(error.restore) from error
        if self._lineage is None and trainer.version != self._version:
            raise _behind(trainer.restore)
        self._trainer, self._heard = trainer, time.monotonic()
        self._thread = threading.Thread(target=self._feed, name="turnstream-leases", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Releases batches that are leased and not committed."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        if self._trainer is not None:
            self._trainer.close()
        self._out = []

    def update_model_version(self, model_version: int) -> None:
        """Called after weights were sent: before the first step, and at the end of each step."""
        self._model_version = model_version
        if self._trainer is None:
            return
        self._trained += self.rows_per_step
        if (out := self._ending(self._trained)) is not None:
            self._commit(out)

    def check_health(self, stale_after_s: float) -> None:
        if self._failure is not None:
            raise RuntimeError("leasing batches for the trainer has failed") from self._failure
        if time.monotonic() - self._heard > stale_after_s:
            raise RuntimeError(f"the coordinator of the run has not responded for {stale_after_s:.0f} s")

    # WeightTransferProtocol

    def init_weight_transfer(self) -> None:
        if self._transfer is not None:
            self._transfer.init_weight_transfer()

    def pause(self) -> None:
        if self._transfer is not None:
            self._transfer.pause()

    def send_weights(self, iterator: Iterator[tuple[str, Any]]) -> None:
        """Writes the version that a step made. Always exhausts the iterator, because all ranks take part in it.

        Raises Fenced, and writes nothing, if another trainer has claimed the run.
        """
        out = self._ending(self._trained + self.rows_per_step) if self._trainer is not None else None
        kept: dict[str, Any] = {}

        def through() -> Iterator[tuple[str, Any]]:
            for name, tensor in iterator:
                if out is not None:
                    kept[name] = tensor.detach().to("cpu", copy=True).contiguous()
                yield name, tensor

        if self._transfer is not None:
            self._transfer.send_weights(through())
        else:
            for _ in through():
                pass
        if out is not None:
            out.batch.extend()
            self._write(self._folder(out.batch), kept)

    def resume(self) -> None:
        if self._transfer is not None:
            self._transfer.resume()

    def destroy(self) -> None:
        if self._transfer is not None:
            self._transfer.destroy()

    # Checkpoints

    def checkpoint_callback(self) -> Any:
        """A callback that checks the settings of the trainer, saves between batches, and adds the lineage token to each checkpoint."""
        return checkpoint_callback(self)

    @property
    def inside_batch(self) -> bool:
        """Whether the weights have learned from a part of a batch."""
        return bool(self._out) and self._out[0].begin < self._trained

    def save(self, checkpoint: Path) -> None:
        """Writes the lineage token into the folder of a checkpoint."""
        assert self._trainer is not None
        if self.inside_batch:
            raise RuntimeError(f"saving {checkpoint}: the weights learned from a part of {self._out[0].batch.id}; save after its last step")
        partial = checkpoint / f"{_STATE}.tmp"
        partial.write_text(json.dumps({"lineage": self._trainer.lineage, "version": self._trainer.version}))
        partial.replace(checkpoint / _STATE)

    # Leases and commits

    def _feed(self) -> None:
        try:
            while not self._ended.is_set():
                if not self._lease_next():
                    self._ended.wait(_POLL)
        except Exception as error:
            self._failure = error

    def _lease_next(self) -> bool:
        assert self._trainer is not None
        with self._turn:
            batch: Batch | None = None
            try:
                batch = self._trainer.lease(wait_ms=0)
                self._heard = time.monotonic()
                if batch is None:
                    return False
                leased = batch.rows()
            except (ApiError, ConnectionFailed) as error:
                if batch is not None:
                    batch.leave()
                if not passes(error):
                    raise
                return False
            rows, skipped = usable_rows(leased)
            samples = self._samples(leased, rows)
            self._out.append(_Out(batch, skipped, self._leased, self._leased + len(samples)))
            self._leased += len(samples)
        for sample in samples:
            self.rollout_buffer.put(sample)
        return True

    def _samples(self, leased: TrainingRows, rows: list[TrainingRow]) -> list[Sample]:
        """One sample per row, padded to whole steps with copies of the last one that have no gradient."""
        self.temperatures.update(one for one in (row["temperature"] for row in rows) if one is not None)
        samples = [self._sample(row, row["mask"]) for row in rows]
        padding = [row for row in (rows or leased) if len(row["token_ids"]) > 1]
        if not padding:
            raise ValueError("no row of the batch has tokens: workers record them with TURNSTREAM_LLM_TOKEN_IDS=true")
        missing = -len(samples) % self.rows_per_step if samples else self.rows_per_step
        return samples + [self._filler(padding[-1]) for _ in range(missing)]

    def _filler(self, row: TrainingRow) -> Sample:
        """Has one loss token, because the trainer fails on a micro-batch without any. The first token of a row cannot have a loss."""
        count = len(row["token_ids"])
        last = max((at for at in range(1, count) if row["mask"][at]), default=count - 1)
        return replace(self._sample(row, [int(at == last) for at in range(count)]), advantage=0.0)

    def _sample(self, row: TrainingRow, mask: list[int]) -> Sample:
        np = need("numpy", "numpy")
        versions = row_versions(row)
        newest = self._trainer.version if self._trainer is not None else 0
        return Sample(
            prompt=[],
            completion=[],
            input_ids=np.array(row["token_ids"], np.int64),
            completion_mask=np.array(mask, np.int64),
            old_log_probs=np.array(row["logprobs"] or [0.0] * len(mask), np.float32),
            advantage=row["advantage"],
            model_version=self._model_version,
            group_id=self._groups.setdefault(row["group_id"], len(self._groups)),
            metrics={"reward": row["reward"], "turnstream/staleness": float(newest - versions[0]) if versions else 0.0},
            enqueued_at=time.time(),
        )

    def _ending(self, trained: int) -> _Out | None:
        """The first batch, if its last sample is among the first `trained` samples."""
        return self._out[0] if self._out and self._out[0].end <= trained else None

    def _commit(self, out: _Out) -> None:
        with self._turn:
            out.batch.commit(policy=weights(self._folder(out.batch).resolve().as_uri()), skipped=out.skipped)
            self._out.pop(0)

    def _write(self, folder: Path, tensors: dict[str, Any]) -> None:
        partial = folder.with_name(f"{folder.name}.tmp")
        shutil.rmtree(partial, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)
        partial.mkdir(parents=True)
        for file in self._base.iterdir() if self._base is not None else ():
            if file.is_file() and file.suffix not in (".safetensors", ".bin", ".pt", ".gguf") and ".index." not in file.name:
                shutil.copy2(file, partial)
        save_file(tensors, partial / "model.safetensors")
        partial.rename(folder)

    def _folder(self, batch: Batch) -> Path:
        """A folder that no other trainer writes to."""
        return self._versions / f"v{batch.name}"


def _behind(restore: Any) -> TurnstreamError:
    version, uri = (restore["version"], restore["uri"]) if restore else (0, "")
    source = uri or "your copy of it, because its weights are not published"
    return TurnstreamError("LINEAGE_MISMATCH", f"the run is at version {version}: load the model from {source}, and pass version={version}")


save_file: Callable[[dict[str, Any], Path], None] = lambda tensors, path: need("safetensors.torch", "trl").save_file(tensors, path)
