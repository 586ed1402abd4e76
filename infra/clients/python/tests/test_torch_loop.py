"""The plain torch loop: its types, its imports, and, if torch is installed, its loss."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import turnstream

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
