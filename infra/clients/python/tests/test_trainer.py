"""The trainer's loop, and the failures that a client must handle."""

from __future__ import annotations

import asyncio
import json
import random
import threading
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import httpx
import pytest
from fake_api import FakeApi, problem

from turnstream import AsyncTurnstream, BatchCommitted, BatchReleased, ConnectionFailed, Fenced, LineageMismatch, Turnstream


def test_trains_batches_along_the_lineage(ts: Turnstream, api: FakeApi, tmp_path: Path) -> None:
    file = tmp_path / "v.safetensors"
    file.write_bytes(b"weights")
    seen = []
    with ts.run("demo").trainer("jax-1", framework="jax") as trainer:
        assert trainer.restore is not None
        for batch in trainer.batches(steps=3):
            seen.append((batch.id, batch.to_numpy()["token_ids"].shape))
            done = batch.commit(policy=ts.weights(file.as_uri()), metrics={"loss": 0.5})
            assert (done.version, done.replayed) == (batch.step, False)
        assert (trainer.version, trainer.lineage) == (3, "lineage-3")
    assert seen == [(f"demo/step/{n}.0", (3, 6)) for n in (1, 2, 3)]
    said = api.commits["demo/step/2.0"][0]
    assert said["policy"]["format"] == "hf-safetensors" and said["policy"]["bytes"] == 7
    assert api.released == []


def test_says_why_there_are_no_more_batches(ts: Turnstream, api: FakeApi, caplog: pytest.LogCaptureFixture) -> None:
    with ts.run("demo").trainer("a") as trainer:
        for batch in trainer.batches(steps=1):
            batch.commit()
        assert caplog.messages == []
        assert list(trainer.batches(steps=1)) == []
        assert "run demo is at version 1 already" in caplog.messages[0]
        api.finished = True
        assert list(trainer.batches()) == []
        assert "no more batches" in caplog.messages[1] and "status --run demo" in caplog.messages[1]


def test_releases_batches_that_it_did_not_commit(ts: Turnstream, api: FakeApi) -> None:
    with pytest.raises(ZeroDivisionError), ts.run("demo").trainer("a") as trainer:
        for _batch in trainer.batches():
            raise ZeroDivisionError
    assert api.released == ["demo/step/1.0"]
    with ts.run("demo").trainer("a") as trainer:
        for number, batch in enumerate(trainer.batches()):
            if number == 1:
                batch.commit()
                break
    assert api.released == ["demo/step/1.0", "demo/step/1.1"]


def test_extends_a_lease_until_the_commit(ts: Turnstream, api: FakeApi) -> None:
    extended = threading.Event()
    api.before.append(lambda request: extended.set() if unquote(request.url.path).endswith(":extend") else None)
    with ts.run("demo").trainer("a") as trainer:
        batch = trainer.lease()
        assert batch is not None and extended.wait(10)
        batch.commit()
        count = api.extended
        assert count >= 1
    assert api.extended == count


def test_reports_a_lost_lease(ts: Turnstream, api: FakeApi) -> None:
    with ts.run("demo").trainer("a") as trainer:
        batch = trainer.lease()
        assert batch is not None
        api.out = None
        with pytest.raises(BatchReleased):
            batch.commit()
        batch.leave()
    assert not batch.open


def test_is_fenced_by_the_next_claim(ts: Turnstream) -> None:
    run = ts.run("demo")
    with run.trainer("a") as first, run.trainer("b") as second:
        assert (first.epoch, second.epoch) == (1, 2)
        with pytest.raises(Fenced) as caught:
            first.lease()
        assert (caught.value.code, caught.value.status, caught.value.request_id) == ("FENCED", 409, "r-1")


def test_an_outdated_trainer_is_told_which_version_to_restore(ts: Turnstream, api: FakeApi) -> None:
    with ts.run("demo").trainer("a") as trainer:
        batch = trainer.lease()
        assert batch is not None
        batch.commit()
    with pytest.raises(LineageMismatch) as caught:
        ts.run("demo").trainer("a", lineage="lineage-0").claim()
    assert caught.value.restore == {"version": 1, "uri": "file:///w", "sha256": "00", "format": "gguf", "weights": "elsewhere"}


def test_a_trainer_rewinds_and_publishes_late(ts: Turnstream, api: FakeApi) -> None:
    with ts.run("demo").trainer("a") as trainer:
        batch = trainer.lease()
        assert batch is not None
        batch.commit()
    with ts.run("demo").trainer("a", lineage="lineage-0", rewind={"to_version": 0, "reason": "lost"}) as trainer:
        assert json.loads(api.requests[-1].content)["rewind"] == {"to_version": 0, "reason": "lost"}
        assert (trainer.version, trainer.lineage) == (2, "lineage-2")
        trainer.publish(2, {"uri": "s3://w", "sha256": "00", "format": "gguf", "bytes": 1, "loadable": True})
        assert json.loads(api.requests[-1].content)["epoch"] == 2
        trainer.claim()
        assert "rewind" not in json.loads(api.requests[-1].content)


