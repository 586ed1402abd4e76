"""Errors, each with a code. Those of the API have the code of the problem document: see the table of error codes in the documentation."""

from __future__ import annotations

from typing import Any

import httpx


class TurnstreamError(Exception):
    """Anything that this package raises."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


class ConnectionFailed(TurnstreamError):
    """The API could not be reached, or the connection broke. Whether the request was carried out is not known."""

    def __init__(self, detail: str) -> None:
        super().__init__("API_UNREACHABLE", detail)


class ClientClosed(TurnstreamError):
    """The client was closed before the call."""

    def __init__(self) -> None:
        super().__init__("CLIENT_CLOSED", "the client is closed")


class PackageMissing(TurnstreamError):
    """A method needs a package that is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__("PACKAGE_MISSING", f"{package} is not installed; pip install 'turnstream[{extra}]'")


class ApiError(TurnstreamError):
    """The API refused or failed."""

    def __init__(self, status: int, problem: dict[str, Any], retry_after: float | None = None) -> None:
        super().__init__(str(problem.get("code", "UNKNOWN")), str(problem.get("detail", f"the API answered {status}")))
        self.status = status
        #: The whole problem document.
        self.problem = problem
        #: The log of the API has the request under this id.
        self.request_id = str(problem.get("request_id", ""))
        #: What is wrong where in an invalid request.
        self.errors: list[dict[str, str]] = list(problem.get("errors", []))
        #: Seconds to wait, if the API asks for it.
        self.retry_after = retry_after


class Fenced(ApiError):
    """Another trainer has claimed the run. This one cannot train any more; what it has not committed is not part of the run."""


class LineageMismatch(ApiError):
    """The weights of the trainer are not those that the run goes on from."""

    @property
    def restore(self) -> dict[str, Any] | None:
        """The version to load before the next claim: a Restore."""
        restore = self.problem.get("restore")
        return restore if isinstance(restore, dict) else None


class BatchCommitted(ApiError):
    """The batch was committed before, with other contents."""


class BatchReleased(ApiError):
    """The lease of the batch has ended: its trajectories are ready for another batch."""


class RunFinished(ApiError):
    """The run has ended: there is nothing more to train on."""


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
    """The error in an answer that has been read."""
    try:
        problem = response.json()
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        problem = {"detail": f"the API answered {response.status_code}: {response.text[:200]}"}
    kind = _CLASSES.get(str(problem.get("code")), ApiError)
    return kind(response.status_code, problem, retry_after_of(response))
