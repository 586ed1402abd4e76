"""Requests, and when they may be retried."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx

from .errors import retry_after_of

#: Errors before anything was sent: a retry is always safe.
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_PASSING = frozenset({408, 502, 503, 504})
_LONGEST_PAUSE = 10.0


@dataclass(frozen=True)
class Request:
    """One call of the API."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    json: Any = None
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Sending it twice has the same effect as sending it once.
    idempotent: bool = True
    #: Seconds to add to the usual timeout.
    patience: float = 0.0


def path_of(*parts: str) -> str:
    """A path below /v1 with escaped parts. Ids may contain slashes; the colon before a verb is kept."""
    return "/v1/" + "/".join(quote(part, safe=":") for part in parts)


def query_of(given: Mapping[str, Any]) -> dict[str, str]:
    """Query parameters as strings. None is left out, and lists are separated by commas."""
    return {name: _text(value) for name, value in given.items() if value is not None}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(_text(item) for item in value)
    return str(value)


def pause_before_retry(request: Request, failure: httpx.Response | httpx.TransportError, attempt: int) -> float | None:
    """Seconds until the next attempt; None if the request must not be retried."""
    growing = min(_LONGEST_PAUSE, 0.25 * float(2**attempt)) * random.uniform(0.5, 1.0)
    if isinstance(failure, httpx.Response):
        refused = failure.status_code == 429
        if not refused and not (request.idempotent and failure.status_code in _PASSING):
            return None
        return max(retry_after_of(failure) or 0.0, growing)
    return growing if request.idempotent or isinstance(failure, _NOT_SENT) else None
