"""The doctor: looks at everything that is stored, and puts right what is derived where it is asked to.

What is canonical is never repaired by guessing: damage there is told, with the way back from a backup.
"""

import os
import re
import shlex
import stat
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from runlore.agents.hooks.reports import AGENTS
from runlore.daemon import folder_staleness
from runlore.daemon.background.maintenance import maintain
from runlore.daemon.connected_agents import list_connected
from runlore.daemon.parts import Parts
from runlore.daemon.promoted_checks import mend_promoted, promoted_findings
from runlore.daemon.skills.file_differences import LEFT_ALONE
from runlore.daemon.skills.file_fingerprints import RefreshReport
from runlore.daemon.skills.mounting import MountFollower
from runlore.domain.agent.approval_rules import Stance
from runlore.domain.errors import Corrupt, RunloreError
from runlore.domain.run import MemoryState
from runlore.domain.runs.job import JobState
from runlore.domain.timestamps import format_time
from runlore.flow.policies import current_learning
from runlore.ports.model import ModelFailure
from runlore.ports.operations import Diagnosis, Finding
from runlore.ports.run_memories import Unreadable
from runlore.ports.skill_files import MountState
from runlore.ports.workspaces import UNCONFINED

_FINDINGS_PER_CHECK_MAX = 20
_MISCOUNTED_MAX = 10_000
_OTHERS = 0o077
_OTHERS_WRITE = 0o022
_CERTIFICATES = (".pem", ".crt", ".cer", ".cert")
_CERTIFICATE_BYTES_MAX = 1_000_000
OK, NOTICE, REPAIRED, PROBLEM = "ok", "notice", "repaired", "problem"


def diagnose(parts: Parts, *, repair: bool) -> Diagnosis:
    """Every check in turn; one that fails itself is a problem like any other."""
    findings: list[Finding] = []
    for check, look, fine in _CHECKS:
        found = _run_check(look, parts, repair=repair) or [_Found(OK, fine)]
        findings += (Finding(check=check, outcome=out, detail=text, hint=hint) for out, text, hint in found)
    return Diagnosis(
        healthy=all(finding.outcome != PROBLEM for finding in findings), findings=tuple(findings)
    )


class _Found(NamedTuple):
    """What a check has found."""

    outcome: str
    detail: str
    hint: str = ""


_Check: TypeAlias = Callable[[Parts, bool], Iterator[_Found]]


def _run_check(look: _Check, parts: Parts, *, repair: bool) -> list[_Found]:
    found: list[_Found] = []
    left_out = 0
    try:
        for finding in look(parts, repair):
            if len(found) < _FINDINGS_PER_CHECK_MAX:
                found.append(finding)
            else:
                left_out += 1
    except RunloreError as error:
        found.append(_Found(PROBLEM, error.sentence, error.hint))
    if left_out:
        found.append(_Found(found[-1].outcome, f"and {left_out} more like these"))
    return found


def _database(parts: Parts, repair: bool) -> Iterator[_Found]:
    refusal = parts.store.refusal()
    if refusal is not None:
        yield _Found(PROBLEM, f"nothing can be written: {refusal.sentence}", refusal.hint)
    with parts.store.snapshot() as snapshot:
        miscounted = snapshot.journal.find_miscounted(limit=_MISCOUNTED_MAX)
    for session_id in miscounted:
        if repair:
            with parts.store.transaction() as tx:
                tx.journal.recount(session_id)
        message = f"the bytes of the journal of session {session_id} are counted wrongly"
        yield _derived_finding(message, repaired=repair, hint="`runlore doctor --repair` counts them anew")
    hint = "restore the latest backup into an empty store; nothing is repaired by guessing"
    yield from (_Found(PROBLEM, problem, hint) for problem in parts.store.problems())


def _clock(parts: Parts, _repair: bool) -> Iterator[_Found]:
    if doubt := parts.clock.doubt():
        yield _Found(NOTICE, doubt, "set the clock if it is wrong")


def _index(parts: Parts, repair: bool) -> Iterator[_Found]:
    for name, follower in (("records", parts.follower), ("runs", parts.run_follower)):
        problem = follower.disagreement()
        if problem is None:
            continue
        if repair:
            follower.rebuild()
        detail = f"the index of {name} {problem}"
        yield _derived_finding(detail, repaired=repair, hint="`runlore doctor --repair` rebuilds it")


