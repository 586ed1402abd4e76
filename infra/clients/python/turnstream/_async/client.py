"""The client."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import httpx

from .. import models
from .._request import Request
from ..live import Event
from ..policy import Policy, weights
from .follow import follow
from .listing import AsyncListing, AsyncQuery
from .run import AsyncRun
from .transport import AsyncTransport

if TYPE_CHECKING:
    from typing_extensions import Unpack

_URL = "http://127.0.0.1:8787"


class AsyncTurnstream:
    """A connection to turnstream. URL and key default to `TURNSTREAM_URL` and `TURNSTREAM_API_KEY`.

    Idempotent calls are retried up to `retries` times if the API is unavailable or limits the rate.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        retries: int = 5,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        key = api_key if api_key is not None else os.environ.get("TURNSTREAM_API_KEY")
        self.url = url or os.environ.get("TURNSTREAM_URL", _URL)
        self._transport = AsyncTransport(self.url, key, retries, transport)

    def run(self, run_id: str) -> AsyncRun:
        return AsyncRun(self._transport, run_id)

    def runs(self, **query: Unpack[models.ListRunsQuery]) -> AsyncListing[models.Run]:
        return AsyncListing(self._transport, "/v1/runs", query)

    def questions(self, **query: Unpack[models.ListQuestionsQuery]) -> AsyncListing[models.Question]:
        return AsyncListing(self._transport, "/v1/questions", query)

    def evaluations(self, **query: Unpack[models.ListEvaluationsQuery]) -> AsyncListing[models.Evaluation]:
        return AsyncListing(self._transport, "/v1/evaluations", query)

    def sql(self, query: str, **params: Any) -> AsyncQuery:
        """A SELECT statement, with `{name:Type}` for each parameter in `params`."""
        return AsyncQuery(self._transport, query, params)

    def live(self, types: Sequence[str] = (), after: str | None = None) -> AsyncIterator[Event]:
        """Events of all runs as they are written, or from the event after the id `after`."""
        return follow(self._transport, None, types, after)

    def weights(self, uri: str, *, sha256: str | None = None, format: str | None = None) -> Policy:
        """Describes weights for a commit."""
        return weights(uri, sha256=sha256, format=format)

    async def get(self, path: str, **query: Any) -> Any:
        """The JSON response of any GET route."""
        return await self._transport.json(Request("GET", path, query))

    async def aclose(self) -> None:
        await self._transport.aclose()

    async def __aenter__(self) -> AsyncTurnstream:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.url}>"
