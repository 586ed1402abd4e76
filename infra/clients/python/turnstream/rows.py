"""Rows of a batch. Each row is one branch of a trajectory, token by token."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypedDict

from .frames import Rows, need, read_arrow

if TYPE_CHECKING:
    import numpy
    import numpy.typing

    Arrays = dict[str, numpy.typing.NDArray[Any]]

ARROW = "application/vnd.apache.arrow.stream"
NDJSON = "application/x-ndjson"


class VersionSpan(TypedDict):
    """Consecutive tokens that one version of the policy generated."""

    version: int
    tokens: int


class TrainingRow(TypedDict):
    """One branch of one trajectory."""

    row: int
    trajectory_id: str
    attempt: int
    group_id: str
    branch: int
    token_ids: list[int]
    #: 1: sampled by the policy, 0: prompt or result of a tool.
    mask: list[int]
    logprobs: list[float]
    version_spans: list[VersionSpan]
    #: Numbers of its turns, and the index at which the completion of each begins.
    turns: list[int]
    turn_starts: list[int]
    prompt_len: int
    reward: float
    advantage: float
    #: None if it is unknown or differs between turns.
    temperature: float | None
    logprobs_kind: str
    trainable: bool
    why_not: str


class TrainingRows(Rows[TrainingRow]):
    """The rows of a batch."""

    def to_numpy(self, pad_to: int = 1, rows: int = 1) -> Arrays:
        """Arrays of equal length, padded at the end to a multiple of `pad_to` tokens and of `rows` rows.

        `token_ids`, `mask`, `logprobs`, `versions` (-1: not sampled or unknown), `advantages`, and `position_ids` have an entry per token;
        `rewards`, `lengths`, and `temperatures` one per row. The mask of a row that must not be trained on is all zeros.
        """
        np = need("numpy", "numpy")
        longest = max((len(row["token_ids"]) for row in self), default=1)
        count, length = -(-len(self) // rows) * rows, max(1, -(-longest // pad_to)) * pad_to
        arrays: Arrays = {
            "token_ids": np.zeros((count, length), np.int32),
            "mask": np.zeros((count, length), np.float32),
            "logprobs": np.zeros((count, length), np.float32),
            "versions": np.full((count, length), -1, np.int32),
            "advantages": np.zeros((count, length), np.float32),
            "position_ids": np.tile(np.arange(length, dtype=np.int32), (count, 1)),
            "rewards": np.zeros(count, np.float32),
            "lengths": np.zeros(count, np.int32),
            "temperatures": np.ones(count, np.float32),
        }
        for at, row in enumerate(self):
            _fill(arrays, at, row)
        return arrays


def _fill(arrays: Arrays, at: int, row: TrainingRow) -> None:
    length = len(row["token_ids"])
    arrays["token_ids"][at, :length] = row["token_ids"]
    arrays["rewards"][at] = row["reward"]
    arrays["lengths"][at] = length
    arrays["temperatures"][at] = 1.0 if row["temperature"] is None else row["temperature"]
    sampled = [index for index, flag in enumerate(row["mask"]) if flag]
    if row["logprobs"]:
        arrays["logprobs"][at, :length] = row["logprobs"]
    if row["version_spans"]:
        arrays["versions"][at, :length] = _versions(row["version_spans"])
    if row.get("trainable", True):
        arrays["mask"][at, sampled] = 1
        arrays["advantages"][at, sampled] = row["advantage"]


def _versions(spans: Iterable[VersionSpan]) -> list[int]:
    return [span["version"] for span in spans for _ in range(span["tokens"])]


def parse_rows(content: bytes, media_type: str) -> TrainingRows:
    """Parses rows in either format of the API."""
    if media_type.startswith(ARROW):
        return TrainingRows(read_arrow(content).to_pylist())
    return TrainingRows(json.loads(line) for line in content.splitlines() if line.strip())
