"""Sleeping, and repeating an action in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

sleep = asyncio.sleep


class AsyncRepeated:
    """Calls `action` every `seconds` until it is stopped or the action returns False."""

    def __init__(self, action: Callable[[], Awaitable[bool]], seconds: float) -> None:
        self._action = action
        self._seconds = seconds
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            if not await self._action():
                return

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
