"""A caller's own runs: every operation that names a run finds it through its session."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from runlore.daemon.calls.access import is_of_persona, is_reported_by, may_use
from runlore.daemon.calls.lookups import askable
from runlore.daemon.private_runs import PRIVATE_PREFIX, PrivateRuns
from runlore.domain.access import Caller
from runlore.domain.errors import Conflict, Invalid, NotFound
from runlore.domain.guard.entry import without_secret
from runlore.domain.lazy import dataclass
from runlore.domain.run import MOVE_TO, Artifact, ArtifactId, Run, RunId, RunStatus, apply_run_move
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import Session, SessionId
from runlore.flow.capture.session_lock import run_turn
from runlore.ports.store import Collections, Store, Transaction

UNKNOWN_SESSION = SessionId(PRIVATE_PREFIX)
# In how many runs, the newest first, one of the caller is looked for.
_LOOKED_THROUGH_MAX = 1_000
LONG_AGO = datetime.fromtimestamp(0, tz=UTC)


def run_id_of(run_id: str) -> RunId:
    return RunId(askable(run_id, "run"))


def new_run_id(run_id: RunId) -> RunId:
    """A caller's own id, checked as a session's id is; those of runs that are not stored stay ours."""
    Scope(ScopeKind.SESSION, run_id)
    without_secret("the id", run_id)
    if run_id.startswith(f"{PRIVATE_PREFIX}_"):
        raise Invalid(
            f"a run's id must not begin with {PRIVATE_PREFIX}_",
            code="run.id",
            hint="such ids name runs of which nothing is stored; use another, or leave it out",
        )
    return run_id


def own_run(collections: Collections, caller: Caller, run_id: RunId) -> tuple[Run, Session]:
    """A run of a session that the caller may use; to everybody else it does not exist."""
    run = collections.runs.get(run_id_of(run_id))
    session = collections.sessions.get(run.session_id)
    if not may_use(caller, session):
        raise _nothing(run_id)
    return run, session


def explained_run(
    collections: Collections, caller: Caller, run_id: RunId | None, *, is_alone: bool
) -> tuple[Run, Session]:
    """A run of which the caller may ask what it was given, without an id the newest: one of a session that it
    may use, or that its own hooks report."""
    if run_id is not None:
        for found in _list_explained(
            collections, caller, [collections.runs.get(run_id_of(run_id))], is_alone
        ):
            return found
        raise _nothing(run_id)
    for limit in (1, _LOOKED_THROUGH_MAX):
        for found in _list_explained(collections, caller, collections.runs.page(limit=limit), is_alone):
            return found
    raise NotFound("nothing has run yet", code="run.not-found", hint="give an agent something to do first")


def _list_explained(
    collections: Collections, caller: Caller, runs: Sequence[Run], is_alone: bool
) -> Iterator[tuple[Run, Session]]:
    sessions = collections.sessions.get_many(list({run.session_id for run in runs}))
    for run in runs:
        session = sessions[run.session_id]
        if may_use(caller, session):
            yield run, session
        elif is_reported_by(caller, session, is_alone=is_alone):
            # What was said while the session was another persona's stays theirs.
            then = collections.sessions.binding_at(session.session_id, run.opened_at) or session.binding
            if is_of_persona(caller, replace(session, binding=then), is_alone=is_alone):
                yield run, session


def own_artifact(collections: Collections, caller: Caller, artifact_id: ArtifactId) -> Artifact:
    """An artifact of a session that the caller may use; to everybody else it does not exist."""
    artifact = collections.runs.get_artifact(ArtifactId(askable(artifact_id, "artifact")))
    run = collections.runs.get(artifact.run_id)
    if not may_use(caller, collections.sessions.get(run.session_id)):
        raise NotFound(
            f"there is no artifact {artifact_id!r}",
            code="artifact.not-found",
            hint="`runlore session run artifacts RUN` lists a run's; old ones are removed by retention",
        )
    return artifact


def own_run_turn(tx: Transaction, caller: Caller, run_id: RunId) -> tuple[Run, Session]:
    """The same with the run's session ours until the end of the transaction."""
    run, session = run_turn(tx, run_id_of(run_id))
    if not may_use(caller, session):
        raise _nothing(run_id)
    return run, session


@dataclass(frozen=True, kw_only=True)
class UnstoredRuns:
    """The runs of which nothing is stored, as one caller sees them."""

    runs: PrivateRuns
    caller: Caller

    def find(self, collections: Collections, run_id: RunId) -> Run | None:
        """A run of which nothing is stored; None for any other.

        One that another process has opened is told by its id alone, and nothing else is known of it.
        """
        if not self.runs.is_private(run_id):
            return None
        run = self.runs.find(run_id)
        if run is None:
            return None if collections.runs.find(run_id_of(run_id)) else _stranger(run_id, self.caller)
        session = collections.sessions.find(run.session_id)
        if session is None or not may_use(self.caller, session):
            raise _nothing(run_id)
        return run

    def holds(self, store: Store, run_id: RunId) -> bool:
        """Whether nothing of a run is stored; another's run is not found."""
        if not self.runs.is_private(run_id):
            return False
        with store.snapshot() as snapshot:
            return self.find(snapshot, run_id) is not None

    def open(self, run: Run) -> Run:
        """Remember a new one while this process lives; the one that is there, for the same session."""
        self.require_free(run.run_id, run.session_id)
        present = self.runs.find(run.run_id)
        if present is None:
            self.runs.keep(run)
        return present or run

    def require_free(self, run_id: RunId, session_id: SessionId) -> None:
        """Refuse an id that names a run of another session."""
        present = self.runs.find(run_id)
        if present is not None and present.session_id != session_id:
            raise Conflict(
                f"run {run_id!r} exists already, in another session",
                code="run.exists",
                hint="use another id, or leave it out",
            )

    def end(self, run: Run, status: RunStatus, at: datetime) -> Run:
        """End one; the same end once more changes nothing."""
        if run.status is status:
            return run
        after = replace(apply_run_move(run, MOVE_TO[status], at), revision=1)
        # Anybody can make up the id of a run that nobody here has opened: it takes no place from the others.
        if run.session_id != UNKNOWN_SESSION:
            self.runs.keep(after)
        return after


def _stranger(run_id: RunId, caller: Caller) -> Run:
    return Run(
        run_id=run_id,
        session_id=UNKNOWN_SESSION,
        status=RunStatus.RUNNING,
        input_number=0,
        created_by=caller.actor,
        opened_at=LONG_AGO,
        active_at=LONG_AGO,
    )


def _nothing(run_id: RunId) -> NotFound:
    """In the words for a run that nobody has, so that its existence is not told."""
    return NotFound(
        f"there is no run {run_id!r}", code="run.not-found", hint="`runlore session runs` shows the ids"
    )
