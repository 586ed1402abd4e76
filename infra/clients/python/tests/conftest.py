from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from fake_api import FakeApi

from turnstream import Turnstream


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture
def ts(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> Iterator[Turnstream]:
    """A client of the fake API that does not sleep between retries."""
    monkeypatch.setattr(random, "uniform", lambda low, high: 0.0)
    monkeypatch.setattr("turnstream._sync.trainer._SOON", 0.0)
    monkeypatch.setattr("turnstream._sync.follow._PAUSE", 0.0)
    with Turnstream("http://api.test", "key-1", transport=api.transport()) as client:
        yield client