def _embedding(parts: Parts, repair: bool) -> Iterator[_Found]:
    """Whether vectors are of live learnings alone, and how their backend fares, with skills too where they
    share it. Nothing is asked."""
    state, skills = parts.meaning.backend_state(), parts.library.trouble()
    is_shared = state is not None and skills is not None and state.identity == skills.identity
    strangers = 0 if state is None else parts.meaning.strangers(repair=repair)
    if strangers:
        detail = f"{strangers:,} vectors are of nothing that is live"
        yield _derived_finding(detail, repaired=repair, hint="`runlore doctor --repair` erases them")
    asked = (state, skills) if is_shared else (state,)
    failing = [each for each in asked if each is not None and not each.is_working]
    for remark, hint in dict.fromkeys((each.remark, each.hint) for each in failing):
        yield _Found(PROBLEM, remark, hint)
    if failing or strangers:
        return
    if state is None:
        yield _Found(OK, "no backend is set for learnings, and words decide alone")
    elif not state.was_asked:
        detail = "every vector is of a live learning; the backend was not asked since this process began"
        yield _Found(OK, detail)


def _run_memories(parts: Parts, repair: bool) -> Iterator[_Found]:
    problems = list(_run_memory_problems(parts))
    if problems and repair:
        maintain(parts, source="doctor")
    hint = "`runlore doctor --repair` rebuilds the index of them"
    yield from (_derived_finding(problem, repaired=repair, hint=hint) for problem in problems)


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


def _permissions(parts: Parts, repair: bool) -> Iterator[_Found]:
    """What is in a folder that others can reach is told with the folder."""
    within: dict[str, int] = {}
    top = ""
    for path, mode in _open_to_others(parts.state_root):
        if repair:
            os.chmod(path, mode & ~_OTHERS)
        if not top or not path.startswith(os.path.join(top, "")):
            top = path
            within[top] = -1
        within[top] += 1
    for path, more in within.items():
        rest = f" and {more:,} more in it" if more else ""
        every = "-R " if more else ""
        hint = f"`runlore doctor --repair` closes it, and so does: chmod {every}go= {shlex.quote(path)}"
        yield _derived_finding(f"others can reach {path}{rest}", repaired=repair, hint=hint)


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
        if mode & _OTHERS and not (mode & _OTHERS_WRITE == 0 and _is_certificate(entry.path)):
            yield entry.path, mode


def _is_certificate(path: str) -> bool:
    """Whether a file holds certificates and nothing else: these are public, and may be read by anybody."""
    if not path.endswith(_CERTIFICATES):
        return False
    try:
        with open(path, "rb") as file:
            content = file.read(_CERTIFICATE_BYTES_MAX + 1)
    except OSError:
        return False
    blocks = set(re.findall(rb"-----BEGIN ([^\n-]+)-----", content))
    return blocks == {b"CERTIFICATE"} and len(content) <= _CERTIFICATE_BYTES_MAX


def _jobs(parts: Parts, _repair: bool) -> Iterator[_Found]:
    with parts.store.snapshot() as snapshot:
        dead = snapshot.jobs.list(frozenset({JobState.DEAD}), limit=_FINDINGS_PER_CHECK_MAX)
    for job in dead:
        detail = f"{job.kind} of {job.subject} has failed {job.attempts} times: {job.error}"
        yield _Found(PROBLEM, detail, f"mend the cause, then: runlore jobs retry {job.job_id}")


def _models(parts: Parts, _repair: bool) -> Iterator[_Found]:
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
            yield _Found(PROBLEM, f"{user}: {failure.sentence}", failure.hint)
    if not wanted:
        yield _Found(OK, "no model is set, and nothing asks for one")


def _confinement(parts: Parts, _repair: bool) -> Iterator[_Found]:
    """Whether the system keeps commands of agents inside; where it cannot, that is how it is, and told."""
    if parts.workspaces.confinement != UNCONFINED:
        return
    stance = parts.agent_settings.approval.unconfined
    detail = f"this system cannot keep agents' commands inside the working folder: {_UNCONFINED[stance]}"
    hint = "Linux from 6.2 on with Landlock can; agent.approval.unconfined settles what is done elsewhere"
    yield _Found(OK, detail, hint)


def _promoted_skills(parts: Parts, repair: bool) -> Iterator[_Found]:
    """Whether promoted skills have the evidence that they need, and the catalogue says what they say."""
    found = mend_promoted(parts) if repair else promoted_findings(parts)
    for each in found:
        yield _derived_finding(each.message, repaired=repair and each.is_mended, hint=each.hint)


