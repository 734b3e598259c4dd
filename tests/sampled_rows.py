"""Which rows of a table are walked here, and which are left to the long ring.

A server that is compatible with OpenAI is asked in nearly the same words as OpenAI itself. So the first case
of each test runs over that protocol too, as a sample, and `make soak` runs the rest. A test whose rows cost
much and are of one kind is marked `sampled(every=3)`: every third row runs here, always the same ones.
"""

from collections import Counter

import pytest

SAMPLED = "compatible"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as `soak` what is left to the long ring."""
    rows: Counter[tuple[str, str]] = Counter()
    for item in items:
        spec = getattr(item, "callspec", None)
        if spec is None or item.get_closest_marker("soak"):
            continue
        test = item.nodeid.partition("[")[0]
        # On PostgreSQL the first row runs, where any does.
        table = next((kind for kind in (SAMPLED, "postgres") if kind in spec.params.values()), "")
        mark = item.get_closest_marker("sampled")
        is_left = table == SAMPLED and rows[test, table] > 0
        if mark is not None:
            is_left |= rows[test, table] % mark.kwargs["every"] > 0
        if is_left:
            item.add_marker(pytest.mark.soak)
        rows[test, table] += 1
