"""An in-memory fake of the API and the coordinator, as an httpx transport, with the guarantees that the tests rely on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import httpx

Answer = httpx.Response | Exception
Handler = Callable[[httpx.Request], httpx.Response]


def problem(status: int, code: str, **more: Any) -> httpx.Response:
    document = {"code": code, "detail": f"it is {code}", "status": status, "request_id": "r-1", **more}
    return httpx.Response(status, json=document, headers={"content-type": "application/problem+json"})


def row(number: int, tokens: int = 6) -> dict[str, Any]:
    return {
        **{"row": number, "trajectory_id": f"t-{number}", "attempt": 0, "group_id": "g", "branch": 0},
        **{"token_ids": list(range(10, 10 + tokens)), "mask": [0, 0] + [1] * (tokens - 2)},
        **{"logprobs": [0.0, 0.0] + [-0.5] * (tokens - 2), "turns": [0], "turn_starts": [2], "prompt_len": 2},
        "version_spans": [{"version": -1, "tokens": 2}, {"version": 3, "tokens": 1}, {"version": 4, "tokens": tokens - 3}],
        **{"reward": 1.0, "advantage": 0.25, "temperature": 1.0, "logprobs_kind": "raw", "trainable": True, "why_not": ""},
    }


class FakeApi:
    """One run with an unlimited number of batches. `before` gets every request first, and may respond or raise instead."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.before: list[Callable[[httpx.Request], httpx.Response | None]] = []
        #: A request whose response is lost: it is processed, and then the connection breaks.
        self.lose: Callable[[httpx.Request], bool] = lambda request: False
        self.epoch = 0
        self.lineages = ["lineage-0"]
        #: Number of batches that may be leased ahead of the first one.
        self.prefetch = 0
        self.leases: list[dict[str, Any]] = []
        self.commits: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        self.extended = 0
        self.released: list[str] = []
        self.tries = 0
        self.finished = False
        #: The weights of version 0 are not published, as without TURNSTREAM_INITIAL_POLICY_URI.
        self.unpublished = False
        #: Fields of `restore` in claim responses that differ from the defaults.
        self.weights: dict[str, Any] = {}
        self.content = "".join(json.dumps(row(i)) + "\n" for i in range(3)).encode()

    @property
    def out(self) -> dict[str, Any] | None:
        return self.leases[0] if self.leases else None

    @out.setter
    def out(self, lease: dict[str, Any] | None) -> None:
        self.leases = [] if lease is None else [lease]

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        for hook in self.before:
            answer = hook(request)
            if answer is not None:
                return answer
        answer = self._route(request)
        if self.lose(request):
            raise httpx.ReadError("the connection broke", request=request)
        return answer

    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self.handle)

    def paths(self, method: str = "POST") -> list[str]:
        return [unquote(request.url.path) for request in self.requests if request.method == method]

    def _route(self, request: httpx.Request) -> httpx.Response:
        path = unquote(request.url.path)
        if path == "/v1/runs/demo/trainer":
            return self._claim(json.loads(request.content))
        if self.finished and not path.endswith(":commit"):
            return problem(409, "RUN_FINISHED")
        if path == "/v1/runs/demo/policies":
            return httpx.Response(200, json={"version": 0, "sha256": "00", "replayed": False})
        if path.startswith("/v1/batches/") and path.endswith("/rows"):
            part, of = map(int, request.url.params.get("shard", "0/1").split("/"))
            lines = self.content.splitlines(keepends=True)
            content = b"".join(lines[part * len(lines) // of : (part + 1) * len(lines) // of])
            return httpx.Response(200, content=content, headers={"content-type": "application/x-ndjson"})
        verb = path.rpartition(":")[2]
        if verb in ("lease", "extend", "commit", "release"):
            body = json.loads(request.content)
            if body["epoch"] != self.epoch:
                return problem(409, "FENCED")
            return getattr(self, f"_{verb}")(path.removeprefix("/v1/batches/").removesuffix(f":{verb}"), body)
        return problem(404, "NOT_FOUND")

    def _claim(self, body: dict[str, Any]) -> httpx.Response:
        prepared = body.get("prepared")
        mine = prepared is not None and (prepared["batch_id"] in self.commits or (self.out or {}).get("batch_id") == prepared["batch_id"])
        restore = {"version": len(self.lineages) - 1, "uri": "file:///w", "sha256": "00", "format": "gguf", "weights": "elsewhere"}
        restore |= self.weights
        bare = self.unpublished and restore["version"] == 0
        if bare:
            restore |= {"uri": "", "sha256": "", "format": "", "weights": "unpublished"}
        if "rewind" in body:
            self.lineages.append(f"lineage-{len(self.lineages)}")
            body["lineage"] = self.lineages[-1]
        if not mine and (prepared is not None or body.get("lineage", self.lineages[-1]) != self.lineages[-1]):
            return problem(409, "LINEAGE_MISMATCH", restore=restore)
        if not mine:
            self.out = None
        self.epoch += 1
        known = prepared is not None or "lineage" in body
        answer = {"epoch": self.epoch, "version": len(self.lineages) - 1, "lineage": self.lineages[-1], "lease_ms": 90}
        return httpx.Response(200, json=answer if known or bare else {**answer, "restore": restore})

    def _lease(self, path: str, body: dict[str, Any]) -> httpx.Response:
        if body["lineage"] != self.lineages[-1]:
            return problem(409, "LINEAGE_MISMATCH")
        lost = next((lease for lease in self.leases if lease["batch_id"] not in body["held"]), None)
        if lost is not None:
            return httpx.Response(200, json=lost)
        if len(self.leases) > self.prefetch:
            return httpx.Response(204)
        step = len(self.lineages) + len(self.leases)
        name = f"demo/step/{step}.{self.tries}"
        lease = {
            **{"batch_id": name, "step": step, "version_before": step - 1, "batch_sha256": hashlib.sha256(self.content).hexdigest()},
            **{"rows": 3, "tokens": 18, "bytes": len(self.content), "deadline": "2026-01-01T00:00:00Z"},
            "groups": [{"group_id": "g", "trajectories": 3}],
            "data": {"href": f"/v1/batches/{name.replace('/', '%2F')}/rows", "formats": ["ndjson"], "shards": 1},
        }
        self.leases.append(lease)
        return httpx.Response(200, json=lease)

    def _extend(self, batch: str, body: dict[str, Any]) -> httpx.Response:
        if batch not in [lease["batch_id"] for lease in self.leases]:
            return problem(409, "BATCH_RELEASED")
        self.extended += 1
        return httpx.Response(200, json={"deadline": "2026-01-01T00:01:00Z"})

    def _commit(self, batch: str, body: dict[str, Any]) -> httpx.Response:
        said = {name: value for name, value in body.items() if name != "epoch"}
        if batch in self.commits:
            before, answer = self.commits[batch]
            return httpx.Response(200, json={**answer, "replayed": True}) if before == said else problem(409, "BATCH_COMMITTED")
        if self.out is None or self.out["batch_id"] != batch:
            return problem(409, "BATCH_RELEASED")
        self.lineages.append(f"lineage-{len(self.lineages)}")
        answer = {"step": self.out["step"], "version": self.out["step"], "lineage": self.lineages[-1], "replayed": False}
        self.commits[batch] = (said, answer)
        self.leases.pop(0)
        return httpx.Response(200, json=answer)

    def _release(self, batch: str, body: dict[str, Any]) -> httpx.Response:
        self.released.append(batch)
        self.out = None
        self.tries += 1
        return httpx.Response(200, json={"released": [batch]})
