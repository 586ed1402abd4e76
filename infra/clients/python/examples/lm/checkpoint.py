"""What the trainer keeps: weights, the state of the optimizer, the lineage, and the commit that it was about to make.

A checkpoint is one file that is replaced atomically. It is written after the optimizer step and before the commit.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from model import Weights
from optimizer import Adam, new_adam
from turnstream import Prepared


@dataclass
class Checkpoint:
    """Weights and their position in the run. Without a lineage, they are the warm start."""

    weights: Weights
    adam: Adam
    lineage: str | None = None
    prepared: Prepared | None = None

    @classmethod
    def of(cls, weights: Weights) -> Checkpoint:
        return cls(weights, new_adam(weights))

    def save(self, path: Path) -> None:
        arrays = {f"weights/{name}": array for name, array in self.weights.items()}
        for part, values in (("mean", self.adam.mean), ("square", self.adam.square)):
            arrays |= {f"{part}/{name}": array for name, array in values.items()}
        said = json.dumps({"lineage": self.lineage, "prepared": self.prepared})
        partial = path.with_suffix(".partial")
        with partial.open("wb") as file:
            np.savez(file, said=np.array(said), count=self.adam.count, **arrays)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)

    @classmethod
    def load(cls, path: Path) -> Checkpoint:
        with np.load(path) as file:
            said = json.loads(str(file["said"]))

            def part(name: str) -> Weights:
                return {key.partition("/")[2]: jnp.asarray(file[key]) for key in file.files if key.startswith(f"{name}/")}

            adam = Adam(jnp.asarray(file["count"]), part("mean"), part("square"))
            return cls(part("weights"), adam, said["lineage"], said["prepared"])
