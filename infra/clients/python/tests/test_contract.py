"""Tests against the real API at TURNSTREAM_CONTRACT_URL, whose run TURNSTREAM_CONTRACT_RUN has steps and trajectories."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from turnstream import ApiError, Turnstream, models

URL, RUN = os.environ.get("TURNSTREAM_CONTRACT_URL"), os.environ.get("TURNSTREAM_CONTRACT_RUN", "")
pytestmark = pytest.mark.skipif(URL is None, reason="TURNSTREAM_CONTRACT_URL names no API")


@pytest.fixture
def real() -> Iterator[Turnstream]:
    with Turnstream(URL) as client:
        yield client


def test_reads_every_list_with_the_columns_of_its_type(real: Turnstream) -> None:
    run = real.run(RUN)
    assert run.summary()["run_id"] == RUN
    assert RUN in [row["run_id"] for row in real.runs(limit=1)]
    listed = {
        models.Step: run.steps(limit=1),
        models.Trajectory: run.trajectories(limit=2),
        models.ToolCall: run.tool_calls(limit=3),
        models.Policy: run.policies(),
        models.StepStaleness: run.staleness(),
        models.Discard: run.discarded(),
        models.LineageTurn: run.lineage(limit=3),
    }
    for shape, listing in listed.items():
        rows = listing.rows()
        assert rows, shape
        assert all(shape.__required_keys__ <= set(row) for row in rows), shape
    (first, *_) = run.trajectories()
    turns = run.turns(first["trajectory_id"]).rows()
    assert [turn["turn"] for turn in turns] == list(range(len(turns)))


def test_runs_sql_in_every_form(real: Turnstream) -> None:
    query = real.sql("select tool, count() as n from turns where run_id = {run:String} group by tool order by tool", run=RUN)
    rows = query.rows()
    assert rows and query.to_arrow().to_pylist() == rows
    assert query.to_pandas()["n"].tolist() == [row["n"] for row in rows]


def test_errors_have_codes(real: Turnstream) -> None:
    for call in (real.run("no-such-run").summary, real.sql("select * from nothing").rows, lambda: real.get("/v1/runs", limit=0)):
        with pytest.raises(ApiError) as caught:
            call()
        assert caught.value.code in ("NOT_FOUND", "SQL_INVALID", "REQUEST_INVALID") and caught.value.request_id


def test_attaches_rewards(real: Turnstream) -> None:
    run = real.run(RUN)
    trajectory = run.trajectories().rows()[0]["trajectory_id"]
    run.reward(trajectory, 0.5, name="human", identifier="reviewer-7")
    assert run.record([{"type": "RewardAttached", "trajectory_id": trajectory, "value": 1}])["recorded"] == 1
    with pytest.raises(ApiError) as caught:
        run.record([{"type": "RewardAttached", "trajectory_id": trajectory, "value": 1}, {"type": "TurnRecorded"}])
    assert caught.value.code == "REQUEST_INVALID" and "line 2" in str(caught.value)
    assert run.rewards(trajectory).rows() == []
