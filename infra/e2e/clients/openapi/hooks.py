"""What schemathesis needs to know about this API and the OpenAPI document cannot express."""

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
    """Makes posted events valid: leaves out run_id and event_id, which must match the URL and the event, and gives each event its own
    identifier, because two events with the same identity must have the same value."""
    is_valid = case.meta is None or not case.meta.generation.mode.is_negative
    if case.operation.definition.raw.get("operationId") == "recordEvents" and is_valid and isinstance(case.body, list):
        case.body = [
            {**{name: value for name, value in event.items() if name not in ("run_id", "event_id")}, "identifier": f"{place}"}
            for place, event in enumerate(case.body)
        ]
    return case
