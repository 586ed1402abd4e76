"""Converts rows to tables of other packages, and displays them in notebooks."""

from __future__ import annotations

import html
import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import PackageMissing

if TYPE_CHECKING:
    import datasets
    import pandas
    import pyarrow

T = TypeVar("T", bound=Mapping[str, Any])
_SHOWN_ROWS, _SHOWN_CHARACTERS = 20, 80


def need(package: str, extra: str) -> Any:
    """Imports an optional package. The error names the extra that installs it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise PackageMissing(package, extra) from error


def read_arrow(stream: bytes) -> pyarrow.Table:
    """The table in an Arrow IPC stream."""
    ipc = need("pyarrow.ipc", "arrow")
    with ipc.open_stream(stream) as reader:
        return reader.read_all()


def frame_of(table: pyarrow.Table) -> pandas.DataFrame:
    need("pandas", "pandas")
    return table.to_pandas()


def dataset_of(table: pyarrow.Table) -> datasets.Dataset:
    return need("datasets", "datasets").Dataset(table)


class Rows(list[T]):
    """A list of dictionaries that a notebook displays as a table."""

    def to_arrow(self) -> pyarrow.Table:
        return need("pyarrow", "arrow").Table.from_pylist(list(self))

    def to_pandas(self) -> pandas.DataFrame:
        return need("pandas", "pandas").DataFrame(list(self))

    def to_dataset(self) -> datasets.Dataset:
        return dataset_of(self.to_arrow())

    def _repr_html_(self) -> str:
        return table_html(self)


def table_html(rows: Sequence[Mapping[str, Any]]) -> str:
    """The first rows as an HTML table."""
    columns = list(dict.fromkeys(name for row in rows[:_SHOWN_ROWS] for name in row))
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(_cell(row.get(name)) for name in columns)}</tr>" for row in rows[:_SHOWN_ROWS])
    more = f"<p>{len(rows)} rows</p>" if len(rows) > _SHOWN_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def fields_html(title: str, fields: Mapping[str, Any]) -> str:
    """Names and values of an object as an HTML table."""
    rows = "".join(f"<tr><th>{html.escape(name)}</th>{_cell(value)}</tr>" for name, value in fields.items())
    return f"<p><b>{html.escape(title)}</b></p><table><tbody>{rows}</tbody></table>"


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    cut = text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
    return f"<td>{html.escape(cut)}</td>"
