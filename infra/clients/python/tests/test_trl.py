"""The adapter of TRL: against the protocols in the released package, and against a trainer that takes samples and syncs as TRL's does.

The released package is read, not imported, where it is installed without torch (`pip install --no-deps trl`).
"""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import inspect
import json
import queue
import sys
import types
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_api import FakeApi, problem, row

import turnstream.trl
from turnstream import Fenced, Turnstream, TurnstreamError
from turnstream.trl import Sample, TurnstreamWorker, WeightTransfer


class Tensor:
    """The part of a torch tensor that sending weights needs."""

    def __init__(self, value: str) -> None:
        self.value = value

    def detach(self) -> Tensor:
        return self

    def to(self, device: str, copy: bool) -> Tensor:
        assert (device, copy) == ("cpu", True)
        return Tensor(self.value)

    def contiguous(self) -> Tensor:
        return self


class FakeTrainer:
    """Takes a fixed number of samples per step, reads one micro-batch ahead, and syncs the weights before the first step and after each."""

    def __init__(self, worker: TurnstreamWorker, micro: int, accumulation: int) -> None:
        self.worker, self.micro, self.accumulation = worker, micro, accumulation
        self.model_version = self.step = 0
        self.samples: list[list[Sample]] = []
        self._ahead: deque[list[Sample]] = deque()
        worker.init_weight_transfer()
        self._sync()
        worker.start()

    def _sync(self) -> None:
        self.worker.pause()
        sent: Iterator[tuple[str, Tensor]] = iter([("a", Tensor(f"a{self.step}")), ("b", Tensor(f"b{self.step}"))])
        self.worker.send_weights(sent)
        assert next(sent, None) is None, "the other ranks wait for the rest"
        self.worker.resume()
        self.model_version += 1
        self.worker.update_model_version(self.model_version)

    def _read(self) -> list[Sample]:
        batch: list[Sample] = []
        while len(batch) < self.micro:
            try:
                sample = self.worker.rollout_buffer.get(timeout=0.01)
            except queue.Empty:
                self.worker.check_health(60)
                continue
            assert self.model_version - sample.model_version <= 3, "the trainer would have dropped it"
            batch.append(sample)
        return batch

    def train(self, steps: int) -> None:
        for _ in range(steps):
            taken: list[Sample] = []
            for _ in range(self.accumulation):
                self._ahead.append(self._read())
                if len(self._ahead) == 1:
                    self._ahead.append(self._read())
                taken += self._ahead.popleft()
            self.samples.append(taken)
            self.step += 1
            self._sync()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, api: FakeApi) -> None:
    monkeypatch.setattr(turnstream.trl, "_POLL", 0.005)
    monkeypatch.setattr(
        turnstream.trl, "save_file", lambda tensors, path: path.write_text(json.dumps({name: one.value for name, one in tensors.items()}))
    )
    api.prefetch = 1


def test_trains_exactly_what_was_leased(ts: Turnstream, api: FakeApi, tmp_path: Path) -> None:
    worker = TurnstreamWorker(ts.run("demo"), tmp_path / "versions", rows_per_step=4)
    trainer = FakeTrainer(worker, micro=2, accumulation=2)
    trainer.train(3)
    worker.stop()
    worker.destroy()
    assert list(api.commits) == [f"demo/step/{n}.0" for n in (1, 2, 3)]
    for taken in trainer.samples:
        rows = [sample for sample in taken if sample.advantage]
        assert [sample.input_ids.tolist() for sample in rows] == [row(number)["token_ids"] for number in range(3)]
        assert [sample.advantage for sample in taken] == [0.25, 0.25, 0.25, 0.0]
        assert rows[0].old_log_probs.dtype == np.float32 and rows[0].old_log_probs.tolist() == row(0)["logprobs"]
        # a micro-batch without a loss term would end the trainer
        assert taken[3].completion_mask.tolist() == [0, 0, 0, 0, 0, 1]
        assert {len(sample.completion_mask) == len(sample.input_ids) == len(sample.old_log_probs) for sample in taken} == {True}
    assert {path.name for path in (tmp_path / "versions").iterdir()} == {"v1.0", "v2.0", "v3.0"}
    assert json.loads((tmp_path / "versions" / "v2.0" / "model.safetensors").read_text()) == {"a": "a2", "b": "b2"}
    assert api.commits["demo/step/2.0"][0]["policy"]["format"] == "hf-safetensors"
    # batches that were read ahead are released
    assert [batch.partition(".")[0] for batch in api.released] == ["demo/step/4"] or api.leases == []


