"""The live stream of events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from .._request import Request
from ..errors import ApiError, ConnectionFailed
from ..live import STREAM_NEWS, Event, EventParser
from ._waiting import sleep
from .transport import AsyncTransport

_PAUSE = 1.0


async def follow(transport: AsyncTransport, run: str | None, types: Sequence[str], after: str | None) -> AsyncIterator[Event]:
    """Events from now on, or from the event after the id `after`. After a broken connection, the stream resumes where it broke."""
    known = after is not None
    while True:
        headers = {"accept": "text/event-stream", **({"last-event-id": after} if after else {})}
        try:
            async with transport.stream(Request("GET", "/v1/live", {"run": run, "type": list(types) or None}, headers=headers)) as response:
                parser = EventParser()
                async for line in response.aiter_lines():
                    event = parser.line(line)
                    if event is None:
                        continue
                    known, after = True, event.id or after
                    if event.type not in STREAM_NEWS:
                        yield event
        except ConnectionFailed:
            if not known:
                raise
        except ApiError as error:
            if not known or error.status < 500:
                raise
        await sleep(_PAUSE)