def test_a_commit_whose_response_is_lost_is_repeated_unchanged(ts: Turnstream, api: FakeApi) -> None:
    lost = iter([True])
    api.lose = lambda request: unquote(request.url.path).endswith(":commit") and next(lost, False)
    with ts.run("demo").trainer("a") as trainer:
        batch = trainer.lease()
        assert batch is not None
        done = batch.commit(metrics={"loss": 1})
        assert (done.replayed, trainer.lineage) == (True, "lineage-1")
    assert len(api.lineages) == 2


def test_a_lease_whose_response_is_lost_is_returned_again(ts: Turnstream, api: FakeApi) -> None:
    lost = iter([True])
    api.lose = lambda request: unquote(request.url.path).endswith(":lease") and next(lost, False)
    with ts.run("demo").trainer("a") as trainer:
        batch = trainer.lease()
        assert batch is not None and batch.id == "demo/step/1.0"
        assert trainer.lease(wait_ms=0) is None
        assert json.loads(api.requests[-1].content)["held"] == ["demo/step/1.0"]


@pytest.mark.parametrize("arrived", [False, True])
def test_a_restarted_trainer_sends_its_prepared_commit(ts: Turnstream, api: FakeApi, arrived: bool) -> None:
    trainer = ts.run("demo").trainer("a")
    trainer.claim()
    batch = trainer.lease()
    assert batch is not None
    saved = json.loads(json.dumps({"lineage": trainer.lineage, "prepared": batch.prepare(policy=None, metrics={"loss": 0.5})}))
    if arrived:
        batch.commit(prepared=saved["prepared"])
    with ts.run("demo").trainer("a", **saved) as successor:
        assert successor.committed is not None
        assert (successor.committed.replayed, successor.lineage, successor.epoch) == (arrived, "lineage-1", 2)
    assert len(api.commits) == 1


def test_a_prepared_batch_that_was_released_is_not_committed(ts: Turnstream, api: FakeApi) -> None:
    trainer = ts.run("demo").trainer("a")
    trainer.claim()
    batch = trainer.lease()
    assert batch is not None
    prepared = batch.prepare(policy=None)
    batch.release()
    with pytest.raises(LineageMismatch):
        ts.run("demo").trainer("a", lineage="lineage-0", prepared=prepared).claim()
    assert api.commits == {}


def test_a_second_commit_with_other_contents_is_refused(ts: Turnstream) -> None:
    with ts.run("demo").trainer("a") as trainer:
        batch = trainer.lease()
        assert batch is not None
        batch.commit(metrics={"loss": 1})
        with pytest.raises(BatchCommitted):
            batch.commit(metrics={"loss": 2})


def test_a_claim_is_not_retried_automatically(ts: Turnstream, api: FakeApi) -> None:
    api.lose = lambda request: request.url.path.endswith("/trainer")
    with pytest.raises(ConnectionFailed):
        ts.run("demo").trainer("a").claim()
    assert api.epoch == 1


def test_waits_while_there_is_no_batch(ts: Turnstream, api: FakeApi) -> None:
    empty = iter([httpx.Response(204), httpx.Response(204), problem(503, "COORDINATOR_UNAVAILABLE")])
    api.before.append(lambda request: next(empty, None) if unquote(request.url.path).endswith(":lease") else None)
    with ts.run("demo").trainer("a") as trainer:
        assert next(trainer.batches()).step == 1


def restarting(_: httpx.Request) -> httpx.Response:
    return problem(503, "COORDINATOR_UNAVAILABLE")


def failing(_: httpx.Request) -> httpx.Response:
    return problem(500, "INTERNAL")


