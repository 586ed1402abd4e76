"""Rows as arrays, weights as policies, and the package as a whole."""

from __future__ import annotations

import hashlib
import io
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fake_api import row

from turnstream import TrainingRows, weights
from turnstream.rows import ARROW, NDJSON, parse_rows

ROOT = Path(__file__).parent.parent


def random_rows(seed: int) -> TrainingRows:
    rng = random.Random(seed)
    rows = []
    for number in range(rng.randint(1, 6)):
        length = rng.randint(1, 40)
        cuts = sorted({0, length, *(rng.randint(0, length) for _ in range(3))})
        spans = [{"version": rng.randint(-1, 9), "tokens": b - a} for a, b in zip(cuts, cuts[1:], strict=False)]
        rows.append(
            {
                **row(number),
                **{"token_ids": [rng.randint(1, 99) for _ in range(length)], "mask": [rng.randint(0, 1) for _ in range(length)]},
                **{"logprobs": [-rng.random() for _ in range(length)], "version_spans": spans, "advantage": rng.random()},
                **{"trainable": rng.random() < 0.8, "temperature": rng.choice([None, 0.7])},
            }
        )
    return TrainingRows(rows)


@pytest.mark.parametrize("seed", range(25))
def test_arrays_hold_every_token_of_every_row(seed: int) -> None:
    rows = random_rows(seed)
    arrays = rows.to_numpy(pad_to=16, rows=8)
    count, length = arrays["token_ids"].shape
    assert count == 8 and length % 16 == 0 and length - 16 < max(len(one["token_ids"]) for one in rows)
    for at, one in enumerate(rows):
        size = len(one["token_ids"])
        assert arrays["lengths"][at] == size
        assert arrays["token_ids"][at].tolist() == one["token_ids"] + [0] * (length - size)
        assert arrays["mask"][at, :size].tolist() == [flag * one["trainable"] for flag in one["mask"]]
        np.testing.assert_allclose(arrays["logprobs"][at, :size], one["logprobs"], rtol=1e-6)
        np.testing.assert_allclose(arrays["advantages"][at], arrays["mask"][at] * one["advantage"], rtol=1e-6)
        spans = [span["version"] for span in one["version_spans"] for _ in range(span["tokens"])]
        assert arrays["versions"][at].tolist() == spans + [-1] * (length - size)
    assert not arrays["mask"][len(rows) :].any() and (arrays["position_ids"] == np.arange(length)).all()


def test_rows_without_tokens_are_empty() -> None:
    unknown = {**row(0), "token_ids": [], "mask": [], "logprobs": [], "version_spans": [], "trainable": False, "why_not": "no_token_ids"}
    arrays = TrainingRows([unknown]).to_numpy()
    assert arrays["token_ids"].shape == (1, 1) and not arrays["mask"].any()
    assert TrainingRows([]).to_numpy(pad_to=4)["token_ids"].shape == (0, 4)


def test_both_formats_give_the_same_rows() -> None:
    import pyarrow

    rows = [row(0), row(1, tokens=9)]
    lines = "".join(json.dumps(one) + "\n" for one in rows).encode()
    table = pyarrow.Table.from_pylist(rows)
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    assert parse_rows(lines, NDJSON) == parse_rows(sink.getvalue(), ARROW) == rows


@pytest.mark.parametrize("seed", range(25))
def test_arrays_come_from_the_table_that_was_received(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow

    rows = random_rows(seed)
    span = pyarrow.struct([("version", pyarrow.int32()), ("tokens", pyarrow.int32())])
    types = {"token_ids": pyarrow.list_(pyarrow.int32()), "mask": pyarrow.list_(pyarrow.uint8()), "version_spans": pyarrow.list_(span)}
    types |= {"logprobs": pyarrow.list_(pyarrow.float32()), "temperature": pyarrow.float32()}
    fields = [(field.name, types.get(field.name, field.type)) for field in rows.to_arrow().schema]
    table = pyarrow.Table.from_pylist(list(rows), schema=pyarrow.schema(fields))
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    expected = rows.to_numpy(pad_to=16, rows=8)
    received = parse_rows(sink.getvalue(), ARROW)
    # dictionaries cannot be made without this attribute
    monkeypatch.setattr(TrainingRows, "_rows", None)
    assert len(received) == table.num_rows and received.to_arrow().equals(table) and received.to_arrow().schema == table.schema
    arrays = received.to_numpy(pad_to=16, rows=8)
    assert arrays.keys() == expected.keys()
    for name, array in expected.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array, name)


def test_weights_of_unknown_format_need_one(tmp_path: Path) -> None:
    file = tmp_path / "weights.bin"
    file.write_bytes(b"w")
    with pytest.raises(ValueError, match="only the names .safetensors and .gguf have a known format; pass format"):
        weights(file.as_uri())
    assert weights(file.as_uri(), format="mine")["format"] == "mine"


def test_weights_are_named_by_their_hash(tmp_path: Path) -> None:
    file = tmp_path / "a b.safetensors"
    file.write_bytes(b"x" * 3_000_000)
    policy = weights(file.as_uri())
    assert policy["sha256"] == hashlib.sha256(b"x" * 3_000_000).hexdigest()
    assert (policy["format"], policy["bytes"], policy["loadable"]) == ("hf-safetensors", 3_000_000, True)
    (tmp_path / "adapter_config.json").write_text("{}")
    folder = weights(tmp_path.as_uri())
    assert folder["format"] == "peft-lora" and [one["name"] for one in folder["manifest"]] == ["a b.safetensors", "adapter_config.json"]
    file.write_bytes(b"y" * 3_000_000)
    assert weights(tmp_path.as_uri())["sha256"] != folder["sha256"]
    (tmp_path / "w.bin").write_bytes(b"")
    for uri in ("s3://bucket/w", (tmp_path / "none").as_uri(), (tmp_path / "w.bin").as_uri()):
        with pytest.raises(ValueError, match="format"):
            weights(uri)
    assert weights("s3://bucket/w", sha256="ab", format="gguf")["uri"] == "s3://bucket/w"


def test_the_synchronous_half_is_made_from_the_asynchronous() -> None:
    checked = subprocess.run([sys.executable, "tools/unasync.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_every_type_is_right() -> None:
    checked = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_it_needs_httpx_only() -> None:
    code = "import sys, turnstream; print(sorted({'numpy', 'pandas', 'pyarrow', 'datasets'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip() == "[]"
    assert (ROOT / "turnstream" / "py.typed").exists()
