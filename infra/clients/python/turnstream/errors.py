"""Errors, each with a code. API errors have the code of the problem document, listed in the error reference."""

from __future__ import annotations

from typing import Any

import httpx


#: End of a message about an address where turnstream may not be running.
WRONG_ADDRESS = " (`turnstream status` shows the address of the API; TURNSTREAM_URL sets it)"


class TurnstreamError(Exception):
    """Base class of the errors of this package."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


class ConnectionFailed(TurnstreamError):
    """The API could not be reached, or the connection broke. It is unknown whether the request was processed."""

    def __init__(self, detail: str) -> None:
        super().__init__("API_UNREACHABLE", detail)


class ClientClosed(TurnstreamError):
    """The client was closed before the call."""

    def __init__(self) -> None:
        super().__init__("CLIENT_CLOSED", "the client is closed")


class PackageMissing(TurnstreamError):
    """A method needs a package that is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__("PACKAGE_MISSING", f"{package} is not installed; in a clone of turnstream: pip install './infra/clients/python[{extra}]'")


class ApiError(TurnstreamError):
    """The API responded with an error."""

    def __init__(self, status: int, problem: dict[str, Any], retry_after: float | None = None) -> None:
        super().__init__(str(problem.get("code", "UNKNOWN")), str(problem.get("detail", f"the API responded with status {status}")))
        self.status = status
        #: The whole problem document.
        self.problem = problem
        #: Id of the request in the logs of the API.
        self.request_id = str(problem.get("request_id", ""))
        #: For an invalid request, the invalid fields and the reasons.
        self.errors: list[dict[str, str]] = list(problem.get("errors", []))
        #: Seconds to wait before a retry, if the API says so.
        self.retry_after = retry_after


class Fenced(ApiError):
    """Another trainer has claimed the run. This one must stop; work that it has not committed is not part of the run."""


class LineageMismatch(ApiError):
    """The weights of the trainer are not those of the newest version of the run."""

    @property
    def restore(self) -> dict[str, Any] | None:
        """The version to load before the next claim, as a Restore."""
        restore = self.problem.get("restore")
        return restore if isinstance(restore, dict) else None


class BatchCommitted(ApiError):
    """The batch has already been committed with other contents."""


class BatchReleased(ApiError):
    """The lease of the batch has ended. Its trajectories can be leased again."""


class RunFinished(ApiError):
    """The run has finished, so there is nothing left to train on."""


def passes(error: TurnstreamError) -> bool:
    """Whether the same call may succeed later."""
    return isinstance(error, ConnectionFailed) or (isinstance(error, ApiError) and error.status >= 500)


_CLASSES = {
    "FENCED": Fenced,
    "LINEAGE_MISMATCH": LineageMismatch,
    "BATCH_COMMITTED": BatchCommitted,
    "BATCH_RELEASED": BatchReleased,
    "RUN_FINISHED": RunFinished,
}


def retry_after_of(response: httpx.Response) -> float | None:
    """Seconds of the Retry-After header."""
    text = response.headers.get("retry-after", "")
    return float(text) if text.replace(".", "", 1).isdigit() else None


def error_of(response: httpx.Response) -> ApiError:
    """The error in a response whose body has been read."""
    try:
        problem = response.json()
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        problem = {"detail": f"{response.url} responded with status {response.status_code}: {response.text[:200]}{WRONG_ADDRESS}"}
    kind = _CLASSES.get(str(problem.get("code")), ApiError)
    return kind(response.status_code, problem, retry_after_of(response))
