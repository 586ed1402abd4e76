"""The callback of TRL's trainer. It refuses settings with which the trainer would drop or repeat leased rows, and saves between batches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .frames import need

if TYPE_CHECKING:
    from .trl import TurnstreamWorker

#: Larger than the number of steps of any run: TRL's own staleness filter drops no sample.
NEVER_STALE = 1_000_000
#: Rows have their temperature as a 32-bit float.
_CLOSE = 1e-4


class CheckpointCallback:
    """The methods of a transformers.TrainerCallback that one worker needs."""

    def __init__(self, worker: TurnstreamWorker) -> None:
        self._worker = worker
        #: A checkpoint is to be saved at the end of the batch.
        self._due = False

    def on_train_begin(self, args: Any, *_: Any, **_more: Any) -> None:
        check_settings(args, self._worker.rows_per_step)

    def on_step_begin(self, args: Any, *_: Any, **_more: Any) -> None:
        """Called after the samples of the step were read, and before the first forward pass."""
        for sampled_at in self._worker.temperatures.copy():
            if abs(sampled_at - args.temperature) > _CLOSE:
                raise ValueError(
                    f"a row was sampled at temperature {sampled_at:.4g}, but the trainer computes log probabilities at {args.temperature}: "
                    f"set temperature={sampled_at:.4g} in AsyncGRPOConfig, or TURNSTREAM_LLM_TEMPERATURE={args.temperature}"
                )

    def on_step_end(self, args: Any, _state: Any, control: Any, **_more: Any) -> None:
        """Called after the weights of the step were sent. Inside a batch, weights belong to no version and cannot be resumed from."""
        inside = self._worker.inside_batch
        if args.world_size > 1:
            # only the first process has batches, but all processes must save at the same step
            (inside,) = need("accelerate.utils", "trl").broadcast_object_list([inside])
        due = self._due or control.should_save
        control.should_save, self._due = due and not inside, due and inside

    def on_save(self, args: Any, state: Any, *_: Any, **_more: Any) -> None:
        if state.is_world_process_zero:
            self._worker.save(Path(args.output_dir) / f"checkpoint-{state.global_step}")


def check_settings(args: Any, rows_per_step: int) -> None:
    """Raises ValueError unless each step takes `rows_per_step` samples, drops none, and sends its weights."""
    taken = args.per_device_train_batch_size * args.gradient_accumulation_steps * args.world_size
    fits = {
        f"rows_per_step={taken} in TurnstreamWorker": rows_per_step == taken,
        "token_budget=0": args.token_budget is not None and args.token_budget <= 0,
        "weight_sync_steps=1": args.weight_sync_steps == 1,
        f"max_staleness={NEVER_STALE}": args.max_staleness >= NEVER_STALE,
    }
    needed = ", ".join(setting for setting, holds in fits.items() if not holds)
    if needed:
        raise ValueError(f"TRL's trainer would drop samples or count them wrongly: set {needed}")


def checkpoint_callback(worker: TurnstreamWorker) -> Any:
    """An instance for `trainer.add_callback`."""
    base = need("transformers", "trl").TrainerCallback
    return type("TurnstreamCheckpoint", (CheckpointCallback, base), {})(worker)
