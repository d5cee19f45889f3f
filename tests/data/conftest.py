"""Each test has a cache of its own."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINGYUE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
