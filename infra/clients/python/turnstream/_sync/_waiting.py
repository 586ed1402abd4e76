"""Sleeping, and repeating an action in the background."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

sleep = time.sleep


class Repeated:
    """Calls `action` every `seconds` in a thread until it is stopped or the action returns False."""

    def __init__(self, action: Callable[[], bool], seconds: float) -> None:
        self._action = action
        self._seconds = seconds
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="turnstream-extend", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.wait(self._seconds):
            if not self._action():
                return

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
