"""A client that openapi-python-client made walks every list of the document to its end.

Arguments: the address, a run, a trajectory, an evaluation, a word of the run.
"""

import json
import re
import sys
from functools import partial
from importlib import import_module

from turnstream_client import Client
from turnstream_client.api.runs import list_steps
from turnstream_client.models import Problem, Step, StepPart
from turnstream_client.models.list_steps_fields_item import ListStepsFieldsItem
from turnstream_client.types import UNSET

address, run, trajectory, evaluation, word = sys.argv[1:6]
client = Client(base_url=address, timeout=60)
values = {"run": run, "trajectory": trajectory, "evaluation": evaluation, "q": word}


def reader_of(path, operation):
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", operation["operationId"]).lower()
    module = import_module(f"turnstream_client.api.{operation['tags'][0]}.{name}")
    in_query = [one for one in operation.get("parameters", []) if one["in"] == "query"]
    # a search needs q or regex
    needed = [one["name"] for one in in_query if one.get("required") or one["name"] == "q"]
    in_path = re.findall(r"{(\w+)}", path)
    return name, partial(module.sync, *(values[one] for one in in_path), **{one: values[one] for one in needed})


def is_list(operation):
    answer = operation["responses"].get("200", {}).get("content", {}).get("application/json", {})
    return answer.get("schema", {}).get("$ref", "").endswith("Page")


with open("openapi.json") as file:
    document = json.load(file)
lists = dict(reader_of(path, item["get"]) for path, item in document["paths"].items() if is_list(item.get("get", {"responses": {}})))
pages = {name for name in document["components"]["schemas"] if name.endswith("Page")}
assert len(lists) == len(pages), (sorted(lists), sorted(pages))


def rows_of(read, **more):
    cursor, rows = UNSET, []
    while cursor is not None:
        page = read(client=client, cursor=cursor, **more)
        assert not isinstance(page, Problem), page
        rows += page.items
        cursor = page.next_cursor
    return rows


for name, read in lists.items():
    rows = rows_of(read, limit=2)
    assert rows and rows == rows_of(read, limit=1000), name
    print(f"ok {name}: {len(rows)} rows of {type(rows[0]).__name__}")

assert all(isinstance(row, Step) for row in rows_of(partial(list_steps.sync, run)))
parts = rows_of(partial(list_steps.sync, run), fields=[ListStepsFieldsItem.STEP, ListStepsFieldsItem.LOSS])
assert parts and all(isinstance(row, StepPart) and row.step is not UNSET and row.run_id is UNSET for row in parts)
print("ok some columns")