def test_a_batch_of_more_rows_than_a_step_takes_several(ts: Turnstream, api: FakeApi, tmp_path: Path) -> None:
    worker = TurnstreamWorker(ts.run("demo"), tmp_path, rows_per_step=2)
    trainer = FakeTrainer(worker, micro=2, accumulation=1)
    trainer.train(3)
    assert list(api.commits) == ["demo/step/1.0"]
    trainer.train(1)
    worker.stop()
    assert list(api.commits) == ["demo/step/1.0", "demo/step/2.0"]
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["v1.0", "v2.0"]
    assert json.loads((tmp_path / "v1.0" / "model.safetensors").read_text())["a"] == "a2"


def test_goes_on_from_the_lineage_of_its_checkpoint(ts: Turnstream, api: FakeApi, tmp_path: Path) -> None:
    worker = TurnstreamWorker(ts.run("demo"), tmp_path, rows_per_step=3)
    FakeTrainer(worker, micro=3, accumulation=1).train(2)
    checkpoint = tmp_path / "checkpoint-2"
    checkpoint.mkdir()
    worker.save(checkpoint)
    worker.stop()
    again = TurnstreamWorker(ts.run("demo"), tmp_path, rows_per_step=3, checkpoint=checkpoint)
    FakeTrainer(again, micro=3, accumulation=1).train(1)
    again.stop()
    assert len(api.lineages) == 4
    behind = TurnstreamWorker(ts.run("demo"), tmp_path, rows_per_step=3, checkpoint=checkpoint)
    with pytest.raises(TurnstreamError, match="at version 3: load the model from file:///w, and pass version=3"):
        behind.start()
    with pytest.raises(TurnstreamError, match="at version 3"):
        TurnstreamWorker(ts.run("demo"), tmp_path, rows_per_step=3).start()
    restored = TurnstreamWorker(ts.run("demo"), tmp_path, rows_per_step=3, version=3)
    FakeTrainer(restored, micro=3, accumulation=1).train(1)
    restored.stop()
    assert len(api.lineages) == 5


def test_a_fenced_trainer_writes_no_version(ts: Turnstream, api: FakeApi, tmp_path: Path) -> None:
    worker = TurnstreamWorker(ts.run("demo"), tmp_path, rows_per_step=3)
    trainer = FakeTrainer(worker, micro=3, accumulation=1)
    trainer.train(1)
    ts.run("demo").trainer("other").claim()
    with pytest.raises(Fenced):
        trainer._sync()
    worker.stop()
    assert [path.name for path in tmp_path.iterdir()] == ["v1.0"]


def test_a_batch_whose_rows_cannot_be_read_is_returned(
    ts: Turnstream, api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnstream._sync.trainer._PATIENCE", 0.0)
    failures = iter(range(20))
    api.before.append(
        lambda request: problem(503, "INTERNAL") if request.url.path.endswith("/rows") and next(failures, None) is not None else None
    )
    worker = TurnstreamWorker(ts.run("demo"), tmp_path, rows_per_step=3)
    FakeTrainer(worker, micro=3, accumulation=1).train(1)
    worker.stop()
    assert "demo/step/1.0" in api.released and [name.partition(".")[0] for name in api.commits] == ["demo/step/1"]


def test_says_why_there_are_no_samples(ts: Turnstream, api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # otherwise the rows of a leased batch are requested for two minutes
    monkeypatch.setattr("turnstream._sync.trainer._PATIENCE", 0.0)
    worker = TurnstreamWorker(ts.run("demo"), tmp_path, rows_per_step=3)
    api.content = json.dumps({**row(0), "token_ids": [], "mask": [], "logprobs": [], "trainable": False, "why_not": "no_token_ids"}).encode()
    with pytest.raises(RuntimeError, match="has failed") as caught:
        FakeTrainer(worker, micro=1, accumulation=1).train(1)
    worker.stop()
    assert "TURNSTREAM_LLM_TOKEN_IDS" in str(caught.value.__cause__)
    api.content = json.dumps(row(0)).encode()
    silent = TurnstreamWorker(ts.run("demo"), tmp_path, rows_per_step=3)
    silent.start()
    silent.check_health(60)
    api.before.append(lambda request: problem(503, "COORDINATOR_UNAVAILABLE"))
    with pytest.raises(RuntimeError, match="has not responded for 0 s"):
        silent.check_health(0)
    silent.stop()


def test_sends_weights_to_the_engine_as_well(ts: Turnstream, api: FakeApi, tmp_path: Path) -> None:
    calls: list[str] = []

    class Engine:
        def init_weight_transfer(self) -> None:
            calls.append("init")

        def pause(self) -> None:
            calls.append("pause")

        def send_weights(self, iterator: Iterator[tuple[str, Any]]) -> None:
            calls.extend(tensor.value for _, tensor in iterator)

        def resume(self) -> None:
            calls.append("resume")

        def destroy(self) -> None:
            calls.append("destroy")

    engine: WeightTransfer = Engine()
    base = tmp_path / "base"
    base.mkdir()
    for name in ("config.json", "tokenizer.json", "model.safetensors", "model.safetensors.index.json"):
        (base / name).write_text("{}")
    worker = TurnstreamWorker(ts.run("demo"), tmp_path, rows_per_step=3, base=base, transfer=engine)
    FakeTrainer(worker, micro=3, accumulation=1).train(1)
    worker.stop()
    worker.destroy()
    sync = ["pause", "a0", "b0", "resume"]
    assert calls == ["init", *sync, *(call.replace("0", "1") for call in sync), "destroy"]
    assert sorted(path.name for path in (tmp_path / "v1.0").iterdir()) == ["config.json", "model.safetensors", "tokenizer.json"]


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch) -> type:
    """transformers.TrainerCallback."""
    fake = types.ModuleType("transformers")
    fake.TrainerCallback = type("TrainerCallback", (), {"on_save": None, "on_log": lambda *_: None})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "transformers", fake)
    return fake.TrainerCallback


