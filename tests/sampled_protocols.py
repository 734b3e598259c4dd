"""With which protocols a table of cases is walked.

A server that is compatible with OpenAI is asked in nearly the same words as OpenAI itself. So the first case
of each test runs over that protocol too, as a sample, and `make soak` runs the rest.
"""

import pytest

SAMPLED = "compatible"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as `soak` what is left to the long ring."""
    seen: set[str] = set()
    for item in items:
        rows = getattr(item, "callspec", None)
        if rows is None or SAMPLED not in rows.params.values() or item.get_closest_marker("soak"):
            continue
        test = item.nodeid.partition("[")[0]
        if test in seen:
            item.add_marker(pytest.mark.soak)
        seen.add(test)
