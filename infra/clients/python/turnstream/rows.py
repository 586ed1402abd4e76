"""Rows of a batch. Each row is one branch of a trajectory, token by token."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, overload

from .frames import Rows, dataset_of, frame_of, need, read_arrow, table_html

if TYPE_CHECKING:
    import datasets
    import numpy
    import numpy.typing
    import pandas
    import pyarrow

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


class TrainingRows(Sequence[TrainingRow]):
    """The rows of a batch. Rows that were received as Arrow become dictionaries only when they are iterated or indexed."""

    def __init__(self, rows: Iterable[TrainingRow] = (), table: pyarrow.Table | None = None) -> None:
        self._table: Any = table
        self._list: Rows[TrainingRow] | None = Rows(rows) if table is None else None

    @property
    def _rows(self) -> Rows[TrainingRow]:
        if self._list is None:
            self._list = Rows(self._table.to_pylist())
        return self._list

    def __len__(self) -> int:
        return len(self._rows if self._table is None else self._table)

    @overload
    def __getitem__(self, at: int) -> TrainingRow: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[TrainingRow]: ...
    def __getitem__(self, at: int | slice) -> TrainingRow | Sequence[TrainingRow]:
        return self._rows[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def to_arrow(self) -> pyarrow.Table:
        """The table as it was received. Rows that were received as NDJSON are converted, with types that pyarrow infers."""
        return self._rows.to_arrow() if self._table is None else self._table

    def to_pandas(self) -> pandas.DataFrame:
        return self._rows.to_pandas() if self._table is None else frame_of(self._table)

    def to_dataset(self) -> datasets.Dataset:
        return dataset_of(self.to_arrow())

    def _repr_html_(self) -> str:
        return table_html(self)

    def to_numpy(self, pad_to: int = 1, rows: int = 1) -> Arrays:
        """Arrays of equal length, padded at the end to a multiple of `pad_to` tokens and of `rows` rows.

        `token_ids`, `mask`, `logprobs`, `versions` (-1: not sampled or unknown), `advantages`, and `position_ids` have an entry per token;
        `rewards`, `lengths`, and `temperatures` one per row. The mask of a row that must not be trained on is all zeros.
        """
        np = need("numpy", "numpy")
        sizes = [len(row["token_ids"]) for row in self] if self._table is None else _lists(self._table, "token_ids")[0]
        longest = int(max(sizes, default=1))
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
        if self._table is not None:
            _fill_all(arrays, self._table)
        else:
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


def _fill_all(arrays: Arrays, table: Any) -> None:
    """Does what `_fill` does, for all rows at once and from the buffers of a table."""
    np = need("numpy", "numpy")
    count, places = table.num_rows, np.arange(arrays["token_ids"].shape[1])

    def put(name: str, lengths: Any, values: Any) -> None:
        arrays[name][:count][places < lengths[:, None]] = values

    for name in ("token_ids", "mask", "logprobs"):
        lengths, values = _lists(table, name)
        put(name, lengths, _numbers(values))
    counts, spans = _lists(table, "version_spans")
    tokens = _numbers(spans.field("tokens"))
    sizes = np.bincount(np.repeat(np.arange(count), counts), tokens, count)
    put("versions", sizes, np.repeat(_numbers(spans.field("version")), tokens))
    reward, advantage, trainable = (_numbers(_column(table, name)) for name in ("reward", "advantage", "trainable"))
    sampled = (arrays["mask"][:count] != 0) & trainable[:, None]
    arrays["mask"][:count] = sampled
    arrays["advantages"][:count] = np.where(sampled, advantage[:, None], 0)
    arrays["rewards"][:count] = reward
    arrays["lengths"][:count] = _lists(table, "token_ids")[0]
    arrays["temperatures"][:count] = _numbers(_column(table, "temperature").cast("float32").fill_null(1.0))


def _lists(table: Any, name: str) -> tuple[Any, Any]:
    """The lengths of the lists of a column, and their values one after another."""
    column = _column(table, name)
    return _numbers(column.value_lengths()), column.flatten()


def _column(table: Any, name: str) -> Any:
    return table.column(name).combine_chunks()


def _numbers(array: Any) -> Any:
    return array.to_numpy(zero_copy_only=False)


def parse_rows(content: bytes, media_type: str) -> TrainingRows:
    """Parses rows in either format of the API."""
    if media_type.startswith(ARROW):
        return TrainingRows(table=read_arrow(content))
    return TrainingRows(json.loads(line) for line in content.splitlines() if line.strip())
