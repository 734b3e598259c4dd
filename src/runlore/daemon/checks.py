"""The doctor: looks at everything that is stored, and puts right what is derived where it is asked to.

What is canonical is never repaired by guessing: damage there is told, with the way back from a backup.
"""

import os
import stat
from collections.abc import Callable, Iterator

from runlore.daemon.maintenance import maintain
from runlore.daemon.parts import Parts
from runlore.domain.errors import Corrupt, RunloreError
from runlore.domain.job import JobState
from runlore.domain.run import MemoryState
from runlore.flow.policies import current_learning
from runlore.ports.model import ModelFailure
from runlore.ports.operations import Diagnosis, Finding
from runlore.ports.run_memories import Unreadable

_FINDINGS_PER_CHECK_MAX = 20
_MISCOUNTED_MAX = 10_000
_OTHERS = 0o077
OK, REPAIRED, PROBLEM = "ok", "repaired", "problem"


def diagnose(parts: Parts, *, repair: bool) -> Diagnosis:
    """Every check in turn; one that fails itself is a problem like any other."""
    findings: list[Finding] = []
    for check, look in _CHECKS:
        findings.extend(_bounded(check, look, parts, repair=repair))
    return Diagnosis(
        healthy=all(finding.outcome != PROBLEM for finding in findings), findings=tuple(findings)
    )


def _bounded(
    check: str, look: Callable[[Parts, bool], Iterator[Finding]], parts: Parts, *, repair: bool
) -> list[Finding]:
    found: list[Finding] = []
    left_out = 0
    try:
        for finding in look(parts, repair):
            if len(found) < _FINDINGS_PER_CHECK_MAX:
                found.append(finding)
            else:
                left_out += 1
    except RunloreError as error:
        found.append(Finding(check=check, outcome=PROBLEM, detail=error.sentence, hint=error.hint))
    if left_out:
        found.append(
            Finding(check=check, outcome=found[-1].outcome, detail=f"and {left_out} more like these")
        )
    return found or [Finding(check=check, outcome=OK, detail=_FINE[check])]


def _database(parts: Parts, repair: bool) -> Iterator[Finding]:
    with parts.store.snapshot() as snapshot:
        miscounted = snapshot.journal.miscounted(limit=_MISCOUNTED_MAX)
    for session_id in miscounted:
        if repair:
            with parts.store.transaction() as tx:
                tx.journal.recount(session_id)
        yield _derived(
            "database",
            f"the bytes of the journal of session {session_id} are counted wrongly",
            repaired=repair,
            hint="`runlore doctor --repair` counts them anew",
        )
    for problem in parts.store.problems():
        yield Finding(
            check="database",
            outcome=PROBLEM,
            detail=problem,
            hint="restore the latest backup into a new state root; nothing is repaired by guessing",
        )


def _index(parts: Parts, repair: bool) -> Iterator[Finding]:
    for name, follower in (("records", parts.follower), ("runs", parts.run_follower)):
        problem = follower.disagreement()
        if problem is None:
            continue
        if repair:
            follower.rebuild()
        yield _derived(
            "index",
            f"the index of {name} {problem}",
            repaired=repair,
            hint="`runlore doctor --repair` rebuilds it",
        )


def _run_memories(parts: Parts, repair: bool) -> Iterator[Finding]:
    problems = list(_run_memory_problems(parts))
    if problems and repair:
        maintain(parts, source="doctor")
    for problem in problems:
        yield _derived(
            "run memories",
            problem,
            repaired=repair,
            hint="`runlore doctor --repair` rebuilds the index of them",
        )