def unreachable(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused", request=request)


def away(
    path: str, times: int, fail: Callable[[httpx.Request], httpx.Response] = restarting
) -> Callable[[httpx.Request], httpx.Response | None]:
    """Makes a number of calls of a route fail."""
    left = iter(range(times))

    def answer(request: httpx.Request) -> httpx.Response | None:
        return fail(request) if unquote(request.url.path).endswith(path) and next(left, None) is not None else None

    return answer


def test_waits_for_a_coordinator_that_restarts(ts: Turnstream, api: FakeApi) -> None:
    api.before += [away(":lease", 20), away(":commit", 20)]
    with ts.run("demo").trainer("a") as trainer:
        for batch in trainer.batches(steps=1):
            assert batch.commit().version == 1
    assert api.released == []


@pytest.mark.parametrize("fail", [restarting, failing, unreachable])
def test_waits_while_the_api_is_away(ts: Turnstream, api: FakeApi, fail: Callable[[httpx.Request], httpx.Response]) -> None:
    # more consecutive failures than one call has retries
    api.before += [away(path, 20, fail) for path in (":lease", "/rows", ":extend", ":commit")]
    with ts.run("demo").trainer("a") as trainer:
        for batch in trainer.batches(steps=1):
            assert len(batch.rows()) == 3 and batch.extend() == "2026-01-01T00:01:00Z"
            assert batch.commit().version == 1
    assert api.released == []


def test_gives_up_waiting_for_an_api_that_stays_away(ts: Turnstream, api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnstream._sync.trainer._PATIENCE", 0.0)
    api.before.append(away("/rows", 100, unreachable))
    with ts.run("demo").trainer("a") as trainer:
        batch = trainer.lease()
        assert batch is not None
        with pytest.raises(ConnectionFailed):
            batch.rows()


def test_every_lease_has_a_name_of_its_own(ts: Turnstream) -> None:
    names = []
    with ts.run("demo").trainer("a") as trainer:
        for _ in range(2):
            batch = trainer.lease()
            assert batch is not None
            names.append(batch.name)
            batch.release()
    assert names == ["1.0", "1.1"]


def test_reads_each_shard_once(ts: Turnstream, api: FakeApi) -> None:
    with ts.run("demo").trainer("a") as trainer:
        batch = trainer.lease()
        assert batch is not None
        parts = [batch.rows(shard) for shard in ("0/2", "1/2", "0/2", None)]
        assert [[row["row"] for row in part] for part in parts] == [[0], [1, 2], [0], [0, 1, 2]]
    asked = [request.url.params.get("shard") for request in api.requests if request.method == "GET"]
    assert asked == ["0/2", "1/2", None]


def test_stops_at_the_end_of_the_run(ts: Turnstream, api: FakeApi) -> None:
    with ts.run("demo").trainer("a") as trainer:
        for number, batch in enumerate(trainer.batches()):
            batch.commit()
            if number == 1:
                api.finished = True
        assert trainer.version == 2


def test_a_prepared_batch_stays_leased_for_the_claim_of_its_checkpoint(ts: Turnstream, api: FakeApi) -> None:
    with pytest.raises(ZeroDivisionError), ts.run("demo").trainer("a") as trainer:
        for batch in trainer.batches():
            prepared = batch.prepare(policy=None)
            raise ZeroDivisionError
    assert api.released == [] and api.out is not None
    with ts.run("demo").trainer("a", lineage="lineage-0", prepared=prepared) as successor:
        assert successor.version == 1


def test_a_held_batch_stays_leased_until_a_claim_keeps_it(ts: Turnstream, api: FakeApi) -> None:
    with pytest.raises(ZeroDivisionError), ts.run("demo").trainer("a") as trainer:
        for batch in trainer.batches():
            batch.hold()
            raise ZeroDivisionError
    assert api.released == [] and api.out is not None
    known = {"lineage": "lineage-0", "held": batch.lease}
    with pytest.raises(ZeroDivisionError), ts.run("demo").trainer("a", **known) as successor:
        assert successor.held is not None and successor.held.id == batch.id
        raise ZeroDivisionError
    assert api.released == [] and api.out is not None
    with ts.run("demo").trainer("a", **known) as last:
        assert last.held is not None
        last.held.commit()
    assert list(api.commits) == [batch.id]


def test_leaves_out_metrics_that_json_has_no_number_for(ts: Turnstream, api: FakeApi) -> None:
    with ts.run("demo").trainer("a") as trainer:
        batch = trainer.lease()
        assert batch is not None
        prepared = batch.prepare(policy=None, metrics={"loss": float("nan"), "ratio": float("inf"), "approx_kl": 0.5})
        batch.commit(prepared=json.loads(json.dumps(prepared)))
    assert api.commits["demo/step/1.0"][0]["metrics"] == {"approx_kl": 0.5}


def test_pads_batches_to_few_shapes(ts: Turnstream) -> None:
    with ts.run("demo").trainer("a") as trainer:
        batch = next(trainer.batches(rows=64))
        arrays = batch.to_numpy(pad_to=256)
        assert arrays["token_ids"].shape == arrays["mask"].shape == (64, 256) and arrays["rewards"].shape == (64,)
        assert batch.to_numpy(rows=2)["mask"].shape == (4, 6)
        assert "demo/step/1.0" in batch._repr_html_() and "epoch" in trainer._repr_html_()


def test_the_asynchronous_trainer_does_the_same(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "uniform", lambda low, high: 0.0)

    async def train() -> list[int]:
        versions = []
        async with AsyncTurnstream("http://api.test", transport=api.transport()) as ts, ts.run("demo").trainer("a") as trainer:
            async for batch in trainer.batches(steps=2):
                while api.extended < batch.step:
                    await asyncio.sleep(0.01)
                assert (await batch.to_numpy(pad_to=8))["mask"].shape == (3, 8)
                versions.append((await batch.commit()).version)
            open_batch = await trainer.lease()
            assert open_batch is not None
        return versions

    assert asyncio.run(train()) == [1, 2]
    assert api.released == ["demo/step/3.0"]
