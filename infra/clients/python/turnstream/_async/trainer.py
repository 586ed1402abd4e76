"""A trainer of a run: it claims the run, leases batches, and commits what it made of them."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import replace
from types import TracebackType

from .._request import Request, path_of
from ..errors import ApiError, ConnectionFailed, RunFinished
from ..frames import fields_html
from ..policy import Policy
from ..training import Claim, Committed, Lease, Prepared, Restore, Rewind, claim_body
from ._waiting import sleep
from .batch import AsyncBatch
from .transport import AsyncTransport

_WAIT_MS = 20_000
_SOON = 0.5
#: Seconds that a commit is repeated for while nobody answers: a coordinator that starts again knows what became of it.
_COMMIT_PATIENCE = 120.0


class AsyncTrainer:
    """Claims the run when its block begins, unless it has. The next trainer that claims it fences this one: its calls then raise Fenced.

    What it claims with comes from the checkpoint that the weights come from. LineageMismatch says that the run goes on from other
    weights: load those that its `restore` names and claim again with nothing.
    """

    def __init__(self, transport: AsyncTransport, run: str, trainer_id: str, claim: Claim) -> None:
        self.transport = transport
        self.run = run
        self.id = trainer_id
        #: To be kept in every checkpoint.
        self.lineage = claim.lineage
        self.epoch = 0
        #: Newest version of the run.
        self.version = 0
        #: What to load first; None for a trainer whose weights are those of the run.
        self.restore: Restore | None = None
        #: The prepared commit of the checkpoint, as it ended.
        self.committed: Committed | None = None
        #: The batch of the lease that it claimed with, which is still its own.
        self.held: AsyncBatch | None = None
        self._claim = claim
        self._lease_ms = 60_000.0
        self._open: list[AsyncBatch] = []

    async def claim(self, *, rewind: Rewind | None = None) -> None:
        """Claims the run, and commits what the checkpoint says was prepared.

        `rewind` says that the newest version cannot be restored and the run is to go on from an older one: that of the checkpoint, or
        without a checkpoint any that the newest comes from. What was trained on since is discarded.
        """
        known = self._claim
        body = claim_body(self.id, replace(known, lineage=self.lineage, rewind=rewind or known.rewind))
        # a claim fences those before it, so it is not repeated by itself
        answer = await self.transport.json(Request("POST", path_of("runs", self.run, "trainer"), json=body, idempotent=False))
        self.epoch, self.version, self.lineage = answer["epoch"], answer["version"], answer["lineage"]
        self._lease_ms, self.restore = answer["lease_ms"], answer.get("restore")
        self._claim = replace(known, rewind=None)
        if known.prepared is not None:
            self.committed = await self.commit(known.prepared)
        elif known.held is not None:
            self.held = self._opened(known.held)
        self._claim = Claim(known.framework)

    async def lease(self, wait_ms: int = _WAIT_MS) -> AsyncBatch | None:
        """The next batch; None if there is none within `wait_ms`."""
        self._open = [batch for batch in self._open if batch.open]
        held = [batch.id for batch in self._open]
        body = {"epoch": self.epoch, "lineage": self.lineage, "held": held, "wait_ms": wait_ms}
        response = await self.transport.send(
            # a batch whose answer was lost is not among those that are held: the coordinator answers it again
            Request("POST", path_of("runs", self.run, "batches:lease"), json=body, patience=wait_ms / 1000)
        )
        if response.status_code == 204:
            return None
        return self._opened(response.json())

    def _opened(self, lease: Lease) -> AsyncBatch:
        batch = AsyncBatch(self, lease)
        batch.keep(self._lease_ms)
        self._open.append(batch)
        return batch

    async def batches(self, steps: int | None = None, wait_ms: int = _WAIT_MS, rows: int = 1) -> AsyncIterator[AsyncBatch]:
        """Batches, one after the other, until version `steps` or the end of the run. One that is neither committed nor prepared is released.

        `rows`: arrays are padded to a multiple of so many rows, so that a compiled step sees few shapes.
        """
        while steps is None or self.version < steps:
            try:
                batch = await self.lease(wait_ms)
            except RunFinished:
                return
            except ApiError as error:
                # a coordinator that starts again is waited for as a batch is
                if error.code != "COORDINATOR_UNAVAILABLE":
                    raise
                batch = None
            if batch is None:
                await sleep(_SOON)
                continue
            batch.row_multiple = rows
            try:
                yield batch
            finally:
                await batch.leave()

    async def commit(self, prepared: Prepared) -> Committed:
        """Commits a batch by what was prepared. Repeated, it answers the same."""
        path = path_of("batches", f"{prepared['batch_id']}:commit")
        request = Request("POST", path, json={"epoch": self.epoch, **prepared["commit"]})
        until = time.monotonic() + _COMMIT_PATIENCE
        while True:
            try:
                answer = await self.transport.json(request)
                break
            except (ApiError, ConnectionFailed) as error:
                if time.monotonic() > until or (isinstance(error, ApiError) and error.status < 500):
                    raise
                await sleep(_SOON)
        committed = Committed(answer["step"], answer["version"], answer["lineage"], answer["replayed"])
        self.version, self.lineage = committed.version, committed.lineage
        return committed

    async def publish(self, version: int, policy: Policy) -> None:
        """Says where the weights of a committed version are, later or elsewhere."""
        body = {"version": version, "epoch": self.epoch, **policy}
        await self.transport.send(Request("POST", path_of("runs", self.run, "policies"), json=body))

    async def __aenter__(self) -> AsyncTrainer:
        if self.epoch == 0:
            await self.claim()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Gives back what it holds and has not prepared."""
        for batch in self._open:
            await batch.leave()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} of {self.run}: epoch {self.epoch}, version {self.version}>"

    def _repr_html_(self) -> str:
        fields = {"epoch": self.epoch, "version": self.version, "lineage": self.lineage}
        return fields_html(f"Trainer {self.id} of {self.run}", fields)
