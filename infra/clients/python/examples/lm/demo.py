"""Trains a language model through turnstream, from an empty directory to a verified ledger: `npm run demo:lm`.

It runs a warm start, the engine, the workers and the coordinator (`turnstream up`), and the trainer, which it kills `--kills` times and
starts again. It measures held-out accuracy before, during, and after the training. At the end `ledger verify` and `audit` check that
nothing was lost or trained twice. All that it needs is in this folder; each part can be run by hand.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import queue
import random
import signal
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from processes import Program, run
from view import View

HERE = Path(__file__).parent
ROOT = HERE.parents[4]
NODE = ["node", str(ROOT / "infra" / "cli" / "turnstream.mjs")]
DATASET = "example-lm"
SETTINGS = {
    **{"TURNSTREAM_TRAINER": "external", "TURNSTREAM_LEASE_MS": "60000"},
    **{"TURNSTREAM_POLICY": "llm", "TURNSTREAM_LLM_MODEL": "example-lm", "TURNSTREAM_LLM_API": "completions"},
    # the engine stops after the closing tag and includes it
    **{"TURNSTREAM_LLM_EXTRA": '{"stop": null}'},
    **{"TURNSTREAM_LLM_STREAM": "false", "TURNSTREAM_LLM_MAX_TOKENS": "24", "TURNSTREAM_LLM_PROMPTS": str(HERE / "prompts")},
    **{"TURNSTREAM_LLM_TOKEN_IDS": "true", "TURNSTREAM_LLM_LOGPROBS": "true", "TURNSTREAM_LLM_LOGPROBS_KIND": "processed"},
    **{"TURNSTREAM_TOOLS": "module", "TURNSTREAM_TOOLS_MODULE": str(HERE / "tools.mjs")},
    **{"TURNSTREAM_REWARD": "em", "TURNSTREAM_MAX_TURNS": "4"},
    **{"TURNSTREAM_GROUP_SIZE": "8", "TURNSTREAM_BATCH_GROUPS": "16", "TURNSTREAM_MAX_CONCURRENT": "24"},
    # the trainer is slower than the engine, so the staleness stays at its limit; with a limit of 4, accuracy stops rising after ten steps
    **{"TURNSTREAM_MAX_STALENESS": "1"},
}


@dataclass(frozen=True)
class Plan:
    """The default length of a run, and what else depends on the model."""

    steps: int
    warm_steps: int
    #: Held-out questions per evaluation.
    questions: int
    #: Files on which version 0 depends, in addition to those that it depends on for every model.
    files: tuple[str, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)


SMOLLM2 = {
    **{"TURNSTREAM_LLM_MODEL": "smollm2", "TURNSTREAM_LLM_MAX_TOKENS": "32"},
    **{"TURNSTREAM_BATCH_GROUPS": "4", "TURNSTREAM_MAX_STALENESS": "4"},
}
PLANS = {"small": Plan(60, 400, 200), "smollm2": Plan(40, 80, 96, ("smollm2.py",), SMOLLM2)}


@dataclass
class Record:
    """The results of one run, as written to the file of `--out`."""

    run: str
    seed: int
    steps: int
    model: str = "small"
    kills: int = 0
    warm_start_sha256: str = ""
    before: dict[str, float] = field(default_factory=dict)
    after: dict[str, float] = field(default_factory=dict)
    #: Percentage points.
    gain: float = 0.0
    seconds: float = 0.0
    ledger_verify: str = ""
    audit: str = ""
    curve: list[dict[str, Any]] = field(default_factory=list)


def told_by(line: str | None) -> dict[str, Any]:
    """An event that `turnstream up` prints."""
    told: dict[str, Any] = json.loads(line) if line is not None and line.startswith("{") else {}
    return told


class Demo:
    """One run with one seed."""

    def __init__(self, flags: argparse.Namespace, seed: int, view: View) -> None:
        self.flags, self.view, self.rng = flags, view, random.Random(seed)
        self.plan = PLANS[flags.model]
        self.record = Record(f"lm-{time.strftime('%m%d-%H%M%S')}-{seed}", seed, flags.steps, flags.model)
        self.folder = Path(os.environ.get("TURNSTREAM_DATA_DIR", ".turnstream")).resolve() / "lm" / self.record.run
        self.folder.mkdir(parents=True)
        self.programs: list[Program] = []
        # caches compiled programs across restarts of the trainer
        self.env = {"JAX_COMPILATION_CACHE_DIR": str(self.folder.parent / "compiled"), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}

    def play(self) -> Record:
        begun = time.monotonic()
        try:
            self._play()
        finally:
            self._end()
        self.record.seconds = round(time.monotonic() - begun)
        return self.record

    def _play(self) -> None:
        warm = self._warm_start()
        self.view.title(f"run {self.record.run}: {self.flags.steps} steps, trainer killed {self.flags.kills} times; logs in {self.folder}")
        self._import_questions()
        engine = self._start("engine", self._model("engine.py", str(warm), "--port", "0", *self._seeded()))
        url = json.loads(engine.first_line())["url"]
        asked = ["--questions", str(self.flags.questions), "--every", str(self.flags.every), "--last", str(self.flags.steps)]
        scores = self._start("evaluate", self._model("evaluate.py", "--follow", str(self.folder), *asked))
        self.record.before = self._score(scores, warm, 0)
        up = self._start_up(url)
        self._train(up, url, scores)
        tries = self.folder.glob(f"v{self.flags.steps}.*.safetensors")
        last = max(tries, key=lambda file: int(file.stem.partition(".")[2]))
        self.record.after = self._score(scores, last, self.flags.steps)
        self.record.gain = round(100 * (self.record.after["all"] - self.record.before["all"]), 1)
        up.wait()
        self.record.ledger_verify = self._check("ledger", "verify", "--run", self.record.run)
        self.record.audit = self._check("audit")

    def _warm_start(self) -> Path:
        """Version 0, trained again only if its code, the seed, or the number of steps has changed."""
        files = ("warm_start.py", "task.py", "model.py", "models.py", "vocabulary.py", "facts.tsv", *self.plan.files)
        name = hashlib.sha256(b"".join((HERE / file).read_bytes() for file in files)).hexdigest()[:12]
        made = self.folder.parent / f"warm-{name}-{self.record.seed}-{self.plan.warm_steps}.safetensors"
        if not made.exists():
            self.view.title(f"version 0: a warm start of {self.plan.warm_steps} steps of supervised learning")
            partial = made.with_suffix(".new.safetensors")
            steps = ("--steps", str(self.plan.warm_steps))
            program = self._start("warm-start", self._model("warm_start.py", str(partial), *self._seeded(), *steps))
            for line in iter(program.lines.get, None):
                self.view.note(line)
            if program.wait() != 0:
                raise program.failed()
            partial.replace(made)
        copy = self.folder / "v0.safetensors"
        copy.write_bytes(made.read_bytes())
        self.record.warm_start_sha256 = hashlib.sha256(copy.read_bytes()).hexdigest()
        self.view.note(f"version 0 is {self.record.warm_start_sha256}")
        return copy

    def _import_questions(self) -> None:
        file = self.folder / "questions.jsonl"
        run("questions", self._python("task.py", str(file)), self.folder)
        self.view.note(run("import", [*NODE, "questions", "import", str(file), "--dataset", DATASET], self.folder, cwd=ROOT)[-1])

    def _start_up(self, url: str) -> Program:
        """`turnstream up`: Kafka, the store, the API, the coordinator, and the workers."""
        command = [*NODE, "up", "--run", self.record.run, *self._seeded(), "--steps", str(self.flags.steps)]
        first = {"URI": (self.folder / "v0.safetensors").as_uri(), "SHA256": self.record.warm_start_sha256}
        warm = {f"TURNSTREAM_INITIAL_POLICY_{name}": value for name, value in first.items()}
        settings = {**SETTINGS, **self.plan.settings, **warm, "TURNSTREAM_LLM_URL": url}
        up = self._start("up", [*command, "--dataset", DATASET, "--no-eval"], settings, ROOT)
        while True:
            line = told_by(up.first_line())
            if line.get("event") == "listening":
                self.env["TURNSTREAM_URL"] = line["url"]
                self.view.note(f"the dashboard is at {line['url']}")
                return up

    def _train(self, up: Program, url: str, scores: Program) -> None:
        """The trainer, restarted whenever it ends before its work is done."""
        paths = ["--folder", str(self.folder), "--warm-start", str(self.folder / "v0.safetensors")]
        command = self._model("trainer.py", "--run", self.record.run, "--engine", url, *paths, "--steps", str(self.flags.steps))
        moments = [(at + 0.5) * self.flags.steps / self.flags.kills for at in range(self.flags.kills)]
        trainer = self._start("trainer", command)
        deadline: float | None = None
        failed_at = -1
        while trainer.code != 0:
            step = self._look(up, scores)
            if moments and step >= moments[0]:
                # at a random moment of the next step
                deadline, moments = time.monotonic() + self.rng.uniform(0, 4), moments[1:]
            if deadline is not None and time.monotonic() > deadline and trainer.code is None:
                deadline = None
                trainer.kill()
                trainer.wait()
                self.record.kills += 1
                self.view.note(f"the trainer was killed after step {step}")
            elif trainer.code not in (None, 0):
                if failed_at == step:
                    raise trainer.failed()
                failed_at = step
            if trainer.code not in (None, 0):
                self.programs.remove(trainer)
                trainer = self._start("trainer", command)
            if up.code not in (None, 0):
                raise up.failed()

    def _look(self, up: Program, scores: Program) -> int:
        """Processes at most one score and one line of `up`, waiting up to half a second for the line, and returns the newest step."""
        self._take_score(scores)
        try:
            line = up.lines.get(timeout=0.5)
        except queue.Empty:
            line = None
        told = told_by(line)
        if told.get("event") == "progress":
            row = {name: told.get(name) for name in ("step", "reward_mean", "staleness_mean")}
            self.record.curve.append(row)
            self.view.step(row)
        return int(self.record.curve[-1]["step"]) if self.record.curve else 0

    def _take_score(self, scores: Program) -> dict[str, Any] | None:
        try:
            line = scores.lines.get_nowait()
        except queue.Empty:
            return None
        if line is None:
            raise scores.failed()
        score: dict[str, Any] = json.loads(line)
        self.view.score(score)
        for row in self.record.curve:
            if row["step"] == score["version"]:
                row["heldout"] = score["all"]
        return score

    def _score(self, scores: Program, weights: Path, version: int) -> dict[str, float]:
        """Held-out accuracy of a version, as soon as the evaluator has it."""
        while not weights.exists():
            time.sleep(0.1)
        while True:
            score = self._take_score(scores)
            if score is not None and score["version"] == version:
                return {name: score[name] for name in ("all", "sums", "facts")}
            time.sleep(0.1)

    def _check(self, *command: str) -> str:
        said = run(command[0], [*NODE, *command], self.folder, cwd=ROOT)
        line = said[-1] if said else "ok"
        self.view.note(f"{' '.join(command)}: {line}")
        return line

    def _python(self, *command: str) -> list[str]:
        return [sys.executable, str(HERE / command[0]), *command[1:]]

    def _model(self, *command: str) -> list[str]:
        return [*self._python(*command), "--model", self.flags.model]

    def _seeded(self) -> tuple[str, str]:
        return ("--seed", str(self.record.seed))

    def _start(self, name: str, command: list[str], env: dict[str, str] | None = None, cwd: Path | None = None) -> Program:
        program = Program(name, command, self.folder, {**self.env, **(env or {})}, cwd)
        self.programs.append(program)
        return program

    def _end(self) -> None:
        """Stops the trainer first and the engine last, so that no process waits for one that has stopped."""
        order = ["warm-start", "trainer", "up", "evaluate", "engine"]
        for program in sorted(self.programs, key=lambda one: order.index(one.name)):
            program.end(signal.SIGINT if program.name == "up" else signal.SIGTERM)


def main() -> int:
    parser = argparse.ArgumentParser(prog="npm run demo:lm --", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", choices=tuple(PLANS), default="small", help="smollm2: LoRA on SmolLM2-135M, which takes much longer")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1, help="number of consecutive runs, each with the next seed")
    parser.add_argument("--kills", type=int, default=0, help="number of times to kill the trainer")
    parser.add_argument("--questions", type=int, help="number of held-out questions per evaluation")
    parser.add_argument("--every", type=int, default=10, help="number of steps between evaluations")
    parser.add_argument("--out", type=Path, help="file for the results, as JSON")
    parser.add_argument("--short", action="store_true", help="run a few steps and check that accuracy rises, for tests")
    flags = parser.parse_args()
    plan = PLANS[flags.model]
    flags.steps, flags.questions = flags.steps or plan.steps, flags.questions or plan.questions
    if flags.short:
        flags.steps, flags.questions = 4, 96
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    view = View()
    records = []
    try:
        for seed in range(flags.seed, flags.seed + flags.seeds):
            records.append(Demo(flags, seed, view).play())
            view.result(records[-1])
    except KeyboardInterrupt:
        view.note("stopped; everything has ended")
        return 130
    finally:
        if flags.out is not None:
            flags.out.write_text(json.dumps([asdict(record) for record in records], indent=2) + "\n")
    return 0 if all(record.gain > 0 for record in records) else 1


if __name__ == "__main__":
    sys.exit(main())
