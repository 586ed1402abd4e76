"""Starting and stopping the programs of the demonstration, and the evaluation that follows a trainer."""

from __future__ import annotations

import json
import shutil
import signal
import sys
import threading
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
pytest.importorskip("jax")

import evaluate  # noqa: E402
from model import new_weights, save_weights  # noqa: E402
from processes import Program, run  # noqa: E402


def test_the_later_try_of_a_step_is_the_version() -> None:
    names = ["v9.11.safetensors", "v9.2.safetensors", "v0.safetensors", "vocabulary.safetensors"]
    assert max(map(Path, names), key=evaluate.version_of).name == "v9.11.safetensors"


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_a_program_ends_when_it_is_asked_to_and_its_log_has_what_it_said(tmp_path: Path) -> None:
    code = "import signal, sys; signal.signal(signal.SIGINT, lambda *_: sys.exit(7)); print('ready', flush=True); signal.pause()"
    program = Program("one", python(code), tmp_path)
    assert program.first_line() == "ready" and program.code is None
    program.end(signal.SIGINT)
    program.end()
    assert program.code == 7 and (tmp_path / "one.log").read_text() == "ready\n"


def test_a_program_that_fails_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"two has ended with 1; .*two.log ends with:\n(?:.*\n)*ZeroDivisionError"):
        run("two", python("1 / 0"), tmp_path)
    silent = Program("three", python("import sys; sys.exit('no such port')"), tmp_path)
    with pytest.raises(SystemExit, match="no such port"):
        silent.first_line()
    assert run("four", python("import os; print(os.environ['WHO']); print(2)"), tmp_path, {"WHO": "me"}) == ["me", "2"]


def test_a_program_that_is_killed_is_gone(tmp_path: Path) -> None:
    program = Program("five", python("import time; print(1, flush=True); time.sleep(600)"), tmp_path)
    program.first_line()
    program.kill()
    assert program.wait() == -signal.SIGKILL


def test_evaluates_the_first_version_each_that_is_due_and_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    save_weights(tmp_path / "v0.safetensors", new_weights(1))
    (tmp_path / "warm.safetensors").write_bytes(b"")
    written = iter([3, 10, 12, 25, 27])

    def write_next(_seconds: float) -> None:
        version = next(written)
        shutil.copy(tmp_path / "v0.safetensors", tmp_path / f"v{version}.{version}.safetensors")

    monkeypatch.setattr(evaluate, "accuracy", lambda *_: {"all": 0.5})
    monkeypatch.setattr(evaluate.time, "sleep", write_next)
    following = threading.Thread(target=evaluate.follow, args=(tmp_path, 1, 1.0, 10, 27), daemon=True)
    following.start()
    following.join(30)
    assert not following.is_alive()
    assert [json.loads(line)["version"] for line in capsys.readouterr().out.splitlines()] == [0, 10, 25, 27]
