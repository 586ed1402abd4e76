"""Lists, SQL, the live stream, errors, and retries."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any

import httpx
import pytest
from fake_api import FakeApi, problem

from turnstream import ApiError, AsyncTurnstream, ConnectionFailed, Rows, Turnstream, TurnstreamError


def pages(request: httpx.Request) -> httpx.Response | None:
    if not request.url.path.endswith("/trajectories"):
        return None
    cursor = request.url.params.get("cursor")
    items = [{"trajectory_id": f"t-{cursor}-{n}", "reward": n} for n in range(2)]
    return httpx.Response(200, json={"items": items, "next_cursor": {None: "a", "a": "b", "b": None}[cursor]})


def test_a_list_is_read_to_its_end(ts: Turnstream, api: FakeApi) -> None:
    api.before.append(pages)
    listed = ts.run("demo").trajectories(min_reward=0.5, fields=["trajectory_id", "reward"], limit=2)
    assert [row["trajectory_id"] for row in listed] == [f"t-{page}-{n}" for page in (None, "a", "b") for n in range(2)]
    assert len(list(listed.to_pandas().index)) == 6 and listed.to_arrow().column("reward").to_pylist() == [0, 1] * 3
    assert len(listed.head(1)) == 2
    asked = api.requests[0].url.params
    assert (asked["fields"], asked["min_reward"], asked["limit"]) == ("trajectory_id,reward", "0.5", "2")
    assert api.requests[0].headers["authorization"] == "Bearer key-1"
    assert "head()" in repr(listed) and "min_reward" in listed._repr_html_()


def sql(request: httpx.Request) -> httpx.Response | None:
    if request.url.path != "/v1/sql":
        return None
    import pyarrow

    table = pyarrow.table({"tool": ["calc"], "n": [3]})
    if json.loads(request.content)["format"] == "JSON":
        return httpx.Response(200, json={"data": table.to_pylist(), "meta": []})
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return httpx.Response(200, content=sink.getvalue())


def test_sql_as_rows_and_tables(ts: Turnstream, api: FakeApi) -> None:
    api.before.append(sql)
    query = ts.sql("select tool, n from x where run_id = {run:String}", run="demo")
    assert query.rows() == [{"tool": "calc", "n": 3}]
    assert query.to_arrow().to_pylist() == [{"tool": "calc", "n": 3}]
    assert query.to_pandas()["n"].tolist() == [3]
    assert json.loads(api.requests[0].content)["params"] == {"run": "demo"}
    assert "runs it" in repr(query) and "run_id" in query._repr_html_()


def test_the_asynchronous_client_has_the_same_lists(api: FakeApi) -> None:
    api.before += [pages, sql]

    async def read() -> tuple[int, Rows[Any]]:
        async with AsyncTurnstream("http://api.test", transport=api.transport()) as ts:
            rows = [row async for row in ts.run("demo").trajectories()]
            return len(rows), await ts.sql("select 1").rows()

    assert asyncio.run(read()) == (6, [{"tool": "calc", "n": 3}])


def test_a_notebook_shows_rows_as_text() -> None:
    shown = Rows([{"a": "<b>", "n": None}] * 30)._repr_html_()
    assert "&lt;b&gt;" in shown and "30 rows" in shown and "<b>" not in shown


def events(*lines: str) -> httpx.Response:
    return httpx.Response(200, content="".join(f"{line}\n" for line in lines).encode(), headers={"content-type": "text/event-stream"})


def test_the_live_stream_goes_on_where_it_broke(ts: Turnstream, api: FakeApi) -> None:
    answers = iter(
        [
            events("event: connected", "id: p0", 'data: {"resume":"p0"}', "", "event: A", "id: p1", 'data: {"n":1}', ""),
            problem(503, "KAFKA_UNAVAILABLE"),
            events(": beat", "", "event: B", "id: p2", 'data: {"n":2}', "", "event: closing", "id: p2", "data: {}", ""),
            events("event: gap", "id: p5", 'data: {"from":3}', ""),
        ]
    )
    api.before.append(lambda request: next(answers))
    stream = ts.run("demo").live(types=["A", "B"])
    assert [(event.type, event.id) for _, event in zip(range(3), stream, strict=False)] == [("A", "p1"), ("B", "p2"), ("gap", "p5")]
    assert [request.headers.get("last-event-id") for request in api.requests] == [None, "p1", "p1", "p2"]
    assert dict(api.requests[0].url.params) == {"run": "demo", "type": "A,B"}


def test_a_stream_that_never_began_is_an_error(ts: Turnstream, api: FakeApi) -> None:
    api.before.append(lambda request: problem(404, "NOT_FOUND"))
    with pytest.raises(ApiError) as caught:
        next(ts.live())
    assert (caught.value.code, caught.value.status) == ("NOT_FOUND", 404)


def test_an_error_has_the_code_of_its_problem(ts: Turnstream, api: FakeApi) -> None:
    errors = [{"parameter": "limit", "message": "must be <= 1000"}]
    api.before.append(lambda request: problem(400, "REQUEST_INVALID", errors=errors))
    with pytest.raises(ApiError) as caught:
        ts.get("/v1/runs", limit=5000)
    assert (caught.value.code, caught.value.errors, caught.value.problem["request_id"]) == ("REQUEST_INVALID", errors, "r-1")
    api.before[0] = lambda request: httpx.Response(502, text="<html>proxy</html>")
    with pytest.raises(ApiError) as caught:
        ts.get("/v1/runs")
    assert (caught.value.code, caught.value.status) == ("UNKNOWN", 502)


@pytest.mark.parametrize("failure", [429, 503, httpx.ConnectError("refused"), httpx.ReadError("broke")])
def test_what_is_idempotent_is_repeated(ts: Turnstream, api: FakeApi, failure: int | Exception) -> None:
    failures = iter([failure] * 2)

    def fail(request: httpx.Request) -> httpx.Response:
        one = next(failures, None)
        if isinstance(one, Exception):
            raise one
        return httpx.Response(200, json={"ok": True}) if one is None else httpx.Response(one, headers={"retry-after": "0"}, json={})

    api.before.append(fail)
    assert ts.get("/v1/runs") == {"ok": True}
    assert len(api.requests) == 3


@pytest.mark.parametrize(("failure", "sent"), [(503, 1), (429, 6), (httpx.ReadError("broke"), 1), (httpx.ConnectError("refused"), 6)])
def test_what_is_not_idempotent_is_repeated_only_if_it_was_not_carried_out(
    ts: Turnstream, api: FakeApi, failure: int | Exception, sent: int
) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        if isinstance(failure, Exception):
            raise failure
        return httpx.Response(failure, json={"code": "RATE_LIMITED"})

    api.before.append(fail)
    with pytest.raises(TurnstreamError):
        ts.run("demo").trainer("a").claim()
    assert len(api.requests) == sent


def test_a_closed_client_says_so(api: FakeApi) -> None:
    ts = Turnstream("http://api.test", transport=api.transport())
    ts.close()
    with pytest.raises(TurnstreamError, match="CLIENT_CLOSED"):
        ts.get("/v1/runs")
    with Turnstream("http://127.0.0.1:1", retries=0) as nobody, pytest.raises(ConnectionFailed, match="GET /v1/runs"):
        nobody.get("/v1/runs")


def test_an_address_without_turnstream_is_named(ts: Turnstream, api: FakeApi) -> None:
    with Turnstream("http://127.0.0.1:1", retries=0) as nobody, pytest.raises(ConnectionFailed, match="127.0.0.1:1.*TURNSTREAM_URL"):
        nobody.get("/v1/runs")
    api.before.append(lambda request: httpx.Response(404, text="<!DOCTYPE html>"))
    with pytest.raises(ApiError, match="http://api.test/v1/runs responded with status 404: <!DOCTYPE html> .*turnstream status"):
        ts.get("/v1/runs")


def test_rewards_are_events_with_an_identity(ts: Turnstream, api: FakeApi) -> None:
    api.before.append(lambda request: httpx.Response(200, json={}))
    ts.run("demo").reward("t-1", 0.5, name="human", identifier="reviewer-7")
    (event,) = [json.loads(line) for line in api.requests[0].content.splitlines()]
    assert api.requests[0].url.path == "/v1/runs/demo/events"
    assert event == {
        **{"type": "RewardAttached", "event_id": "t-1/0/-1/human/reviewer-7", "trajectory_id": "t-1", "attempt": 0, "turn": -1},
        **{"name": "human", "value": 0.5, "identifier": "reviewer-7", "source": "client"},
    }
