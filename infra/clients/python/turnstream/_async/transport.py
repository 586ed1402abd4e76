"""Sends requests, retries them where that is safe, and raises errors for error responses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from .._request import Request, pause_before_retry, query_of
from ..errors import WRONG_ADDRESS, ClientClosed, ConnectionFailed, error_of
from ._waiting import sleep

_TIMEOUT = 60.0


class AsyncTransport:
    """One connection pool to one API."""

    def __init__(self, url: str, api_key: str | None, retries: int, transport: httpx.AsyncBaseTransport | None) -> None:
        headers = {"accept": "application/json", "user-agent": "turnstream-python/0.1.0"}
        if api_key:
            headers["authorization"] = f"Bearer {api_key}"
        self._retries = retries
        self._client = httpx.AsyncClient(base_url=url, headers=headers, timeout=_TIMEOUT, transport=transport)

    async def aclose(self) -> None:
        await self._client.aclose()

    async def send(self, request: Request) -> httpx.Response:
        """Returns the response if it is not an error."""
        attempt = 0
        while True:
            failure: httpx.Response | httpx.TransportError
            if self._client.is_closed:
                raise ClientClosed
            try:
                response = await self._client.send(self._build(request))
                if response.status_code < 400:
                    return response
                failure = response
            except httpx.TransportError as error:
                failure = error
            pause = pause_before_retry(request, failure, attempt) if attempt < self._retries else None
            if pause is None:
                raise self._raised(request, failure)
            attempt += 1
            await sleep(pause)

    async def json(self, request: Request) -> Any:
        """Returns the response as parsed JSON."""
        return (await self.send(request)).json()

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[httpx.Response]:
        """A response to be read as it arrives. Not retried."""
        try:
            response = await self._client.send(self._build(request), stream=True)
            try:
                if response.status_code >= 400:
                    await response.aread()
                    raise error_of(response)
                yield response
            finally:
                await response.aclose()
        except httpx.TransportError as error:
            raise self._raised(request, error) from error

    def _build(self, request: Request) -> httpx.Request:
        return self._client.build_request(
            request.method,
            request.path,
            params=query_of(request.query) or None,
            json=request.json,
            content=request.content,
            headers=dict(request.headers),
            timeout=_TIMEOUT + request.patience,
        )

    def _raised(self, request: Request, failure: httpx.Response | httpx.TransportError) -> Exception:
        if isinstance(failure, httpx.Response):
            return error_of(failure)
        hint = WRONG_ADDRESS if isinstance(failure, httpx.ConnectError) else ""
        error = ConnectionFailed(f"{request.method} {request.path} at {self._client.base_url}: {failure or type(failure).__name__}{hint}")
        error.__cause__ = failure
        return error
