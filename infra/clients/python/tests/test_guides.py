"""Executes the Python code of the guides against the fake API. Code that needs a GPU is checked call by call."""

from __future__ import annotations

import ast
import functools
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from fake_api import FakeApi
from test_trl import released

import turnstream
from turnstream import Turnstream
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

    names = {"model": None, "step": lambda model, arrays: {"loss": 1.0}, "save_weights": lambda model, path: None}
    with pytest.raises(KeyboardInterrupt):
        execute(survive, api, tmp_path, monkeypatch, checkpoint={}, save_checkpoint=save_checkpoint, **names)
    execute(survive, api, tmp_path, monkeypatch, checkpoint=saved[-1], save_checkpoint=save_checkpoint, **names)
    assert list(api.commits) == [f"demo/step/{n}.0" for n in (1, 2, 3, 4)]


def test_calls_of_the_guide_to_trl_exist() -> None:
    tree = ast.parse("\n".join(blocks("train-with-trl.md")))
    calls = {node.func.id: node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    inspect.signature(TurnstreamWorker).bind(None, None, **{str(key.arg): None for key in calls["TurnstreamWorker"].keywords})
    config = released("async_grpo_trainer.py")["AsyncGRPOTrainer"]
    (init,) = [node for node in config.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    assert {key.arg for key in calls["AsyncGRPOTrainer"].keywords} <= {arg.arg for arg in init.args.args}
    fields = released("async_grpo_config.py")["AsyncGRPOConfig"]
    own = {node.target.id for node in fields.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    # the others are fields of transformers.TrainingArguments
    assert {"token_budget", "weight_sync_steps"} <= {str(key.arg) for key in calls["AsyncGRPOConfig"].keywords} & own


def test_the_side_process_takes_the_flags_of_its_guide(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (line,) = re.findall(r"python -m turnstream.prime_rl (.*)", "\n".join(blocks("train-with-prime-rl.md", "bash")))
    seen: list[dict[str, Any]] = []
    monkeypatch.setattr("turnstream.prime_rl.Bridge", lambda run, output, **shape: seen.append(shape) or type("B", (), {"train": lambda *_: None})())
    assert main(line.replace("outputs/demo", str(tmp_path / "o")).split()) == 0
    assert seen == [{"ranks": 8, "tokens": 8192, "version": 0, "keep": 4}]
