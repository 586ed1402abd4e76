"""What a trainer and a coordinator tell each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from .policy import Policy
from .rows import ARROW, NDJSON


class Restore(TypedDict):
    """A version to load before training goes on."""

    version: int
    uri: str
    sha256: str
    format: str
    #: Where they are: at `uri`, in PolicyPublished of the log, or nowhere yet.
    weights: Literal["elsewhere", "in_log", "unpublished"]


class _RewindTo(TypedDict):
    to_version: int


class Rewind(_RewindTo, total=False):
    """A version to take the run back to, and why."""

    reason: str


class Skipped(TypedDict):
    """A row that was leased and not trained on."""

    row: int
    reason: str


class Prepared(TypedDict):
    """A commit that a trainer keeps in its checkpoint before it makes it. As JSON it is a few hundred bytes."""

    batch_id: str
    weights_sha256: str
    commit: dict[str, Any]


class GroupOfBatch(TypedDict):
    """A group of trajectories that answer the same question."""

    group_id: str
    trajectories: int


class _Data(TypedDict):
    href: str
    formats: list[str]
    shards: int


class Lease(TypedDict):
    """A batch as it was leased."""

    batch_id: str
    step: int
    version_before: int
    batch_sha256: str
    rows: int
    tokens: int
    bytes: int
    deadline: str
    groups: list[GroupOfBatch]
    data: _Data


@dataclass(frozen=True)
class Claim:
    """What a trainer claims a run with."""

    framework: str = ""
    lineage: str | None = None
    #: A commit that may have been made.
    prepared: Prepared | None = None
    #: A batch that is being trained on elsewhere, to be kept.
    held: Lease | None = None
    rewind: Rewind | None = None


def claim_body(trainer_id: str, claim: Claim) -> dict[str, Any]:
    """What a claim says."""
    body: dict[str, Any] = {"trainer_id": trainer_id, "framework": claim.framework}
    if claim.lineage is not None:
        body["lineage"] = claim.lineage
    if claim.prepared is not None:
        body["prepared"] = {"batch_id": claim.prepared["batch_id"], "weights_sha256": claim.prepared["weights_sha256"]}
    elif claim.held is not None:
        body["prepared"] = {"batch_id": claim.held["batch_id"], "weights_sha256": ""}
    if claim.rewind is not None:
        body["rewind"] = claim.rewind
    return body


@dataclass(frozen=True)
class Committed:
    """A batch is trained: the step, the version that it made, and the lineage token to keep in the checkpoint."""

    step: int
    version: int
    lineage: str
    #: It had been committed before, in the same words.
    replayed: bool


def commit_body(
    lease: Lease, policy: Policy | None, metrics: Mapping[str, float], skipped: list[Skipped], train_ms: float
) -> dict[str, Any]:
    """What a commit says. A repeated commit must say the same."""
    figures = {name: float(value) for name, value in metrics.items()}
    return {
        "batch_sha256": lease["batch_sha256"],
        "policy": policy,
        "metrics": figures,
        "skipped": skipped,
        "train_ms": round(train_ms),
    }


def wanted_types(lease: Lease, arrow: bool) -> str:
    """The media type to ask rows in."""
    return ARROW if arrow and "arrow" in lease["data"]["formats"] else NDJSON