def _skills(parts: Parts, repair: bool) -> Iterator[_Found]:
    """Whether the files of skills say what is stored, and how their embedding backend fares."""
    differing = parts.library.look()
    report = parts.library.refresh() if repair else RefreshReport()
    left = report.problems
    failed = {problem.name for problem in left if not problem.lasts}
    if not report.is_whole:
        failed.update(each.name for each in parts.library.look())
    for each in differing:
        is_done = repair and each.difference not in LEFT_ALONE and each.name not in failed
        yield _derived_finding(each.message, repaired=is_done, hint=each.hint)
    for problem in left:
        if problem.name in failed:
            yield _Found(PROBLEM, problem.told, problem.hint)
    trouble = parts.library.trouble()
    if trouble is not None:
        yield _Found(PROBLEM, trouble.remark, trouble.hint)


def _mounts(parts: Parts, repair: bool) -> Iterator[_Found]:
    """Whether the copies of skills in agents' folders are as they should be."""
    follower = MountFollower(parts.store, parts.state_root)
    done = follower.repair() if repair else follower.look()
    for item in done.items:
        if item.state not in (MountState.UNCHANGED, MountState.LEFT):
            detail = f"the copy of skill {item.name} in {item.folder} is not up to date"
            hint = "`runlore doctor --repair` brings it up to date, and so does `runlore skill mount`"
            yield _derived_finding(detail, repaired=repair, hint=hint)
    for folder, problem in done.problems:
        detail = f"the skills in {folder} are not up to date: {problem.sentence}"
        yield _Found(PROBLEM, detail, problem.hint)


def _agents(parts: Parts, _repair: bool) -> Iterator[_Found]:
    """Whether the hooks of connected agents are in place. Their settings are theirs: nothing is repaired."""
    for each in list_connected(parts.state_root):
        where = AGENTS[each.name].title + (f" in {each.project}" if each.project else "")
        if each.trouble:
            yield _Found(PROBLEM, f"hooks of {where}: {each.trouble}", each.hint)
        elif each.reported_at is None:
            yield _Found(OK, f"hooks of {where} are in place, and never reported")
        if each.lost_at is not None:
            detail = f"a report of {where} was left out at {format_time(each.lost_at)}"
            hint = (
                "it was over 8 MiB, 2,000 waited for a daemon, or that refused it; what a transcript has is"
                " read all the same"
            )
            yield _Found(OK, detail, hint)


def _staleness(parts: Parts, _repair: bool) -> Iterator[_Found]:
    """Whether bound folders still have what learnings say of them. What is gone is for a person to judge."""
    for name, what in folder_staleness.find_stale(parts):
        yield _Found(NOTICE, f"{name}: {what}", "it waits for review within a day, to be kept or taken back")


def _derived_finding(detail: str, *, repaired: bool, hint: str) -> _Found:
    return _Found(REPAIRED, detail) if repaired else _Found(PROBLEM, detail, hint)


_UNCONFINED = {
    Stance.ASK: "a person is asked about each",
    Stance.ALLOW: "they can do all that this user can, as the other rules allow",
    Stance.DENY: "none is run",
}
# What is looked at, in this order, and what is told where nothing was found.
_CHECKS: tuple[tuple[str, _Check, str], ...] = (
    ("database", _database, "all that is stored can be read, and every checksum holds"),
    ("clock", _clock, "it has not jumped"),
    ("permissions", _permissions, "nobody else can read the state root"),
    ("run memories", _run_memories, "every pointer leads to a memory, and every memory to a run"),
    ("index", _index, "it agrees with the store"),
    ("embedding", _embedding, "every vector is of a live learning, and the backend has not failed"),
    (
        "promoted skills",
        _promoted_skills,
        "every one that is active has its evidence, and the catalogue says what they say",
    ),
    ("skills", _skills, "every file says what is stored"),
    ("still true", _staleness, "bound folders have what learnings and skills say of them"),
    ("mounts", _mounts, "every copy that is mounted says what its skill says"),
    ("jobs", _jobs, "nothing has failed for good"),
    ("models", _models, "every model that is set can be asked"),
    ("confinement", _confinement, "the kernel keeps agents' commands inside the working folder"),
    ("agents", _agents, "the hooks of all that are connected are in place"),
)
