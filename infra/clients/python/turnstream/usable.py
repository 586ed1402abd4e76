"""Selects the rows that adapters to other trainers can train on."""

from __future__ import annotations

from collections.abc import Sequence

from .rows import TrainingRow
from .training import Skipped


def usable_rows(rows: Sequence[TrainingRow], longest: int | None = None) -> tuple[list[TrainingRow], list[Skipped]]:
    """Rows to train on, and rows to report as skipped. Rows are never truncated, because the reward may depend on the end."""
    usable: list[TrainingRow] = []
    skipped: list[Skipped] = []
    for row in rows:
        why = _why_not(row, longest)
        if why:
            skipped.append({"row": row["row"], "reason": why})
        else:
            usable.append(row)
    return usable, skipped


def _why_not(row: TrainingRow, longest: int | None) -> str:
    if not row["trainable"]:
        return row["why_not"] or "not_trainable"
    if row["logprobs_kind"] == "raw" and row["temperature"] not in (None, 1.0):
        raise ValueError(
            f"row {row['row']} was sampled at temperature {row['temperature']}, but its log probabilities do not include the temperature: "
            "importance weights would be wrong. Let the engine return processed ones (TURNSTREAM_LLM_LOGPROBS_KIND=processed)"
        )
    return "too_long" if longest is not None and len(row["token_ids"]) > longest else ""


def row_versions(row: TrainingRow) -> list[int]:
    """Known versions that sampled part of the row, oldest first."""
    return sorted({span["version"] for span in row["version_spans"] if span["version"] >= 0})
