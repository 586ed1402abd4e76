"""Reads every export in both formats, and responses of POST /v1/sql, with pandas, DuckDB, and pyarrow. Prints the peak memory of
an export. Environment: API, RUN, TURNSTREAM (the program), and the variables that `turnstream` itself needs."""

import io
import json
import os
import re
import subprocess
import tempfile
import time
import urllib.request

import duckdb
import pandas
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

RUN = os.environ["RUN"]


def sql(query, form):
    body = json.dumps({"query": query, "params": {"run": RUN}, "format": form}).encode()
    request = urllib.request.Request(os.environ["API"] + "/v1/sql", body, {"content-type": "application/json"})
    return urllib.request.urlopen(request, timeout=60).read()


peak_mb = 0


def export(words):
    global peak_mb
    with subprocess.Popen([*json.loads(os.environ["TURNSTREAM"]), "export", *words], stderr=subprocess.DEVNULL) as running:
        while running.poll() is None:
            try:
                status = open(f"/proc/{running.pid}/status").read()
                peak_mb = max(peak_mb, int(re.search(r"VmHWM:\s*(\d+)", status)[1]) // 1024)
            except (OSError, TypeError):
                pass
            time.sleep(0.05)
        assert running.returncode == 0, (words, running.returncode)


QUERY = "SELECT step, reward_mean, run_id, at FROM steps WHERE run_id = {run:String} AND step <= 3 ORDER BY step"
frames = {
    "JSON": pandas.DataFrame(json.loads(sql(QUERY, "JSON"))["data"]),
    "JSONEachRow": pandas.read_json(io.BytesIO(sql(QUERY, "JSONEachRow")), lines=True),
    "CSV": pandas.read_csv(io.BytesIO(sql(QUERY, "CSV")), names=["step", "reward_mean", "run_id", "at"]),
    "CSVWithNames": pandas.read_csv(io.BytesIO(sql(QUERY, "CSVWithNames"))),
    "Parquet": pandas.read_parquet(io.BytesIO(sql(QUERY, "Parquet"))),
    "Arrow": pyarrow.ipc.open_file(io.BytesIO(sql(QUERY, "Arrow"))).read_all().to_pandas(),
    "ArrowStream": pyarrow.ipc.open_stream(io.BytesIO(sql(QUERY, "ArrowStream"))).read_all().to_pandas(),
}
for form, frame in frames.items():
    assert frame["step"].tolist() == frames["JSON"]["step"].tolist() and len(frame) > 0, (form, frame)
    assert [round(value, 9) for value in frame["reward_mean"]] == [round(value, 9) for value in frames["JSON"]["reward_mean"]], form
print("ok POST /v1/sql in", ", ".join(frames))

with tempfile.TemporaryDirectory() as folder:
    for what in ("trajectories", "turns", "sft", "preferences"):
        # the beginning of the run, which no longer changes while the run continues
        until = ("policy_version_max" if what == "turns" else "version_last") + " BETWEEN 0 AND 20"
        files = {}
        for form in ("parquet", "jsonl"):
            files[form] = os.path.join(folder, f"{what}.{form}")
            words = ["--run", RUN, "--what", what, "--format", form, "--where", until, "--out", files[form]]
            export(words)
        table = pandas.read_parquet(files["parquet"])
        assert duckdb.sql(f"select count(*) from '{files['parquet']}'").fetchall()[0][0] == len(table)
        lines = pandas.read_json(files["jsonl"], lines=True)
        assert list(lines.columns) == list(table.columns), (what, list(lines.columns), list(table.columns))
        assert len(lines) == len(table) > 0, (what, len(lines), len(table))
        assert duckdb.sql(f"select count(*) from read_json('{files['jsonl']}', maximum_object_size=100000000)").fetchall()[0][0] == len(lines)
        if what == "sft":
            assert (table["reward"] > 0).all()
            assert all(chat[0]["role"] == "user" and chat[-1]["role"] in ("assistant", "tool") for chat in table["messages"])
        if what == "preferences":
            assert (table["chosen_reward"] > table["rejected_reward"]).all()
            assert all(prompt[0]["role"] == "user" for prompt in table["prompt"])
        rows = pyarrow.parquet.ParquetFile(files["parquet"])
        print(f"ok {what}: {len(table)} rows, {rows.num_row_groups} row groups, {os.path.getsize(files['parquet']) / 1e6:.1f} MB of Parquet")
print(f"ok the peak memory of an export was {peak_mb} MB" if peak_mb > 0 else "no /proc here: memory was not measured")
