"""What TRL's trainer and this adapter exchange."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol


class WeightTransfer(Protocol):
    """Transfers weights to the engine, like TRL's WeightTransferClient."""

    def init_weight_transfer(self) -> None: ...
    def pause(self) -> None: ...
    def send_weights(self, iterator: Iterator[tuple[str, Any]]) -> None: ...
    def resume(self) -> None: ...
    def destroy(self) -> None: ...


@dataclass
class Sample:
    """The fields of RolloutSample that the trainer reads."""

    prompt: list[dict[str, Any]]
    completion: list[dict[str, Any]]
    input_ids: Any
    completion_mask: Any
    old_log_probs: Any
    advantage: float
    model_version: int
    group_id: int
    metrics: dict[str, float]
    enqueued_at: float | None = None
