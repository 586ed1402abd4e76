"""A client that openapi-python-client made walks every list to its end. Arguments: the address, a run, a trajectory, an evaluation."""

import sys
from functools import partial

from turnstream_client import Client
from turnstream_client.api.evaluations import list_evaluations, list_scores
from turnstream_client.api.operation import list_dead_letters
from turnstream_client.api.questions import list_questions
from turnstream_client.api.reports import list_costs, list_run_questions
from turnstream_client.api.rollouts import list_lineage, list_tool_calls, list_trajectories, list_turns
from turnstream_client.api.runs import list_discarded, list_policies, list_runs, list_selection_bias, list_staleness, list_steps
from turnstream_client.models import Problem, Step, StepPart
from turnstream_client.models.list_steps_fields_item import ListStepsFieldsItem
from turnstream_client.types import UNSET

address, run, trajectory, evaluation = sys.argv[1:5]
client = Client(base_url=address, timeout=60)
of_run = [
    list_steps, list_staleness, list_policies, list_discarded, list_selection_bias, list_trajectories, list_tool_calls,
    list_lineage, list_run_questions, list_costs,
]  # fmt: skip
lists = {module.__name__.rsplit(".", 1)[-1]: partial(module.sync, run) for module in of_run}
lists |= {module.__name__.rsplit(".", 1)[-1]: module.sync for module in (list_runs, list_questions, list_evaluations, list_dead_letters)}
lists |= {"list_turns": partial(list_turns.sync, trajectory), "list_scores": partial(list_scores.sync, evaluation)}


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
