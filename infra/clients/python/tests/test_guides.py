"""Executes the Python code of the guides against the fake API. Code that needs a GPU is checked call by call."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import json
import re
import sqlite3
import types
from pathlib import Path
from typing import Any

import pytest
from fake_api import FakeApi, row
from test_trl import released

import turnstream
from turnstream import Turnstream
from turnstream._trl_callback import check_settings
from turnstream.prime_rl import main
from turnstream.trl import TurnstreamWorker

GUIDES = Path(__file__).parents[3] / "docs" / "guides"


def blocks(guide: str, language: str = "python") -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (GUIDES / guide).read_text(), re.MULTILINE | re.DOTALL)


def execute(code: str, api: FakeApi, folder: Path, monkeypatch: pytest.MonkeyPatch, **names: Any) -> None:
    client = functools.partial(Turnstream, "http://api.test", transport=api.transport())
    monkeypatch.setattr(turnstream, "Turnstream", client)
    text = code.replace('"mine"', '"demo"').replace("/shared", str(folder))
    with client() as ts:
        exec(compile(text, "guide", "exec"), {"ts": ts, **names})


def test_the_first_trainer_makes_three_steps(api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    first, *_ = blocks("train-with-your-own-trainer.md")
    execute(first, api, tmp_path, monkeypatch)
    assert len(api.commits) == 3 and capsys.readouterr().out.startswith("step 1 trained 3 rows, lineage lineage-1")


def test_a_batch_without_trainable_rows_does_not_end_the_trainer(api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api.content = json.dumps({**row(0), "trainable": False, "why_not": "no_logprobs"}).encode()
    first, *_ = blocks("train-with-your-own-trainer.md")
    execute(first, api, tmp_path, monkeypatch)
    assert [said["metrics"] for said, _ in api.commits.values()] == [{"loss": 0.0}] * 3


def test_a_version_is_handed_back_and_a_crash_is_survived(api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, hand_back, survive = blocks("train-with-your-own-trainer.md")
    (tmp_path / "versions").mkdir()
    (tmp_path / "versions" / "v7").mkdir()
    (tmp_path / "versions" / "v7" / "model.safetensors").write_bytes(b"w")
    with Turnstream("http://api.test", transport=api.transport()) as ts, ts.run("demo").trainer("a") as trainer:
        execute(hand_back, api, tmp_path, monkeypatch, ts=ts, batch=trainer.lease())
    assert list(api.commits) == ["demo/step/1.0"]

    saved: list[dict[str, Any]] = []

    def save_checkpoint(model: object, **token: Any) -> None:
        saved.append(token)
        if token["prepared"] is not None and len(saved) == 3:
            raise KeyboardInterrupt
        api.finished = len(api.commits) == 4

    def save_weights(model: object, path: str) -> None:
        Path(path).mkdir(exist_ok=True)
        (Path(path) / "model.safetensors").write_text(path)

    loaded: list[Any] = []
    names = {"step": lambda model, arrays: {"loss": 1.0}, "save_weights": save_weights}
    names |= {"load_model": loaded.append, "load_weights": loaded.append}
    with pytest.raises(KeyboardInterrupt):
        execute(survive, api, tmp_path, monkeypatch, checkpoint={}, save_checkpoint=save_checkpoint, **names)
    execute(survive, api, tmp_path, monkeypatch, checkpoint=saved[-1], save_checkpoint=save_checkpoint, **names)
    assert list(api.commits) == [f"demo/step/{n}.0" for n in (1, 2, 3, 4)]
    # each version keeps its own weights
    uris = [said["policy"]["uri"] for said, _ in api.commits.values()]
    assert uris[1:] == [f"file://{tmp_path}/versions/v{n}.0" for n in (2, 3, 4)]
    old = {"lineage": "lineage-0"}
    loaded.clear()
    execute(survive, api, tmp_path, monkeypatch, checkpoint=old, save_checkpoint=save_checkpoint, **names)
    assert loaded == [old, {}, "file:///w"]


def test_calls_of_the_guide_to_trl_exist() -> None:
    tree = ast.parse("\n".join(blocks("train-with-trl.md")))
    calls = {node.func.id: node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    inspect.signature(TurnstreamWorker).bind(None, None, **{str(key.arg): None for key in calls["TurnstreamWorker"].keywords})
    config = released("async_grpo_trainer.py")["AsyncGRPOTrainer"]
    (init,) = [node for node in config.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    assert {key.arg for key in calls["AsyncGRPOTrainer"].keywords} <= {arg.arg for arg in init.args.args}
    fields = released("async_grpo_config.py")["AsyncGRPOConfig"]
    own = {node.target.id for node in fields.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    # the other settings in the guide are fields of transformers.TrainingArguments
    assert {"max_staleness", "token_budget", "weight_sync_steps"} <= {str(key.arg) for key in calls["AsyncGRPOConfig"].keywords} & own


def test_code_of_the_guide_to_trl_defines_every_name_and_its_settings_pass_the_check() -> None:
    nodes = list(ast.walk(ast.parse("\n".join(blocks("train-with-trl.md")))))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    known = {node.id for node in names if isinstance(node.ctx, ast.Store)} | set(dir(builtins))
    known |= {alias.name for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names}
    assert {node.id for node in names} <= known
    calls = {node.func.id: node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    config = {str(key.arg): ast.literal_eval(key.value) for key in calls["AsyncGRPOConfig"].keywords}
    (rows,) = [ast.literal_eval(key.value) for key in calls["TurnstreamWorker"].keywords if key.arg == "rows_per_step"]
    check_settings(types.SimpleNamespace(**config, world_size=1), rows)


@pytest.mark.parametrize("guide", ["train-with-trl.md", "train-with-prime-rl.md"])
def test_a_guide_starts_the_run_that_its_trainer_claims_and_sets_up_an_engine_that_follows_it(guide: str) -> None:
    (start,) = blocks(guide, "sh")
    (run,) = re.findall(r"turnstream up --run (\S+)", start)
    text = "\n".join(blocks(guide) + blocks(guide, "bash"))
    assert re.findall(r'\.run\("([^"]+)"\)|--run (\S+)', text) in ([(run, "")], [("", run)])
    for setting in ("ENGINES=vllm=", "INITIAL_POLICY_URI=file:", "LLM_VERSION_FROM=route:/weight_info#weight_version", "MAX_UNKNOWN=0."):
        assert f"TURNSTREAM_{setting}" in start


def test_the_query_for_trajectories_that_were_trained_twice_finds_them() -> None:
    class GroupArray:
        def __init__(self) -> None:
            self.values: list[int] = []

        def step(self, value: int) -> None:
            self.values.append(value)

        def finalize(self) -> str:
            return json.dumps(sorted(self.values))

    (query,) = blocks("what-trained-once-means.md", "sql")
    store = sqlite3.connect(":memory:")
    store.create_aggregate("groupArray", 1, GroupArray)  # type: ignore[arg-type]
    store.execute("create table outcomes (run_id, step, is_kept, trajectory_id)")

    def add(*rows: tuple[str, int, bool, str]) -> list[Any]:
        store.executemany("insert into outcomes values (?, ?, ?, ?)", rows)
        return store.execute(query).fetchall()

    assert add(("mine", 1, True, "a"), ("mine", 2, True, "b"), ("other", 2, True, "a"), ("mine", 3, False, "b")) == []
    assert add(("mine", 5, True, "a")) == [("a", 2, "[1, 5]")]
    store.close()


def test_the_adapter_of_prime_rl_takes_the_flags_of_its_guide(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (line,) = re.findall(r"python -m turnstream.prime_rl (.*)", "\n".join(blocks("train-with-prime-rl.md", "bash")))
    seen: list[dict[str, Any]] = []
    monkeypatch.setattr("turnstream.prime_rl.Bridge", lambda run, output, **shape: seen.append(shape) or type("B", (), {"train": lambda *_: None})())
    assert main(line.replace("outputs/prime-1", str(tmp_path / "o")).split()) == 0
    assert seen == [{"ranks": 8, "tokens": 8192, "version": 0, "keep": 4}]
