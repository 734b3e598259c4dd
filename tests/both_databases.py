"""On which database a test runs that could run on both.

That the store answers alike on SQLite and PostgreSQL is shown by `tests/storage`, on both. What stands
on the store takes up to ten times as long on PostgreSQL, and most of it asks nothing new there. So in
`tests/flow`, `tests/daemon` and `tests/surfaces` the first such test of each module runs on PostgreSQL, as a
sample, and `make soak` runs the rest. Modules in which the database has a part in what is shown always run on
both, and so do `tests/storage`: of a test that takes rows of a table, the first row.
"""

from collections.abc import Iterable, Iterator

import pytest

SAMPLED = ("tests/daemon/", "tests/flow/", "tests/surfaces/")
# Two at once, a crash, an erasure, a transfer, a failing server, or a long list that SQL makes.
WHOLE = {
    "tests/daemon/agent/test_agent_crashes.py",
    "tests/daemon/agent/test_agent_one_at_a_time.py",
    "tests/daemon/background/test_maintenance.py",
    "tests/daemon/background/test_maintenance_races.py",
    "tests/daemon/background/test_passing_failures.py",
    "tests/daemon/background/test_workers.py",
    "tests/daemon/calls/test_idempotency.py",
    "tests/daemon/search/test_following.py",
    "tests/daemon/search/test_meaning_following.py",
    "tests/daemon/test_audit.py",
    "tests/daemon/test_backups.py",
    "tests/daemon/test_damaged_backups.py",
    "tests/daemon/test_doctor.py",
    "tests/daemon/test_export_import.py",
    "tests/daemon/test_record_history.py",
    "tests/flow/capture/test_capture_recovery.py",
    "tests/flow/capture/test_importing_crashes.py",
    "tests/flow/capture/test_journal_appends.py",
    "tests/flow/capture/test_run_races.py",
    "tests/flow/capture/test_run_recovery.py",
    "tests/flow/prompt_context/test_context_cache.py",
    "tests/flow/publish/test_forgetting.py",
    "tests/flow/publish/test_forgetting_runs.py",
    "tests/flow/publish/test_forgetting_sources.py",
    "tests/flow/review/test_lost_reviews.py",
    "tests/flow/review/test_waiting.py",
    "tests/flow/skills/test_forgetting_skills.py",
    "tests/flow/skills/test_forgetting_suggestions.py",
    "tests/flow/skills/test_rollouts_crashes.py",
    "tests/flow/test_any_sequence.py",
    "tests/flow/test_at_once.py",
    "tests/surfaces/api/test_http_answers.py",
    "tests/surfaces/cli/test_stores.py",
    "tests/surfaces/cli/test_transfer.py",
}
# The server's own ways, and the schemas of earlier releases: each row is something else to it.
EVERY_ROW = ("tests/storage/postgres/", "tests/storage/test_migrations.py")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as `soak` what is left to the long ring."""
    candidates = [item for item in items if _is_on_postgres(item) and item.get_closest_marker("soak") is None]
    for item, is_left in zip(candidates, are_left_to_soak(item.nodeid for item in candidates), strict=True):
        if is_left:
            item.add_marker(pytest.mark.soak)


def are_left_to_soak(tests: Iterable[str]) -> Iterator[bool]:
    """For each test on PostgreSQL, in their order: whether the long ring runs it."""
    sampled: set[str] = set()
    for test in tests:
        module, function = test.partition("::")[0], test.partition("[")[0]
        is_whole = not module.startswith(SAMPLED) or module in WHOLE
        kind = function if is_whole else module
        yield kind in sampled and not module.startswith(EVERY_ROW)
        sampled.add(kind)


def _is_on_postgres(item: pytest.Item) -> bool:
    rows = getattr(item, "callspec", None)
    return rows is not None and "postgres" in rows.params.values()
