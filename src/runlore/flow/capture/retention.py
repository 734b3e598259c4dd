"""Retention: journals and artifacts that are older or more than the policy keeps. Numbers and ids stay."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import TypeVar

from runlore.domain.policy import RetentionPolicy
from runlore.domain.run import ArtifactId, RunId
from runlore.ports.store import Store

_MEGABYTE = 1_000_000
_BATCH = 200
IdT = TypeVar("IdT")


def retain(store: Store, policy: RetentionPolicy, now: datetime) -> dict[str, int]:
    """Erase journals and delete artifacts and kept answers beyond the policy: how many of each."""
    with store.snapshot() as snapshot:
        journals = list(
            _beyond(
                snapshot.journal.sizes(),
                before=_before(now, policy.journal_days),
                bytes_max=policy.journal_mb_max * _MEGABYTE,
            )
        )
        artifacts = list(
            _beyond(
                snapshot.runs.artifact_sizes(),
                before=_before(now, policy.artifact_days),
                bytes_max=policy.artifact_mb_max * _MEGABYTE,
            )
        )
    return {
        "journals": _erase_journals(store, journals),
        "artifacts": _delete_artifacts(store, artifacts),
        "answers": _prune_answers(store, now - timedelta(days=policy.answer_days)),
    }


def _before(now: datetime, days: int) -> datetime | None:
    return now - timedelta(days=days) if days else None


def _beyond(
    sizes: Iterable[tuple[IdT, datetime, int]], *, before: datetime | None, bytes_max: int
) -> Iterator[IdT]:
    """What is too old, and of the rest the oldest until it is no longer too much; 0 is without limit."""
    kept: list[tuple[IdT, int]] = []
    for name, at, size in sizes:
        if before is not None and at < before:
            yield name
        elif bytes_max:
            kept.append((name, size))
    surplus = sum(size for _, size in kept) - bytes_max
    for name, size in kept:
        if surplus <= 0:
            return
        yield name
        surplus -= size


def _erase_journals(store: Store, run_ids: list[RunId]) -> int:
    for run_id in run_ids:
        with store.transaction() as tx:
            tx.journal.erase_run(run_id)
    return len(run_ids)


def _delete_artifacts(store: Store, artifact_ids: list[ArtifactId]) -> int:
    deleted = 0
    for start in range(0, len(artifact_ids), _BATCH):
        with store.transaction() as tx:
            deleted += tx.runs.delete_artifacts(artifact_ids[start : start + _BATCH])
    return deleted


def _prune_answers(store: Store, before: datetime) -> int:
    with store.transaction() as tx:
        return tx.counters.prune_answers(before)
