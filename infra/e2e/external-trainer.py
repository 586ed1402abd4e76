"""An external trainer for external-trainer.int.test.ts: it leases batches, prints what it read of each, and commits."""

import json
import sys

import httpx
from turnstream import Turnstream

ARROW = "application/vnd.apache.arrow.stream"


def main(url: str, run: str, lineage: str, steps: int) -> None:
    with Turnstream(url=url).run(run).trainer("py", lineage=lineage) as trainer:
        for batch in trainer.batches(steps=steps):
            arrays = batch.to_numpy(pad_to=8)
            trained = [float(one) for one in arrays["mask"].sum(axis=1)]
            lines = httpx.get(url + batch.lease["data"]["href"]).text.splitlines()
            rows = [dict(row) for row in batch.rows()]
            policy = {"uri": f"file:///w/{batch.step}", "sha256": f"{batch.step:064d}", "format": "hf-safetensors", "bytes": 0, "loadable": True}
            committed = batch.commit(policy=policy, metrics={"loss": 0.25})
            told = {"step": committed.step, "lineage": committed.lineage, "rows": rows, "lines": [json.loads(line) for line in lines]}
            print(json.dumps({**told, "trained": trained, "formats": batch.lease["data"]["formats"]}), flush=True)


main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
