"""On which database a test runs that could run on both.

That the store answers alike on SQLite and PostgreSQL is shown by `tests/storage`, on both. What stands
on the store takes up to ten times as long on PostgreSQL, and most of it asks nothing new there. So in
`tests/flow` and `tests/surfaces` the first such test of each module runs on PostgreSQL, as a sample, and
`make soak` runs the rest. Modules in which the database has a part in what is shown always run on both.
"""

from collections.abc import Iterable, Iterator

import pytest

SAMPLED = ("tests/flow/", "tests/surfaces/")
# Two at once, a crash, an erasure, a transfer, a failing server, or a long list that SQL makes.
WHOLE = {
    *("tests/flow/test_agent_crashes.py", "tests/flow/test_agent_one_at_a_time.py"),
    *("tests/flow/test_any_sequence.py", "tests/flow/test_at_once.py", "tests/flow/test_backups.py"),
    *("tests/flow/test_capture_recovery.py", "tests/flow/test_context_cache.py"),
    *("tests/flow/test_damaged_backups.py", "tests/flow/test_doctor.py", "tests/flow/test_export_import.py"),
    *("tests/flow/test_following.py", "tests/flow/test_forgetting.py", "tests/flow/test_forgetting_runs.py"),
    *("tests/flow/test_forgetting_skills.py", "tests/flow/test_forgetting_sources.py"),
    *("tests/flow/test_forgetting_suggestions.py", "tests/flow/test_histories.py"),
    *("tests/flow/test_idempotency.py", "tests/flow/test_importing_crashes.py"),
    *("tests/flow/test_journal_appends.py", "tests/flow/test_lost_reviews.py"),
    *("tests/flow/test_maintenance.py", "tests/flow/test_maintenance_races.py"),
    *("tests/flow/test_meaning_following.py", "tests/flow/test_passing_failures.py"),
    *("tests/flow/test_rollouts_crashes.py", "tests/flow/test_run_races.py"),
    *("tests/flow/test_run_recovery.py", "tests/flow/test_workers.py"),
    *("tests/surfaces/test_cli_stores.py", "tests/surfaces/test_cli_transfer.py"),
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as `soak` what is left to the long ring."""
    candidates = [item for item in items if _is_on_postgres(item) and item.get_closest_marker("soak") is None]
    modules = [item.nodeid.partition("::")[0] for item in candidates]
    for item, is_left in zip(candidates, are_left_to_soak(modules), strict=True):
        if is_left:
            item.add_marker(pytest.mark.soak)


def are_left_to_soak(modules: Iterable[str]) -> Iterator[bool]:
    """For the module of each test on PostgreSQL, in the order of the tests: whether the long ring runs it."""
    sampled: set[str] = set()
    for module in modules:
        yield module.startswith(SAMPLED) and module not in WHOLE and module in sampled
        sampled.add(module)


def _is_on_postgres(item: pytest.Item) -> bool:
    rows = getattr(item, "callspec", None)
    return rows is not None and "postgres" in rows.params.values()
