"""Server-sent events."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

#: Messages about the stream itself, which are not passed on. `gap` is passed on, because events are missing there.
STREAM_NEWS = frozenset({"connected", "fell-behind", "closing"})


@dataclass(frozen=True)
class Event:
    """An event of the log."""

    #: Its type, such as `TurnRecorded`; `gap` if the log no longer has the events that were missed.
    type: str
    #: Pass this as `after` to continue after the event.
    id: str
    data: Any


class EventParser:
    """Parses a stream of events line by line."""

    def __init__(self) -> None:
        self._type = ""
        self._id = ""
        self._data: list[str] = []

    def line(self, line: str) -> Event | None:
        """Returns the event that this line completes, if any."""
        if line == "":
            return self._end()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._type = value
        elif name == "id":
            self._id = value
        elif name == "data":
            self._data.append(value)
        return None

    def _end(self) -> Event | None:
        kind, text = self._type or "message", "\n".join(self._data)
        self._type, self._data = "", []
        if text == "":
            return None
        try:
            return Event(kind, self._id, json.loads(text))
        except ValueError:
            return Event(kind, self._id, text)
