# Made from ../_async by tools/unasync.py. Do not edit.
"""A run: its lists, its trainer, and attached rewards."""

from __future__ import annotations

import json
from collections.abc import Iterator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import models
from .._request import Request, path_of
from ..frames import fields_html
from ..live import Event
from ..training import Claim, Lease, Prepared, Rewind
from .follow import follow
from .listing import Listing
from .trainer import Trainer
from .transport import Transport

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Run:
    """One run, by its id. Creating it sends no request."""

    def __init__(self, transport: Transport, run_id: str) -> None:
        self._transport = transport
        self.id = run_id

    def summary(self) -> models.Run:
        """The state of the run."""
        summary: models.Run = self._transport.json(Request("GET", self._path()))
        return summary

    def trainer(
        self,
        trainer_id: str,
        *,
        lineage: str | None = None,
        prepared: Prepared | None = None,
        held: Lease | None = None,
        rewind: Rewind | None = None,
        framework: str = "",
    ) -> Trainer:
        """A trainer of this run, for a `with` block. Pass `lineage` and `prepared` from the checkpoint, if there is one.

        `held` is a lease to keep across a restart of this process, because another process is still training on the batch. `rewind`
        continues the run from an older version: see Trainer.claim.
        """
        return Trainer(self._transport, self.id, trainer_id, Claim(framework, lineage, prepared, held, rewind))

    def reward(
        self,
        trajectory_id: str,
        value: float,
        *,
        name: str = "reward",
        attempt: int = 0,
        turn: int = -1,
        identifier: str = "",
        source: str = "client",
    ) -> None:
        """Attaches a reward to a trajectory or to one of its turns. Repeats with the same target, name, and identifier count once."""
        event_id = "/".join((trajectory_id, str(attempt), str(turn), name, identifier))
        fields = {"trajectory_id": trajectory_id, "attempt": attempt, "turn": turn, "name": name, "value": value}
        self.record([{"type": "RewardAttached", "event_id": event_id, **fields, "identifier": identifier, "source": source}])

    def record(self, events: Iterable[Mapping[str, Any]]) -> models.RecordedEvents:
        """Writes events to the log; currently only RewardAttached. Repeated events change nothing."""
        lines = "".join(json.dumps(event) + "\n" for event in events)
        headers = {"content-type": "application/x-ndjson"}
        request = Request("POST", self._path("events"), content=lines.encode(), headers=headers)
        recorded: models.RecordedEvents = self._transport.json(request)
        return recorded

    def live(self, types: Sequence[str] = (), after: str | None = None) -> Iterator[Event]:
        """Events of this run as they are written, or from the event after the id `after`."""
        return follow(self._transport, self.id, types, after)

    def steps(self, **query: Unpack[models.ListStepsQuery]) -> Listing[models.Step]:
        return Listing(self._transport, self._path("steps"), query)

    def trajectories(self, **query: Unpack[models.ListTrajectoriesQuery]) -> Listing[models.Trajectory]:
        return Listing(self._transport, self._path("trajectories"), query)

    def turns(self, trajectory_id: str, **query: Unpack[models.ListTurnsQuery]) -> Listing[models.Turn]:
        return Listing(self._transport, path_of("trajectories", trajectory_id, "turns"), {"run": self.id, **query})

    def rewards(self, trajectory_id: str, **query: Unpack[models.ListRewardsQuery]) -> Listing[models.AttachedReward]:
        """The rewards attached to a trajectory, and whether each was counted."""
        return Listing(self._transport, path_of("trajectories", trajectory_id, "rewards"), {"run": self.id, **query})

    def tool_calls(self, **query: Unpack[models.ListToolCallsQuery]) -> Listing[models.ToolCall]:
        return Listing(self._transport, self._path("tool-calls"), query)

    def policies(self, **query: Unpack[models.ListPoliciesQuery]) -> Listing[models.Policy]:
        return Listing(self._transport, self._path("policies"), query)

    def staleness(self, **query: Unpack[models.ListStalenessQuery]) -> Listing[models.StepStaleness]:
        return Listing(self._transport, self._path("staleness"), query)

    def discarded(self, **query: Unpack[models.ListDiscardedQuery]) -> Listing[models.Discard]:
        return Listing(self._transport, self._path("discarded"), query)

    def lineage(self, **query: Unpack[models.ListLineageQuery]) -> Listing[models.LineageTurn]:
        return Listing(self._transport, self._path("lineage"), query)

    def heldout(self, **query: Unpack[models.ListHeldoutScoresQuery]) -> Listing[models.HeldoutScore]:
        return Listing(self._transport, self._path("heldout"), query)

    def _path(self, *parts: str) -> str:
        return path_of("runs", self.id, *parts)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"

    def _repr_html_(self) -> str:
        return fields_html(f"Run {self.id}", {"read it with": "summary(), steps(), trajectories(), staleness(), live()"})
