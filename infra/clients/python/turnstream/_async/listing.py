"""Lists and SQL queries. Requests are sent when the results are read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Generic

from .._request import Request
from ..frames import Rows, T, dataset_of, fields_html, frame_of, read_arrow
from .transport import AsyncTransport

if TYPE_CHECKING:
    import datasets
    import pandas
    import pyarrow

_PAGE = 1000


class AsyncListing(Generic[T]):
    """A list that is requested page by page during iteration."""

    def __init__(self, transport: AsyncTransport, path: str, query: Mapping[str, Any]) -> None:
        self._transport = transport
        self._path = path
        self._query = {"limit": _PAGE, **query}

    async def __aiter__(self) -> AsyncIterator[T]:
        cursor = None
        while True:
            page = await self._transport.json(Request("GET", self._path, {**self._query, "cursor": cursor}))
            for item in page["items"]:
                yield item
            cursor = page["next_cursor"]
            if cursor is None:
                return

    async def rows(self) -> Rows[T]:
        """All rows."""
        return Rows([row async for row in self])

    async def head(self, count: int = 20) -> Rows[T]:
        """The first rows."""
        page = await self._transport.json(Request("GET", self._path, {**self._query, "limit": count}))
        return Rows(page["items"])

    async def to_arrow(self) -> pyarrow.Table:
        return (await self.rows()).to_arrow()

    async def to_pandas(self) -> pandas.DataFrame:
        return (await self.rows()).to_pandas()

    async def to_dataset(self) -> datasets.Dataset:
        return (await self.rows()).to_dataset()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._path}; head() reads its first rows>"

    def _repr_html_(self) -> str:
        shown = {name: value for name, value in self._query.items() if name != "limit"}
        return fields_html(f"List {self._path}", {**shown, "read it with": "head(), rows(), to_pandas()"})


class AsyncQuery:
    """A SELECT statement, which runs each time that its result is read."""

    def __init__(self, transport: AsyncTransport, query: str, params: Mapping[str, Any]) -> None:
        self._transport = transport
        self._body = {"query": query, "params": dict(params)}

    async def rows(self) -> Rows[dict[str, Any]]:
        """The result as dictionaries."""
        answer = await self._transport.json(self._request("JSON"))
        return Rows(answer["data"])

    async def to_arrow(self) -> pyarrow.Table:
        return read_arrow((await self._transport.send(self._request("ArrowStream"))).content)

    async def to_pandas(self) -> pandas.DataFrame:
        return frame_of(await self.to_arrow())

    async def to_dataset(self) -> datasets.Dataset:
        return dataset_of(await self.to_arrow())

    def _request(self, format: str) -> Request:
        return Request("POST", "/v1/sql", json={**self._body, "format": format}, headers={"accept": "*/*"})

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._body['query']!r}; rows() runs it>"

    def _repr_html_(self) -> str:
        return fields_html("SQL", {"query": self._body["query"], "run it with": "rows(), to_pandas(), to_arrow()"})
