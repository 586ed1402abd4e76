"""Python client for turnstream."""

from ._async.batch import AsyncBatch
from ._async.client import AsyncTurnstream
from ._async.run import AsyncRun
from ._async.trainer import AsyncTrainer
from ._sync.batch import Batch
from ._sync.client import Turnstream
from ._sync.run import Run
from ._sync.trainer import Trainer
from .errors import (
    ApiError,
    BatchCommitted,
    BatchReleased,
    ClientClosed,
    ConnectionFailed,
    Fenced,
    LineageMismatch,
    PackageMissing,
    RunFinished,
    TurnstreamError,
)
from .frames import Rows
from .live import Event
from .policy import Policy, weights
from .rows import TrainingRow, TrainingRows
from .training import Committed, Lease, Prepared, Restore, Rewind, Skipped

__all__ = [
    "ApiError",
    "AsyncBatch",
    "AsyncRun",
    "AsyncTrainer",
    "AsyncTurnstream",
    "Batch",
    "BatchCommitted",
    "BatchReleased",
    "ClientClosed",
    "Committed",
    "ConnectionFailed",
    "Event",
    "Fenced",
    "Lease",
    "LineageMismatch",
    "PackageMissing",
    "Policy",
    "Prepared",
    "Restore",
    "Rewind",
    "Rows",
    "Run",
    "RunFinished",
    "Skipped",
    "Trainer",
    "TrainingRow",
    "TrainingRows",
    "Turnstream",
    "TurnstreamError",
    "weights",
]
