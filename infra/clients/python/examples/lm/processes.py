"""Starts the programs of the demonstration, each with its own log, and stops them."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

_PATIENCE, _LAST_WORDS = 60.0, 5.0


class Program:
    """A program in its own session, so that Ctrl-C in the terminal reaches only the demonstration, which stops all programs in order."""

    def __init__(self, name: str, command: Sequence[str], folder: Path, env: dict[str, str] | None = None, cwd: Path | None = None) -> None:
        self.name, self.log = name, folder / f"{name}.log"
        self.lines: queue.Queue[str | None] = queue.Queue()
        with self.log.open("ab") as errors:
            self._process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, env={**os.environ, **(env or {})}, cwd=cwd, start_new_session=True
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as said, self.log.open("ab") as log:
            for line in said:
                log.write(line)
                log.flush()
                self.lines.put(line.decode(errors="replace").rstrip("\n"))
        self.lines.put(None)

    @property
    def code(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    def wait(self) -> int:
        code = self._process.wait()
        # its child processes may hold the pipe open
        self._reader.join(_LAST_WORDS)
        return code

    def kill(self) -> None:
        self._process.kill()

    def end(self, how: int = signal.SIGTERM) -> None:
        """Asks it to stop, and kills it after a minute."""
        if self.code is None:
            self._process.send_signal(how)
            try:
                self._process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self.wait()

    def failed(self) -> SystemExit:
        """Its latest output, for an error message."""
        code = self.wait()
        tail = self.log.read_text(errors="replace").splitlines()[-15:]
        return SystemExit("\n".join([f"{self.name} has ended with {code}; {self.log} ends with:", *tail]))

    def first_line(self) -> str:
        line = self.lines.get()
        if line is None:
            raise self.failed()
        return line


def run(name: str, command: Sequence[str], folder: Path, env: dict[str, str] | None = None, cwd: Path | None = None) -> list[str]:
    """Runs a program to completion, and returns its output lines."""
    program = Program(name, command, folder, env, cwd)
    try:
        if program.wait() != 0:
            raise program.failed()
    finally:
        program.end()
    return list(iter(program.lines.get, None))
