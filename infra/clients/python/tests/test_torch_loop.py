"""The plain torch loop: its types, its imports, what it does after a lost step, and, if torch is installed, its loss."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_api import FakeApi

import turnstream
from turnstream import Turnstream

FOLDER = Path(__file__).parent.parent / "examples"


def test_its_types_are_right() -> None:
    flags = ["--strict", "--ignore-missing-imports", "--allow-untyped-calls"]
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", *flags, "examples/torch_loop.py"], cwd=FOLDER.parent, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout


def test_it_needs_the_client_and_nothing_else_of_ours() -> None:
    tree = ast.parse((FOLDER / "torch_loop.py").read_text())
    ours = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("turnstream")]
    assert {node.module for node in ours} == {"turnstream"}
    assert {name.name for node in ours for name in node.names} <= set(turnstream.__all__)


def test_its_loss_makes_what_was_rewarded_more_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    monkeypatch.syspath_prepend(str(FOLDER))
    loop = importlib.import_module("torch_loop")
    logprobs = torch.tensor(np.full((2, 3), -1.0), requires_grad=True)
    arrays = {"mask": torch.ones(2, 3), "logprobs": torch.full((2, 3), -1.0), "advantages": torch.tensor([[1.0] * 3, [-1.0] * 3])}
    loss, figures = loop.loss_of(logprobs, arrays)
    loss.backward()
    assert (logprobs.grad[0] < 0).all() and (logprobs.grad[1] > 0).all() and figures["behave_kl"] == 0


class Model:
    """A model whose weights are a text: the name that it was first loaded from, and a plus for each step since."""

    def __init__(self, source: str) -> None:
        file = Path(source) / "model.safetensors"
        self.weights = file.read_text() if file.exists() else source

    def to(self, _device: str) -> Model:
        return self

    def parameters(self) -> list[Any]:
        return []

    def save_pretrained(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        (folder / "model.safetensors").write_text(self.weights)


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The loop without torch: a step appends a plus to the weights."""
    torch, transformers = types.ModuleType("torch"), types.ModuleType("transformers")
    optimizer = types.SimpleNamespace(state_dict=dict, load_state_dict=lambda state: None)
    torch.float32, torch.optim = None, types.SimpleNamespace(AdamW=lambda _parameters, lr: optimizer)  # type: ignore[attr-defined]
    torch.load = lambda path, **_: json.loads(path.read_text())  # type: ignore[attr-defined]
    torch.save = lambda what, path: path.write_text(json.dumps(what))  # type: ignore[attr-defined]
    model = types.SimpleNamespace(from_pretrained=lambda source, **_: Model(source))
    tokenizer = types.SimpleNamespace(from_pretrained=lambda source: types.SimpleNamespace(save_pretrained=lambda folder: None))
    transformers.AutoModelForCausalLM, transformers.AutoTokenizer = model, tokenizer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "transformers", transformers)
    spec = importlib.util.spec_from_file_location("torch_loop_without_torch", FOLDER / "torch_loop.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def step(self: Any, arrays: Any, rows: int) -> dict[str, float]:
        self.model.weights += "+"
        return {"loss": 0.0}

    monkeypatch.setattr(module.Training, "step", step)
    return module


@pytest.mark.parametrize("published", [False, True])
def test_a_lost_first_step_is_not_trained_on_twice(
    loop: Any, ts: Turnstream, api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, published: bool
) -> None:
    first = tmp_path / "first"
    Model("initial").save_pretrained(first)
    api.unpublished = not published
    if published:
        api.weights = {"uri": first.as_uri(), "sha256": turnstream.weights(first.as_uri())["sha256"]}

    def training() -> Any:
        return loop.Training(ts.run("demo"), tmp_path, str(first), 0.1, "cpu")

    def die(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("turnstream.Batch.commit", die)
        with pytest.raises(KeyboardInterrupt):
            training().train(1, 8)
    api.out = None
    again = training()
    assert again.model.weights == "initial+"
    again.train(1, 8)
    assert again.model.weights == "initial+" and list(api.commits) == ["demo/step/1.0"]
    resumed = training()
    resumed.train(2, 8)
    assert resumed.model.weights == "initial++" and (tmp_path / "v2.0" / "model.safetensors").read_text() == "initial++"


def test_a_fenced_loop_writes_nothing(loop: Any, ts: Turnstream, api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api.unpublished = True

    def step(*_: Any) -> dict[str, float]:
        ts.run("demo").trainer("other").claim()
        return {"loss": 0.0}

    monkeypatch.setattr(loop.Training, "step", step)
    with pytest.raises(turnstream.Fenced):
        loop.Training(ts.run("demo"), tmp_path, "initial", 0.1, "cpu").train(1, 8)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.pt"]


def test_says_which_weights_it_cannot_load(loop: Any, ts: Turnstream, api: FakeApi, tmp_path: Path) -> None:
    api.lineages.append("lineage-1")
    api.weights = {"uri": "s3://bucket/w"}
    with pytest.raises(SystemExit, match="the weights of version 1 are s3://bucket/w"):
        loop.Training(ts.run("demo"), tmp_path, "initial", 0.1, "cpu").train(2, 8)
