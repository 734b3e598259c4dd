"""The requests of Runlore's own runs as they went to a provider (AGT-6), and how they go with what may stand
in them (LRN-12).

Whatever Runlore knew may stand in one: learnings, memories of runs, names of skills, earlier words of the
session. So what is forgotten takes along every request that was kept since it came into being.
"""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta

from runlore.domain.run import Artifact, ArtifactId, Run, RunId
from runlore.domain.timestamps import from_milliseconds, to_milliseconds
from runlore.ports.store import Collections, Transaction

FIRST, LAST = "request-first.json", "request-last.json"
_NAMES = frozenset({FIRST, LAST})
_NOTE = "requests.forgotten_at"
_NAME_ONLY = 1
# What a run is given is read shortly before it is opened.
_READ_BEFORE = timedelta(seconds=10)


def forget_requests(tx: Transaction, *, since: datetime, at: datetime) -> int:
    """Erase the requests that were kept since a moment, and have the runs that go on keep none: how many
    there were."""
    tx.counters.set_note(_NOTE, str(max(to_milliseconds(at), to_milliseconds(_forgotten_at(tx)))))
    return tx.runs.delete_artifacts(sorted(requests_since(tx, since)))


def requests_since(
    collections: Collections, since: datetime, *, besides: Collection[RunId] = ()
) -> tuple[ArtifactId, ...]:
    """The requests that were kept since a moment, besides those of some runs."""
    return tuple(
        artifact.artifact_id
        for run_id in collections.runs.own_with_artifacts(since)
        if run_id not in besides
        for artifact in collections.runs.artifact_excerpts(run_id, chars_max=_NAME_ONLY)
        if artifact.name in _NAMES
    )


def may_keep(collections: Collections, run: Run, artifact: Artifact) -> bool:
    """Whether a run may keep what it leaves: no request, where something was forgotten since the run was
    given what stands in it."""
    return artifact.name not in _NAMES or _forgotten_at(collections) < run.opened_at - _READ_BEFORE


def _forgotten_at(collections: Collections) -> datetime:
    told = collections.counters.note(_NOTE)
    return datetime.fromtimestamp(0, tz=UTC) if told is None else from_milliseconds(int(told))