def _run_memory_problems(parts: Parts) -> Iterator[str]:
    kept = set()
    for found in parts.run_memories.everything():
        if isinstance(found, Unreadable):
            yield f"{found.where}: {found.problem}"
            continue
        kept.add(found.run_id)
        try:
            with parts.store.snapshot() as snapshot:
                run = snapshot.runs.find(found.run_id)
        except Corrupt:
            # The look at the database tells of the run.
            continue
        if run is None or run.memory is not MemoryState.STORED:
            yield f"the memory of run {found.run_id} is kept, and no run asks for it"
        elif run.session_id != found.session_id:
            yield f"the memory of run {found.run_id} names another session"
    with parts.store.snapshot() as snapshot:
        for pointer in snapshot.pointers.everything():
            if pointer.run_id not in kept:
                yield f"run {pointer.run_id} has a pointer and no readable memory"
        for run in snapshot.runs.owing_memory(limit=_FINDINGS_PER_CHECK_MAX):
            yield f"run {run.run_id} has ended and its memory is not written yet"


def _permissions(parts: Parts, repair: bool) -> Iterator[Finding]:
    for path, mode in _open_to_others(parts.state_root):
        if repair:
            os.chmod(path, mode & ~_OTHERS)
        yield _derived("permissions", f"others can reach {path}", repaired=repair, hint=f"chmod go= {path}")


def _open_to_others(folder: str) -> Iterator[tuple[str, int]]:
    mode = stat.S_IMODE(os.lstat(folder).st_mode)
    if mode & _OTHERS:
        yield folder, mode
    for entry in os.scandir(folder):
        if entry.is_symlink():
            continue
        if entry.is_dir():
            yield from _open_to_others(entry.path)
            continue
        mode = stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode)
        if mode & _OTHERS:
            yield entry.path, mode


def _jobs(parts: Parts, _repair: bool) -> Iterator[Finding]:
    with parts.store.snapshot() as snapshot:
        dead = snapshot.jobs.list(frozenset({JobState.DEAD}), limit=_FINDINGS_PER_CHECK_MAX)
    for job in dead:
        yield Finding(
            check="jobs",
            outcome=PROBLEM,
            detail=f"{job.kind} of {job.subject} has failed {job.attempts} times: {job.error}",
            hint=f"mend the cause, then: runlore jobs retry {job.job_id}",
        )


def _models(parts: Parts, _repair: bool) -> Iterator[Finding]:
    """Whether what is set and asked for could be asked. Nothing is asked, and no model at all is fine."""
    with parts.store.snapshot() as snapshot:
        policy = current_learning(snapshot)
    wanted = {"the default model": ""} if parts.models.is_configured else {}
    # Without a model capture still takes what is labelled, so only one that is named has to be there.
    if policy.capture.semantic_candidates.enabled and policy.capture.semantic_candidates.model:
        wanted["capture by the learning policy"] = policy.capture.semantic_candidates.model
    if policy.judge.enabled:
        wanted["the judge of the learning policy"] = policy.judge.model
    for user, model in wanted.items():
        try:
            parts.models.resolve(model)
        except ModelFailure as failure:
            yield Finding(
                check="models", outcome=PROBLEM, detail=f"{user}: {failure.sentence}", hint=failure.hint
            )
    if not wanted:
        yield Finding(check="models", outcome=OK, detail="no model is set, and nothing asks for one")


def _derived(check: str, detail: str, *, repaired: bool, hint: str) -> Finding:
    if repaired:
        return Finding(check=check, outcome=REPAIRED, detail=detail)
    return Finding(check=check, outcome=PROBLEM, detail=detail, hint=hint)


_CHECKS: tuple[tuple[str, Callable[[Parts, bool], Iterator[Finding]]], ...] = (
    ("database", _database),
    ("permissions", _permissions),
    ("run memories", _run_memories),
    ("index", _index),
    ("jobs", _jobs),
    ("models", _models),
)
_FINE = {
    "database": "the file is whole, and every checksum holds",
    "permissions": "nobody else can read the state root",
    "run memories": "every pointer leads to a memory, and every memory to a run",
    "index": "it agrees with the store",
    "jobs": "nothing has failed for good",
    "models": "every model that is set can be asked",
}
