"""A trainer of a run: claims the run, leases batches, and commits steps."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from types import TracebackType

import httpx

from .._request import Request, path_of
from ..errors import ApiError, ConnectionFailed, RunFinished, passes
from ..frames import fields_html
from ..policy import Policy
from ..training import Claim, Committed, Lease, Prepared, Restore, Rewind, claim_body
from ._waiting import sleep
from .batch import AsyncBatch
from .transport import AsyncTransport

_log = logging.getLogger("turnstream")
_WAIT_MS = 20_000
_SOON = 0.5
#: Seconds to retry a call while the API or the coordinator is unavailable. A restarted coordinator knows whether a commit was made.
_PATIENCE = 120.0


class AsyncTrainer:
    """Claims the run at the start of its `with` block. When another trainer claims the run, calls of this one raise Fenced.

    The arguments of the claim must come from the same checkpoint as the weights. LineageMismatch means that the run continues from other
    weights: load the version in its `restore`, and claim again without arguments.
    """

    def __init__(self, transport: AsyncTransport, run: str, trainer_id: str, claim: Claim) -> None:
        self.transport = transport
        self.run = run
        self.id = trainer_id
        #: Store this in every checkpoint.
        self.lineage = claim.lineage
        self.epoch = 0
        #: Newest version of the run.
        self.version = 0
        #: The version to load first; None if the trainer already has the weights.
        self.restore: Restore | None = None
        #: The result of the prepared commit in the checkpoint.
        self.committed: Committed | None = None
        #: The batch of the lease that was passed to the claim, if it is still leased to this trainer.
        self.held: AsyncBatch | None = None
        self._claim = claim
        self._lease_ms = 60_000.0
        self._open: list[AsyncBatch] = []

    async def claim(self, *, rewind: Rewind | None = None) -> None:
        """Claims the run, and sends the prepared commit of the checkpoint.

        If the newest version cannot be restored, `rewind` continues the run from an older one: that of the checkpoint, or without a
        checkpoint any version that the newest is based on. Later steps are abandoned.
        """
        known = self._claim
        body = claim_body(self.id, replace(known, lineage=self.lineage, rewind=rewind or known.rewind))
        # not retried automatically, because each claim fences earlier ones
        answer = await self.transport.json(Request("POST", path_of("runs", self.run, "trainer"), json=body, idempotent=False))
        self.epoch, self.version, self.lineage = answer["epoch"], answer["version"], answer["lineage"]
        self._lease_ms, self.restore = answer["lease_ms"], answer.get("restore")
        self._claim = replace(known, rewind=None)
        if known.prepared is not None:
            self.committed = await self.commit(known.prepared)
        elif known.held is not None:
            self.held = self._opened(known.held)
            self.held.hold()
        self._claim = Claim(known.framework)

    async def lease(self, wait_ms: int = _WAIT_MS) -> AsyncBatch | None:
        """The next batch; None if there is none within `wait_ms`."""
        self._open = [batch for batch in self._open if batch.open]
        held = [batch.id for batch in self._open]
        body = {"epoch": self.epoch, "lineage": self.lineage, "held": held, "wait_ms": wait_ms}
        response = await self.transport.send(
            # if a response was lost, its batch is missing in `held`, and the coordinator returns it again
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
        """Yields batches until version `steps` or the end of the run. A batch that is not committed, prepared, or held is released.

        Waits while the API or the coordinator is unavailable, as for a batch that is not available yet.
        Arrays are padded to a multiple of `rows` rows, so that a compiled step sees few shapes.
        """
        if steps is not None and self.version >= steps:
            _log.warning("run %s is at version %d already: there are no batches up to version %d", self.run, self.version, steps)
        while steps is None or self.version < steps:
            try:
                batch = await self.lease(wait_ms)
            except RunFinished as error:
                _log.warning("no more batches: %s; `turnstream status --run %s` says why", error.detail, self.run)
                return
            except (ApiError, ConnectionFailed) as error:
                if not passes(error):
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
        """Sends a prepared commit. Safe to repeat."""
        path = path_of("batches", f"{prepared['batch_id']}:commit")
        answer = (await self.patiently(Request("POST", path, json={"epoch": self.epoch, **prepared["commit"]}))).json()
        committed = Committed(answer["step"], answer["version"], answer["lineage"], answer["replayed"])
        self.version, self.lineage = committed.version, committed.lineage
        return committed

    async def patiently(self, request: Request) -> httpx.Response:
        """Sends an idempotent request, and repeats it while the API or the coordinator is unavailable."""
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                return await self.transport.send(request)
            except (ApiError, ConnectionFailed) as error:
                if time.monotonic() > until or not passes(error):
                    raise
            await sleep(_SOON)

    async def publish(self, version: int, policy: Policy) -> None:
        """Publishes the weights of a committed version after its commit, or at a new location."""
        body = {"version": version, "epoch": self.epoch, **policy}
        await self.transport.send(Request("POST", path_of("runs", self.run, "policies"), json=body))

    async def __aenter__(self) -> AsyncTrainer:
        if self.epoch == 0:
            await self.claim()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Releases leased batches, except prepared and held ones."""
        for batch in self._open:
            await batch.leave()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} of {self.run}: epoch {self.epoch}, version {self.version}>"

    def _repr_html_(self) -> str:
        fields = {"epoch": self.epoch, "version": self.version, "lineage": self.lineage}
        return fields_html(f"Trainer {self.id} of {self.run}", fields)
