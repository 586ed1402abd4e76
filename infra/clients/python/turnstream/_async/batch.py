"""A leased batch: its rows, commit, and release."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .._request import Request, path_of
from ..errors import TurnstreamError, passes
from ..frames import fields_html
from ..policy import Policy
from ..rows import TrainingRows, parse_rows
from ..training import Committed, GroupOfBatch, Lease, Prepared, Skipped, commit_body, wanted_types
from ._waiting import AsyncRepeated

if TYPE_CHECKING:
    import httpx
    import pyarrow

    from ..rows import Arrays
    from .trainer import AsyncTrainer

_HAS_ARROW = importlib.util.find_spec("pyarrow") is not None
#: Number of extensions within the duration of a lease, so that two may fail.
_EXTENSIONS = 3


class AsyncBatch:
    """Trajectories leased to this trainer. The lease is extended in the background until the batch is committed or released."""

    def __init__(self, trainer: AsyncTrainer, lease: Lease) -> None:
        self._trainer = trainer
        self._begun = time.monotonic()
        self._rows: dict[str | None, TrainingRows] = {}
        self._repeated: AsyncRepeated | None = None
        self._held = False
        self.lease = lease
        self.open = True
        #: `to_numpy` pads the number of rows to a multiple of this.
        self.row_multiple = 1
        #: Why the batch can no longer be committed; None as long as it can.
        self.lost: TurnstreamError | None = None

    @property
    def id(self) -> str:
        return self.lease["batch_id"]

    @property
    def name(self) -> str:
        """`<step>.<try>`. Unlike the step, it is unique among the leases of the run: use it in the names of files."""
        return self.id.rpartition("/")[2]

    @property
    def step(self) -> int:
        """The step that this batch will make."""
        return self.lease["step"]

    @property
    def version_before(self) -> int:
        return self.lease["version_before"]

    @property
    def sha256(self) -> str:
        """Hash of the rows."""
        return self.lease["batch_sha256"]

    @property
    def groups(self) -> list[GroupOfBatch]:
        return self.lease["groups"]

    @property
    def deadline(self) -> str:
        return self.lease["deadline"]

    async def rows(self, shard: str | None = None) -> TrainingRows:
        """All rows, or those of one shard: `0/4` is the first of four. They are requested once."""
        if shard not in self._rows:
            wanted = wanted_types(self.lease, _HAS_ARROW)
            request = Request("GET", self.lease["data"]["href"], {"shard": shard}, headers={"accept": wanted}, patience=600)
            response = await self._trainer.patiently(request)
            self._rows[shard] = parse_rows(response.content, response.headers.get("content-type", wanted))
        return self._rows[shard]

    async def to_numpy(self, pad_to: int = 1, rows: int | None = None) -> Arrays:
        """The rows as padded arrays: see TrainingRows.to_numpy. The default of `rows` is that passed to `batches`."""
        return (await self.rows()).to_numpy(pad_to, rows or self.row_multiple)

    async def to_arrow(self) -> pyarrow.Table:
        return (await self.rows()).to_arrow()

    async def extend(self) -> str:
        """Extends the lease and returns the new deadline. This happens automatically while the batch is open.

        Call it before weights are written: it raises Fenced if another trainer has claimed the run.
        """
        return self._extended(await self._trainer.patiently(self._request("extend", {})))

    def prepare(
        self, policy: Policy | None, metrics: Mapping[str, float] | None = None, skipped: list[Skipped] | None = None
    ) -> Prepared:
        """Prepares the commit of this batch, to be stored in a checkpoint with the new weights before it is sent.

        After a crash in between, pass it to the next claim, which commits the batch if it is still leased to this trainer.
        """
        self._held = True
        train_ms = (time.monotonic() - self._begun) * 1000
        body = commit_body(self.lease, policy, metrics or {}, skipped or [], train_ms)
        return {"batch_id": self.id, "weights_sha256": policy["sha256"] if policy else "", "commit": body}

    async def commit(
        self,
        policy: Policy | None = None,
        metrics: Mapping[str, float] | None = None,
        skipped: list[Skipped] | None = None,
        prepared: Prepared | None = None,
    ) -> Committed:
        """Commits the batch as a new version of the run. Safe to repeat. `prepared` replaces the other arguments."""
        await self._stop()
        said = prepared or self.prepare(policy, metrics, skipped)
        committed = await self._trainer.commit(said)
        self.open = False
        return committed

    def hold(self) -> None:
        """Keeps the batch leased when its block or that of the trainer ends, because another process may still be training on it."""
        self._held = True

    async def release(self, reason: str = "returned") -> None:
        """Returns the trajectories, which can then be leased again."""
        await self._stop()
        if self.open:
            self.open = False
            await self._trainer.transport.send(self._request("release", {"reason": reason}))

    def keep(self, lease_ms: float) -> None:
        """Starts extending the lease in the background."""
        self._repeated = AsyncRepeated(self._extend_once, lease_ms / 1000 / _EXTENSIONS)

    async def _extend_once(self) -> bool:
        try:
            self._extended(await self._trainer.transport.send(self._request("extend", {})))
        except TurnstreamError as error:
            if not passes(error):
                self.lost = error
            return passes(error)
        return True

    def _extended(self, response: httpx.Response) -> str:
        self.lease["deadline"] = response.json()["deadline"]
        return self.deadline

    async def _stop(self) -> None:
        if self._repeated is not None:
            await self._repeated.stop()
            self._repeated = None

    def _request(self, verb: str, body: dict[str, Any]) -> Request:
        return Request("POST", path_of("batches", f"{self.id}:{verb}"), json={"epoch": self._trainer.epoch, **body})

    async def __aenter__(self) -> AsyncBatch:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.leave()

    async def leave(self) -> None:
        """Ends the extensions, and releases the batch unless it is committed, prepared, or held. A failed release sets `lost`.

        A prepared or held batch stays leased until the next claim, which may keep it, or until its deadline.
        """
        await self._stop()
        self.open = self.open and not self._held
        try:
            await self.release()
        except TurnstreamError as error:
            self.lost = error

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}: {self.lease['rows']} rows, {self.lease['tokens']} tokens>"

    def _repr_html_(self) -> str:
        shown = ("step", "version_before", "rows", "tokens", "deadline", "batch_sha256")
        return fields_html(f"Batch {self.id}", {name: self.lease[name] for name in shown})  # type: ignore[literal-required]
