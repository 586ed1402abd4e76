"""Messages between a trainer and the coordinator of its run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from .policy import Policy
from .rows import ARROW, NDJSON


class Restore(TypedDict):
    """A version to load before training continues."""

    version: int
    uri: str
    sha256: str
    format: str
    #: `elsewhere`: at `uri`; `in_log`: in the PolicyPublished event; `unpublished`: nowhere yet.
    weights: Literal["elsewhere", "in_log", "unpublished"]


class _RewindTo(TypedDict):
    to_version: int


class Rewind(_RewindTo, total=False):
    """An older version to continue the run from, and why."""

    reason: str


class Skipped(TypedDict):
    """A leased row that was not trained on."""

    row: int
    reason: str


class Prepared(TypedDict):
    """A commit that a trainer stores in its checkpoint before sending it: a few hundred bytes of JSON."""

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
    """The lease of a batch."""

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
    """The arguments of a claim."""

    framework: str = ""
    lineage: str | None = None
    #: A commit that may or may not have been sent.
    prepared: Prepared | None = None
    #: A lease to keep, because another process is still training on the batch.
    held: Lease | None = None
    rewind: Rewind | None = None


def claim_body(trainer_id: str, claim: Claim) -> dict[str, Any]:
    """The body of a claim request."""
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
    """The result of a commit: the step, the version that it made, and the lineage token to store in the checkpoint."""

    step: int
    version: int
    lineage: str
    #: The same commit had already been made.
    replayed: bool


def commit_body(
    lease: Lease, policy: Policy | None, metrics: Mapping[str, float], skipped: list[Skipped], train_ms: float
) -> dict[str, Any]:
    """The body of a commit request. A repeated commit must have the same body. Metrics that JSON has no number for are left out."""
    figures = {name: float(value) for name, value in metrics.items() if math.isfinite(value)}
    return {
        "batch_sha256": lease["batch_sha256"],
        "policy": policy,
        "metrics": figures,
        "skipped": skipped,
        "train_ms": round(train_ms),
    }


def wanted_types(lease: Lease, arrow: bool) -> str:
    """The media type to request rows in."""
    return ARROW if arrow and "arrow" in lease["data"]["formats"] else NDJSON
