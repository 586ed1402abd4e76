"""The adapter for prime-rl, tested with a trainer that reads and writes files as prime-rl does (as of August 2026)."""

from __future__ import annotations

import ast
import json
import random
import shutil
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec
import pytest
from fake_api import FakeApi, row

from turnstream import Fenced, Turnstream
from turnstream.prime_rl import Bridge, Known, pack


class Wire(msgspec.Struct, array_like=True, gc=False, omit_defaults=True):
    """What prime-rl decodes: required fields by position, then fields that a text-only run omits."""

    input_ids: list[int]
    loss_mask: list[bool]
    advantages: list[float]
    inference_logprobs: list[float]
    position_ids: list[int]
    sequence_lengths: list[int]
    temperatures: list[float]
    env_names: list[str]
    seq_lens: list[int]
    ref_logprobs: list[float] | None = None


class FakePrime:
    """In a thread: waits for the file of the next step, trains, and broadcasts. Keeps only the last two broadcasts, as prime-rl does."""

    def __init__(self, output: Path, first: int = 1, ranks: int = 1) -> None:
        self.output, self.next, self.ranks = output, first, ranks
        self.trained: list[list[Wire]] = []
        self.ended = threading.Event()
        self._broadcast(first - 1)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self.ended.set()
        self._thread.join()

    def _run(self) -> None:
        decoder = msgspec.msgpack.Decoder(type=list[Wire])
        while not self.ended.is_set():
            paths = [self.output / "rollouts" / f"step_{self.next}" / f"rank_{rank}.bin" for rank in range(self.ranks)]
            if not all(path.exists() for path in paths):
                time.sleep(0.005)
                continue
            read = [decoder.decode(path.read_bytes()) for path in paths]
            assert len({len(part) for part in read}) == 1
            self.trained.append([one for part in read for one in part])
            self._broadcast(self.next)
            shutil.rmtree(self.output / "broadcasts" / f"step_{self.next - 2}", ignore_errors=True)
            self.next += 1

    def _broadcast(self, step: int) -> None:
        folder = self.output / "broadcasts" / f"step_{step}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.safetensors").write_bytes(f"weights {step}".encode())
        (folder / "config.json").write_text("{}")
        (folder / "STABLE").touch()


def bridge(ts: Turnstream, output: Path, **more: Any) -> Bridge:
    made = Bridge(ts.run("demo"), output, **{"ranks": 1, "tokens": 64, **more})
    made.say = lambda text: None
    return made


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnstream.prime_rl._POLL", 0.005)


@pytest.mark.parametrize("seed", range(20))
def test_packs_every_row_whole_and_as_many_for_each_rank(seed: int) -> None:
    rng = random.Random(seed)
    ranks, tokens = rng.randint(1, 4), rng.randint(12, 40)
    rows: list[Any] = [row(number, tokens=rng.randint(3, 12)) for number in range(rng.randint(0, 9))]
    grid = pack(rows, tokens, ranks, "demo")
    assert len(grid) == ranks and len({len(part) for part in grid}) == 1 and grid[0]
    found = []
    for one in (one for part in grid for one in part):
        length = len(one.input_ids)
        assert length <= tokens and sum(one.sequence_lengths) == sum(one.seq_lens) == length
        columns = ("loss_mask", "advantages", "inference_logprobs", "position_ids", "temperatures", "env_names")
        assert {len(getattr(one, name)) for name in columns} == {length}
        start = 0
        for size in one.seq_lens:
            end = start + size
            assert one.position_ids[start:end] == list(range(size))
            if any(one.loss_mask[start:end]):
                found.append((one.input_ids[start:end], one.loss_mask[start:end], one.inference_logprobs[start:end]))
            start = end
    expected = [(one["token_ids"], [flag == 1 for flag in one["mask"]], one["logprobs"]) for one in rows]
    assert sorted(found) == sorted(expected)


def test_a_trainer_that_knows_only_files_trains_a_run(ts: Turnstream, api: FakeApi, tmp_path: Path) -> None:
    prime = FakePrime(tmp_path, ranks=2)
    bridge(ts, tmp_path, ranks=2).train(steps=4)
    prime.stop()
    assert len(prime.trained) == 4 and list(api.commits) == [f"demo/step/{n}.0" for n in (1, 2, 3, 4)]
    said = api.commits["demo/step/4.0"][0]["policy"]
    kept = Path(unquote(said["uri"].removeprefix("file://")))
    assert said["format"] == "hf-safetensors" and [one["name"] for one in said["manifest"]] == ["config.json", "model.safetensors"]
    assert (kept / "model.safetensors").read_bytes() == b"weights 4"
    # the trainer has deleted its own files, but a slow engine can still read the published ones
    assert not (tmp_path / "broadcasts" / "step_1").exists() and (tmp_path / "versions" / "step_1").exists()
    assert json.loads((tmp_path / "turnstream.json").read_text()) == {"lineage": "lineage-4", "lease": None, "prepared": None, "base": 0}


