"""What schemathesis needs to know of this API and the document cannot say."""

import json

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def ndjson(_context, value):
    if isinstance(value, bytes):
        return value
    lines = value if isinstance(value, list) else [value]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


@schemathesis.hook
def map_case(_context, case):
    """Posted events that fit the address and each other: a run_id is that of the address, an event_id is made of the event, and two
    events of one identity have one value."""
    is_valid = case.meta is None or not case.meta.generation.mode.is_negative
    if case.operation.definition.raw.get("operationId") == "recordEvents" and is_valid and isinstance(case.body, list):
        case.body = [
            {**{name: value for name, value in event.items() if name not in ("run_id", "event_id")}, "identifier": f"{place}"}
            for place, event in enumerate(case.body)
        ]
    return case
