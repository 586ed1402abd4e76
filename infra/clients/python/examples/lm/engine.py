"""The engine: an OpenAI-compatible completions server that returns token ids, log probabilities, and versions, and loads new weights.

It responds with the fields of vLLM and SGLang, whether they are requested or not: `prompt_token_ids`, `token_ids`, `logprobs`, and
`metadata.weight_versions` with a span for each version that generated a part. It has SGLang's routes for new weights, so that turnstream
can update it (`TURNSTREAM_ENGINES=sglang=http://...`). One thread generates, so that weights change between two tokens.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import queue
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from model import load_weights
from models import SMALL, Model, add_model, named
from sampling import Generation, Sampler


class Engine:
    """Batches the generation of requests from many threads."""

    def __init__(self, weights: Path, version: int, slots: int, seed: int, model: Model = SMALL) -> None:
        self.model = model
        data = weights.read_bytes()
        self.sha256 = hashlib.sha256(data).hexdigest()
        self.label = str(version)
        self._running = threading.Event()
        self._running.set()
        self._sampler = Sampler(load_weights(data), version, slots, seed, model)
        self._inbox: queue.Queue[Generation | Callable[[], None]] = queue.Queue()
        self._waiting: list[Generation] = []
        threading.Thread(target=self._run, name="generate", daemon=True).start()

    def generate(self, prompt: list[int], max_tokens: int, temperature: float) -> Generation:
        ended = threading.Event()
        generation = Generation(prompt, max_tokens, temperature, lambda _: ended.set())
        self._inbox.put(generation)
        ended.wait()
        return generation

    def pause(self) -> None:
        """Generates no token until it is resumed."""
        self._running.clear()

    def resume(self) -> None:
        self._running.set()
        self._inbox.put(lambda: None)

    def load(self, path: Path, label: str, sha256: str | None) -> str | None:
        """Loads new weights, or returns the reason why not. Weights with another hash than announced are refused."""
        # the name of a version ends with its number
        version = int("".join(filter(str.isdigit, label.rpartition("/")[2])))
        data = path.read_bytes()
        found = hashlib.sha256(data).hexdigest()
        if sha256 not in (None, found):
            return f"{path} has the hash {found}, not {sha256}"
        weights, ended = load_weights(data), threading.Event()

        def swap() -> None:
            self._sampler.load(weights, version)
            self.sha256, self.label = found, label
            ended.set()

        self._inbox.put(swap)
        ended.wait()
        return None

    def _run(self) -> None:
        while True:
            idle = not self._waiting and self._sampler.idle
            self._take_in(block=idle or not self._running.is_set())
            if not self._running.is_set():
                continue
            while self._waiting and self._sampler.free:
                self._sampler.start(self._waiting.pop(0))
            if not self._sampler.idle:
                self._sampler.step()

    def _take_in(self, block: bool) -> None:
        while True:
            try:
                item = self._inbox.get(block=block)
            except queue.Empty:
                return
            block = False
            if isinstance(item, Generation):
                self._waiting.append(item)
            else:
                item()


def answer_of(generation: Generation, model: Model) -> dict[str, Any]:
    spans = [{"version": version, "tokens": len(list(part))} for version, part in groupby(generation.versions)]
    count = {"prompt_tokens": len(generation.prompt), "completion_tokens": len(generation.ids)}
    choice = {
        **{"index": 0, "text": model.decode(generation.ids), "finish_reason": generation.finish_reason},
        **{"prompt_token_ids": generation.prompt, "token_ids": generation.ids},
        "logprobs": {"tokens": [model.decode([i]) for i in generation.ids], "token_logprobs": generation.logprobs},
    }
    metadata = {"weight_versions": spans, "tokenizer_sha256": model.tokenizer_sha256, "engine": model.engine}
    usage = {**count, "total_tokens": sum(count.values())}
    source = {"model": model.name, "system_fingerprint": model.engine}
    return {"object": "text_completion", **source, "choices": [choice], "usage": usage, "metadata": metadata}


class Handler(BaseHTTPRequestHandler):
    engine: Engine
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        model = self.engine.model
        if self.path == "/v1/models":
            self._send({"object": "list", "data": [{"id": model.name, "object": "model", "max_model_len": model.context}]})
        elif self.path == "/weight_info":
            self._send({"weight_version": self.engine.label, "sha256": self.engine.sha256})
        elif self.path == "/model_info":
            self._send({"model_path": model.name, "weight_version": self.engine.label})
        else:
            self._send({"status": "ok"} if self.path == "/health" else {"error": {"message": "no such route"}}, self.path == "/health")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        if self.path == "/v1/completions":
            self._complete(body)
        elif self.path == "/update_weights_from_disk":
            path = Path(unquote(urlsplit(body["model_path"]).path))
            problem = self.engine.load(path, str(body["weight_version"]), body.get("sha256"))
            self._send({"success": problem is None, "message": problem or self.engine.label}, problem is None)
        elif self.path == "/pause_generation":
            self.engine.pause()
            self._send({"status": "paused"})
        elif self.path == "/continue_generation":
            self.engine.resume()
            self._send({"status": "running"})
        else:
            self._send({"error": {"message": "no such route"}}, False)

    def _complete(self, body: dict[str, Any]) -> None:
        model = self.engine.model
        prompt = model.encode(body["prompt"])
        room = model.context - 2 - len(prompt)
        if room < 1:
            message = f"This model's maximum context length is {model.context} tokens; the prompt has {len(prompt)}."
            self._send({"error": {"message": message, "code": "context_length_exceeded"}}, False)
            return
        generation = self.engine.generate(prompt, min(room, body.get("max_tokens", 32)), body.get("temperature", 1.0))
        self._send(answer_of(generation, model))

    def _send(self, answer: object, ok: bool = True) -> None:
        content = json.dumps(answer).encode()
        self.send_response(200 if ok else 400)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--version", type=int, default=0)
    parser.add_argument("--port", type=int, default=8600)
    parser.add_argument("--slots", type=int, help="number of sequences to generate at once; each costs time even if it is not used")
    parser.add_argument("--seed", type=int, default=1)
    add_model(parser)
    flags = parser.parse_args()
    model = named(flags.model)
    Handler.engine = Engine(flags.weights, flags.version, flags.slots or model.slots, flags.seed, model)
    server = Server(("127.0.0.1", flags.port), Handler)
    print(json.dumps({"url": f"http://127.0.0.1:{server.server_address[1]}/v1"}), flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
