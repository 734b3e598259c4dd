"""The page about reliability names tests that are there."""

import re

import pytest

from tests.architecture.source_tree import ROOT

NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


@pytest.mark.req("PRF-1", "PRF-6")
def test_every_test_that_the_page_names_is_there() -> None:
    named = NAMED.findall((ROOT / "docs/reliability.md").read_text(encoding="utf-8"))

    missing = [
        f"{path}::{name}"
        for path, name in named
        if not (ROOT / path).exists() or f"def {name}(" not in (ROOT / path).read_text(encoding="utf-8")
    ]
    assert len(named) > 20
    assert not missing