def arguments(**more: Any) -> Any:
    """What the callback reads of AsyncGRPOConfig, as in the guide for a step of three samples."""
    size = {"per_device_train_batch_size": 3, "gradient_accumulation_steps": 1, "world_size": 1}
    rest = {"token_budget": 0, "weight_sync_steps": 1, "max_staleness": 1_000_000, "temperature": 1.0}
    return types.SimpleNamespace(**{**size, **rest, **more})


def test_every_checkpoint_gets_the_lineage(ts: Turnstream, tmp_path: Path, base: type) -> None:
    worker = TurnstreamWorker(ts.run("demo"), tmp_path, rows_per_step=3)
    callback = worker.checkpoint_callback()
    assert isinstance(callback, base) and callback.on_log() is None
    FakeTrainer(worker, micro=3, accumulation=1).train(1)
    (tmp_path / "checkpoint-1").mkdir()
    args = types.SimpleNamespace(output_dir=str(tmp_path))
    callback.on_save(args, types.SimpleNamespace(global_step=1, is_world_process_zero=True), None, model=None)
    worker.stop()
    assert json.loads((tmp_path / "checkpoint-1" / "turnstream.json").read_text()) == {"lineage": "lineage-1", "version": 1}


@pytest.mark.parametrize(("asked", "made"), [([1, 1, 1, 1], [0, 1, 0, 1]), ([1, 0, 0, 0], [0, 1, 0, 0]), ([0, 1, 0, 0], [0, 1, 0, 0])])
def test_a_checkpoint_waits_for_the_end_of_its_batch(
    ts: Turnstream, api: FakeApi, tmp_path: Path, base: type, asked: list[int], made: list[int]
) -> None:
    worker = TurnstreamWorker(ts.run("demo"), tmp_path, rows_per_step=2)
    callback, trainer = worker.checkpoint_callback(), FakeTrainer(worker, micro=2, accumulation=1)
    saved = []
    for should_save in asked:
        trainer.train(1)
        control = types.SimpleNamespace(should_save=bool(should_save))
        callback.on_step_end(arguments(), None, control, model=None)
        saved.append(int(control.should_save))
    worker.stop()
    assert saved == made and list(api.commits) == ["demo/step/1.0", "demo/step/2.0"]


def test_saves_no_weights_that_learned_from_a_part_of_a_batch(ts: Turnstream, tmp_path: Path) -> None:
    worker = TurnstreamWorker(ts.run("demo"), tmp_path, rows_per_step=2)
    trainer = FakeTrainer(worker, micro=2, accumulation=1)
    trainer.train(1)
    with pytest.raises(RuntimeError, match="learned from a part of demo/step/1.0"):
        worker.save(tmp_path)
    trainer.train(1)
    worker.save(tmp_path)
    worker.stop()
    assert json.loads((tmp_path / "turnstream.json").read_text())["lineage"] == "lineage-1"


def test_all_processes_save_at_the_same_step(ts: Turnstream, tmp_path: Path, base: type, monkeypatch: pytest.MonkeyPatch) -> None:
    utils = types.ModuleType("accelerate.utils")
    # what the first process sends to the others; this process is one of them
    utils.broadcast_object_list = lambda objects: [True] if objects == [False] else objects  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "accelerate.utils", utils)
    callback = TurnstreamWorker(ts.run("demo"), tmp_path, rows_per_step=3).checkpoint_callback()
    control = types.SimpleNamespace(should_save=True)
    callback.on_step_end(arguments(world_size=2), None, control)
    assert control.should_save is False


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"max_staleness": 4}, "max_staleness=1000000"),
        ({"token_budget": None}, "token_budget=0"),
        ({"token_budget": 4096}, "token_budget=0"),
        ({"weight_sync_steps": 2}, "weight_sync_steps=1"),
        ({"gradient_accumulation_steps": 4}, "rows_per_step=12"),
        ({"world_size": 2}, "rows_per_step=6"),
    ],
)
def test_refuses_settings_that_drop_rows_or_count_them_wrongly(
    ts: Turnstream, tmp_path: Path, base: type, wrong: dict[str, Any], said: str
) -> None:
    callback = TurnstreamWorker(ts.run("demo"), tmp_path, rows_per_step=3).checkpoint_callback()
    callback.on_train_begin(arguments(), None, None)
    with pytest.raises(ValueError, match=f"set {said}"):
        callback.on_train_begin(arguments(**wrong), None, None)


