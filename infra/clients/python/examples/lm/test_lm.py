"""The parts of the example, each compared with another way to compute the same result."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests")]
pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import trainer  # noqa: E402
from fake_api import FakeApi  # noqa: E402
from grpo import train_step  # noqa: E402
from model import load_weights, new_weights, save_weights, token_logprobs  # noqa: E402
from models import SMALL  # noqa: E402
from optimizer import new_adam  # noqa: E402
from sampling import Generation, Sampler  # noqa: E402
from task import FACTS, calculate, demonstration, look_up, made_up_fact, make_question, read_call  # noqa: E402
from turnstream import Turnstream  # noqa: E402
from vocabulary import decode, encode  # noqa: E402
from warm_start import make_batch, train  # noqa: E402


def test_text_and_tokens_determine_each_other() -> None:
    rng = random.Random(1)
    for _ in range(200):
        text = "".join(part for _, part in demonstration(rng, make_question(rng, bool(rng.getrandbits(1))), 0.3))
        assert decode(encode(text)) == text
    assert decode(encode("a<b")) == "a?b"


def test_a_demonstration_is_right_unless_it_is_hasty() -> None:
    rng = random.Random(2)
    for _ in range(100):
        for question in (make_question(rng, held_out=False), made_up_fact(rng)):
            calls = [read_call(part) for written, part in demonstration(rng, question, 0.0) if written]
            assert calls == [*question.calls, ("answer", question.answer)]


def test_generates_what_the_whole_model_says_with_the_version_of_each_token() -> None:
    weights, other = new_weights(1), new_weights(2)
    sampler, done = Sampler(weights, 3, slots=4, seed=5), []
    prompts = [encode(text) for text in ("12+3", "capital of Chad", "7", "domain of Peru\n\n<think>\n", "88-1")]
    waiting = [Generation(prompt, 20, 1.0, done.append) for prompt in prompts]
    steps = 0
    while len(done) < len(prompts):
        while waiting and sampler.free:
            sampler.start(waiting.pop())
        if steps == 17:
            sampler.load(other, 4)
        sampler.step()
        steps += 1
    for generation in done:
        ids = jnp.array([generation.prompt + generation.ids])
        by = {3: token_logprobs(weights, ids), 4: token_logprobs(other, ids)}
        expected = [by[version][0, len(generation.prompt) + at] for at, version in enumerate(generation.versions)]
        # padding is never sampled, but has a little probability
        np.testing.assert_allclose(generation.logprobs, expected, atol=0.05)
        assert generation.versions == sorted(generation.versions)
    assert {version for generation in done for version in generation.versions} == {3, 4}


def test_a_later_turn_goes_on_from_what_is_remembered() -> None:
    weights, done = new_weights(1), []
    sampler = Sampler(weights, 0, slots=2, seed=1)

    def generate(prompt: list[int]) -> tuple[Generation, int]:
        sampler.start(Generation(prompt, 8, 0.0, done.append))
        steps = 0
        while not sampler.idle:
            sampler.step()
            steps += 1
        return done[-1], steps

    first, _ = generate(encode("12+34"))
    prompt = first.prompt + first.ids + encode("\n\n<information>\n46\n</information>")
    remembered, steps = generate(prompt)
    assert steps < len(prompt)
    sampler.load(weights, 1)
    again, _ = generate(prompt)
    assert (again.ids, len(again.ids)) == (remembered.ids, len(remembered.logprobs))
    np.testing.assert_allclose(again.logprobs, remembered.logprobs, atol=1e-4)


def test_a_step_makes_what_was_rewarded_more_likely() -> None:
    rng = np.random.default_rng(1)
    weights = new_weights(1)
    ids = rng.integers(10, 40, (8, 16)).astype(np.int32)
    mask = np.ones((8, 16), np.float32)
    mask[:, :4] = 0
    before = np.asarray(token_logprobs(weights, jnp.asarray(ids)))
    advantages = np.where(np.arange(8)[:, None] < 4, 1.0, -1.0).astype(np.float32) * mask
    arrays = {"token_ids": ids, "mask": mask, "logprobs": before, "advantages": advantages}
    trained, _, figures = train_step(weights, new_adam(weights), arrays)
    change = ((np.asarray(token_logprobs(trained, jnp.asarray(ids))) - before) * mask).sum(1)
    assert change[:4].min() > 0 > change[4:].max()
    assert all(np.isfinite(value) for value in figures.values())


def test_the_parts_of_a_warm_batch_train_like_the_whole() -> None:
    # long enough for every demonstration
    whole = replace(SMALL, warm_rows=8, warm_parts=1, warm_length=120)
    one, parts = (make_batch(random.Random(4), model) for model in (whole, replace(whole, warm_parts=4)))
    assert [ids.shape[0] for ids, _ in parts] == [2] * 4
    assert parts[0][0].shape[1] < one[0][0].shape[1]
    assert sum(mask.sum() for _, mask in parts) == one[0][1].sum() > 0
    found = [train(new_weights(1), new_adam(new_weights(1)), batch, 1e-3, whole) for batch in (one, parts)]
    assert float(found[0][2]) == pytest.approx(float(found[1][2]), rel=1e-5)
    (first, _, _), (second, _, _) = found
    for name, array in first.items():
        np.testing.assert_allclose(second[name], array, atol=2e-4, err_msg=name)


def test_weights_come_back_from_their_file(tmp_path: Path) -> None:
    weights = new_weights(3)
    assert 900_000 < sum(array.size for array in weights.values()) < 1_000_000
    save_weights(tmp_path / "w.safetensors", weights)
    back = load_weights((tmp_path / "w.safetensors").read_bytes())
    assert all((back[name] == weights[name]).all() for name in weights) and back.keys() == weights.keys()


def test_a_trainer_whose_first_step_was_lost_starts_again_from_the_warm_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api, warm = FakeApi(), tmp_path / "warm.safetensors"
    api.unpublished = True
    save_weights(warm, new_weights(1))

    def step(weights: dict[str, jnp.ndarray], adam: object, *_: object, **__: object) -> tuple[object, object, dict[str, float]]:
        return {name: array + 1 for name, array in weights.items()}, adam, {"loss": 0.0}

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(trainer, "train_step", step)
    monkeypatch.setattr(trainer.Training, "push", lambda self, version, file: None)
    with Turnstream("http://api.test", transport=api.transport()) as ts:
        with monkeypatch.context() as patch:
            patch.setattr("turnstream.Batch.commit", die)
            with pytest.raises(KeyboardInterrupt):
                trainer.Training("demo", "", tmp_path, warm).train(ts, 1)
        api.out = None
        trainer.Training("demo", "", tmp_path, warm).train(ts, 1)
    assert list(api.commits) == ["demo/step/1.0"]
    made, first = (load_weights(file.read_bytes()) for file in (tmp_path / "v1.0.safetensors", warm))
    for name, array in first.items():
        np.testing.assert_array_equal(made[name], array + 1)


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_the_tools_of_the_workers_are_those_of_the_task() -> None:
    inputs = ["17+25", "-3 - 9", "5-80", "2*3", "1+", "", "capital of Chad", "domain of Peru", "capital of Atlantis", *list(FACTS)[:3]]
    code = "const [calc, look] = (await import('./tools.mjs')).default(); const out = []; "
    code += "for (const i of JSON.parse(process.argv[1])) out.push([(await calc.call(i)).text, (await look.call(i)).text]); "
    code += "console.log(JSON.stringify(out))"
    ran = subprocess.run(["node", "--input-type=module", "-e", code, json.dumps(inputs)], cwd=HERE, capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == [[calculate(text), look_up(text)] for text in inputs]