@pytest.mark.parametrize("crash", ["_replace", "_wait", "weights", "prepare", "commit"])
def test_killed_at_any_line_it_goes_on_with_the_batch_that_is_being_trained_on(
    ts: Turnstream, api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crash: str
) -> None:
    prime = FakePrime(tmp_path)
    first = bridge(ts, tmp_path)

    def die(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    places = {
        **{"_replace": "turnstream.prime_rl.need", "_wait": "turnstream.prime_rl.Bridge._wait"},
        **{"weights": "turnstream.prime_rl.weights", "prepare": "turnstream.Batch.prepare", "commit": "turnstream.Batch.commit"},
    }
    with monkeypatch.context() as patch:
        patch.setattr(places[crash], die)
        with pytest.raises(KeyboardInterrupt):
            first.train(steps=2)
    assert api.out is not None and api.commits == {}
    bridge(ts, tmp_path).train(steps=2)
    prime.stop()
    assert list(api.commits) == ["demo/step/1.0", "demo/step/2.0"] and len(prime.trained) == 2


def test_a_fenced_process_leaves_the_folder_of_a_version_alone(ts: Turnstream, api: FakeApi, tmp_path: Path) -> None:
    trainer = ts.run("demo").trainer("prime-rl")
    trainer.claim()
    batch = trainer.lease()
    assert batch is not None
    made, kept = tmp_path / "broadcasts" / "step_1", tmp_path / "versions" / "step_1"
    for folder in (made, kept):
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_text(folder.parent.name)
    (made / "STABLE").touch()
    ts.run("demo").trainer("prime-rl").claim()
    with pytest.raises(Fenced):
        bridge(ts, tmp_path)._wait(batch)
    batch.leave()
    assert (kept / "model.safetensors").read_text() == "versions"


def test_interrupted_again_it_still_leaves_the_batch_to_the_trainer(
    ts: Turnstream, api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prime = FakePrime(tmp_path)

    def die(*_: Any) -> Any:
        raise KeyboardInterrupt

    for place in ("turnstream.prime_rl.Bridge._wait", "turnstream.prime_rl.usable_rows"):
        with monkeypatch.context() as patch:
            patch.setattr(place, die)
            with pytest.raises(KeyboardInterrupt):
                bridge(ts, tmp_path).train(steps=1)
    assert api.released == [] and api.out is not None
    bridge(ts, tmp_path).train(steps=1)
    prime.stop()
    assert list(api.commits) == ["demo/step/1.0"] and len(prime.trained) == 1


def test_a_commit_whose_answer_it_did_not_live_to_read(ts: Turnstream, api: FakeApi, tmp_path: Path) -> None:
    prime = FakePrime(tmp_path)
    bridge(ts, tmp_path).train(steps=1)
    (said, _) = api.commits["demo/step/1.0"]
    prepared: Any = {"batch_id": "demo/step/1.0", "weights_sha256": said["policy"]["sha256"], "commit": said}
    Known("lineage-0", None, prepared).save(tmp_path / "turnstream.json")
    bridge(ts, tmp_path).train(steps=2)
    prime.stop()
    assert list(api.commits) == ["demo/step/1.0", "demo/step/2.0"]


def test_refuses_weights_that_it_knows_nothing_of(ts: Turnstream, api: FakeApi, tmp_path: Path) -> None:
    api.lineages.append("lineage-1")
    with pytest.raises(SystemExit, match="the run is at version 1, not 0. Start prime-rl from file:///w"):
        bridge(ts, tmp_path).train()
    prime = FakePrime(tmp_path)
    bridge(ts, tmp_path, version=1).train(steps=3)
    prime.stop()
    assert list(api.commits) == ["demo/step/2.0", "demo/step/3.0"] and len(prime.trained) == 2
    (tmp_path / "broadcasts" / "step_3").mkdir()
    (tmp_path / "broadcasts" / "step_3" / "STABLE").touch()
    with pytest.raises(SystemExit, match="no batch of this run made"):
        bridge(ts, tmp_path).train()


def test_ends_when_the_lease_is_lost(ts: Turnstream, api: FakeApi, tmp_path: Path) -> None:
    lost = bridge(ts, tmp_path)
    threading.Timer(0.1, lambda: setattr(api, "epoch", 9)).start()
    with pytest.raises(Fenced):
        lost.train()


def test_rows_that_cannot_be_trained_on_are_told(ts: Turnstream, api: FakeApi, tmp_path: Path) -> None:
    rows = [row(0), {**row(1, tokens=80)}, {**row(2), "trainable": False, "why_not": "mixed_logprobs"}]
    api.content = "".join(json.dumps(one) + "\n" for one in rows).encode()
    prime = FakePrime(tmp_path)
    bridge(ts, tmp_path).train(steps=1)
    prime.stop()
    assert api.commits["demo/step/1.0"][0]["skipped"] == [{"row": 1, "reason": "too_long"}, {"row": 2, "reason": "mixed_logprobs"}]
    api.content = json.dumps({**row(0), "temperature": 0.7}).encode()
    with pytest.raises(ValueError, match="TURNSTREAM_LLM_LOGPROBS_KIND=processed"):
        bridge(ts, tmp_path).train(steps=2)


def test_keeps_files_that_a_resumed_trainer_reads_again(ts: Turnstream, tmp_path: Path) -> None:
    prime = FakePrime(tmp_path)
    bridge(ts, tmp_path, keep=2).train(steps=4)
    assert len(list((tmp_path / "rollouts").iterdir())) == 4 and len(list((tmp_path / "versions").iterdir())) == 2
    (tmp_path / "checkpoints" / "step_2").mkdir(parents=True)
    bridge(ts, tmp_path, keep=2).train(steps=5)
    prime.stop()
    assert sorted(path.name for path in (tmp_path / "rollouts").iterdir()) == ["step_3", "step_4", "step_5"]


@pytest.mark.parametrize("module", ["trl.py", "_trl_callback.py", "prime_rl.py"])
def test_an_adapter_is_short_and_needs_its_package_only_when_it_runs(module: str) -> None:
    text = (Path(__file__).parent.parent / "turnstream" / module).read_text()
    assert len(text.splitlines()) <= 300
    imported = {name.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import) for name in node.names}
    assert not imported & {"msgspec", "numpy", "safetensors", "torch", "transformers", "trl"}