def test_refuses_rows_of_another_temperature(ts: Turnstream, api: FakeApi, tmp_path: Path, base: type) -> None:
    # 0.7 as a 32-bit float
    rows = [{**row(0), "temperature": 0.699999988079071, "logprobs_kind": "processed"}, {**row(1), "temperature": None}]
    api.content = "".join(json.dumps(one) + "\n" for one in rows).encode()
    worker = TurnstreamWorker(ts.run("demo"), tmp_path, rows_per_step=2)
    callback = worker.checkpoint_callback()
    FakeTrainer(worker, micro=2, accumulation=1).train(1)
    callback.on_step_begin(arguments(temperature=0.7), None, None)
    with pytest.raises(ValueError, match="sampled at temperature 0.7, but the trainer computes log probabilities at 1.0"):
        callback.on_step_begin(arguments(), None, None)
    worker.stop()


def released(module: str) -> dict[str, ast.ClassDef]:
    """The classes of a module of the installed package."""
    spec = importlib.util.find_spec("trl")
    if spec is None or spec.origin is None:
        pytest.skip("trl is not installed")
    tree = ast.parse((Path(spec.origin).parent / "experimental" / "async_grpo" / module).read_text())
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


@pytest.mark.parametrize("protocol", ["RolloutWorkerProtocol", "WeightTransferProtocol"])
def test_has_what_the_released_protocols_ask_for(ts: Turnstream, tmp_path: Path, protocol: str) -> None:
    worker = TurnstreamWorker(ts.run("demo"), tmp_path, rows_per_step=3)
    body = released("async_grpo_trainer.py")[protocol].body
    methods = [node for node in body if isinstance(node, ast.FunctionDef)]
    assert methods
    for method in methods:
        asked = [arg.arg for arg in method.args.args if arg.arg != "self"]
        assert list(inspect.signature(getattr(worker, method.name)).parameters) == asked, method.name
    for node in body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            assert isinstance(getattr(worker, node.target.id), queue.Queue)


def test_a_sample_has_the_fields_of_the_released_one() -> None:
    body = released("async_rollout_worker.py")["RolloutSample"].body
    asked = [node.target.id for node in body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)]
    assert [field.name for field in dataclasses.fields(Sample)] == asked


def released_tree_row() -> Any:
    """The packer of the released trainer, with numpy in place of torch."""
    number = types.SimpleNamespace(
        Tensor=np.ndarray, tensor=lambda values, dtype=None: np.array(values, dtype), long=np.int64, int32=np.int32, float32=np.float32
    )
    names: dict[str, Any] = {"torch": number, "Any": Any}
    exec(compile(ast.Module([released("packing.py")["TreeRow"]], []), "packing.py", "exec"), names)
    return names["TreeRow"]


@pytest.mark.parametrize("usable", [True, False])
def test_every_sample_has_a_loss_term_for_the_released_packer(ts: Turnstream, api: FakeApi, tmp_path: Path, usable: bool) -> None:
    tree_row = released_tree_row()
    short = {**row(1), "token_ids": [7], "mask": [0], "logprobs": [0.0], "trainable": False}
    api.content = "".join(json.dumps(one) + "\n" for one in ({**row(0), "trainable": usable}, short)).encode()
    worker = TurnstreamWorker(ts.run("demo"), tmp_path, rows_per_step=4)
    trainer = FakeTrainer(worker, micro=4, accumulation=1)
    trainer.train(1)
    worker.stop()
    (taken,) = trainer.samples
    assert [sample.advantage for sample in taken] == [0.25 if usable else 0.0, 0.0, 0.0, 0.0]
    for sample in taken:
        packed = tree_row()
        packed.add(vars(sample))
        assert packed.pack()["token_index"].size == (4 if sample.advantage else 1)


def test_is_what_the_released_trainer_takes(ts: Turnstream, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    trainer = pytest.importorskip("trl.experimental.async_grpo.async_grpo_trainer")
    worker = TurnstreamWorker(ts.run("demo"), tmp_path, rows_per_step=2)
    data = trainer.RolloutQueueDataset(worker.rollout_buffer, lambda: 1, worker.check_health, 60, {})
    worker.start()
    rows = next(iter(trainer.FixedCountBatcher(data, num_processes=1, microbatch_size=2)))
    worker.stop()
    assert len(rows) == 1
