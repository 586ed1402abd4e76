"""Server-sent events."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

#: What the stream says about itself. `gap` is passed on: events are missing there.
STREAM_NEWS = frozenset({"connected", "fell-behind", "closing"})


@dataclass(frozen=True)
class Event:
    """An event of the log."""

    #: Its type, such as `TurnRecorded`; `gap` where the log no longer has what was missed.
    type: str
    #: Where to go on after it.
    id: str
    data: Any


class EventParser:
    """Takes the lines of a stream of events."""

    def __init__(self) -> None:
        self._type = ""
        self._id = ""
        self._data: list[str] = []

    def line(self, line: str) -> Event | None:
        """The event that ends with this line."""
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
