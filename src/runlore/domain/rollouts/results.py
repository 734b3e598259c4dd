"""Results of runs as evidence (ROL-3, ROL-6): bound to a run that executed this skill at this fingerprint.

A verification that failed is refused, and nothing is stored. A failed canary is kept: it speaks against the
same words for ever. One execution counts once.
"""

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256

from runlore.domain import limits
from runlore.domain.errors import Conflict, Invalid, Refused
from runlore.domain.guard.entry import without_secret
from runlore.domain.lazy import dataclass
from runlore.domain.records.audit import Act
from runlore.domain.rollouts.evidence import canary_began_at, rollout_began_at
from runlore.domain.rollouts.moves import with_result
from runlore.domain.run import TERMINAL, RunId, RunStatus
from runlore.domain.session import SessionId
from runlore.domain.skills.rollout import (
    ROLLOUT,
    Evidence,
    Execution,
    ExecutionKind,
    PromotedSkill,
    RolloutKind,
    RolloutMove,
    RolloutStatus,
)

_SHOWN_RUNS = 5


@dataclass(frozen=True, kw_only=True)
class Result:
    """What is to be recorded: how a run of the skill went. `run_id` is the run that executed it, or the one
    that called it; `fingerprint` the definition that the caller means, where it says so."""

    kind: RolloutKind
    run_id: RunId
    marker: str
    fingerprint: str | None = None


@dataclass(frozen=True, kw_only=True)
class Ran:
    """The run that executed the skill: how it stands, when it was opened, whether it called any tool, and its
    final output."""

    run_id: RunId
    status: RunStatus
    opened_at: datetime
    called_tools: bool
    output: str = ""


def execution_for(skill: PromotedSkill, result: Result, executions: Sequence[Execution]) -> Execution:
    """The execution that a result is about, among those that its run made or called; its `run_id` names the
    run whose end and output `record_result` asks for.

    Raises all that is wrong before the run is looked at: `promoted.marker`, `promoted.fingerprint`, a move
    that the table lacks, `promoted.not-canary`, `promoted.not-executed`, `promoted.trial`,
    `promoted.session`, `promoted.ambiguous`.
    """
    check_marker(result.marker)
    if result.fingerprint is not None and result.fingerprint != skill.fingerprint:
        raise Conflict(
            f"promoted skill {skill.name} says something else by now: its fingerprint is {skill.fingerprint}",
            code="promoted.fingerprint",
            hint="read it again, and try it as it is",
        )
    # Those of the skill as it is that the run made itself, else those that it called.
    current = [
        each for each in executions if each.skill_name == skill.name and each.fingerprint == skill.fingerprint
    ]
    own = [each for each in current if each.run_id == result.run_id]
    found = own or [each for each in current if each.calling_run_id == result.run_id]
    if len(found) == 1 and _is_recorded(skill, found[0].run_id, result.kind):
        return found[0]
    ROLLOUT.after(skill.status, RolloutMove.RECORD, name=skill.name)
    if result.kind is RolloutKind.CANARY and skill.status is not RolloutStatus.CANARY:
        raise Conflict(
            f"promoted skill {skill.name} is {skill.status}; only one in canary takes canary results",
            code="promoted.not-canary",
            hint="advance it to canary first, with the sessions that are to see it",
        )
    if not found:
        raise Refused(
            f"run {result.run_id} did not execute promoted skill {skill.name} at its current fingerprint",
            code="promoted.not-executed",
            hint="try it (`runlore skill rollout trial`), or use it in a session of the canary",
        )
    return _choose_execution(skill, result, found)


def record_result(
    skill: PromotedSkill, result: Result, *, execution: Execution, ran: Ran, act: Act
) -> PromotedSkill:
    """A promoted skill with a result more; the same run once more changes nothing.

    Asks again for all that `execution_for` asks for. Then Refused: `promoted.counted` (the run counts as the
    other kind already), `promoted.before` (it was opened before this rollout began, or for canary evidence
    before the canary did), `promoted.running` (a Conflict: it has not ended), and for a verification
    `promoted.verification` where the run did not complete or its output lacks the marker.
    """
    execution = execution_for(skill, result, (execution,))
    if _is_recorded(skill, execution.run_id, result.kind):
        return skill
    _check_run(skill, execution, ran, kind=result.kind)
    problem = _problem(ran, check_marker(result.marker), kind=result.kind)
    if problem and result.kind is RolloutKind.VERIFICATION:
        raise Refused(
            f"run {ran.run_id} verifies nothing: {problem}",
            code="promoted.verification",
            hint="look at what the run did, and try again; nothing was recorded",
        )
    found = problem or "it is completed, and its output contains the marker"
    evidence = Evidence(
        kind=result.kind,
        run_id=execution.run_id,
        success=not problem,
        fingerprint=skill.fingerprint,
        at=act.at,
        actor=act.actor,
        session_id=execution.session_id,
        note=f"{result.kind} of definition {skill.fingerprint}: {found}",
    )
    return with_result(skill, evidence, act)


def check_marker(marker: str) -> str:
    """What a run's output has to contain, trimmed; Invalid (`promoted.marker`) where it proves nothing."""
    text = marker.strip()
    if not limits.MARKER_CHARS_MIN <= len(text) <= limits.MARKER_CHARS_MAX:
        raise Invalid(
            f"a marker has {limits.MARKER_CHARS_MIN} to {limits.MARKER_CHARS_MAX} characters,"
            f" not {len(text):,}",
            code="promoted.marker",
            hint="name a text that the run's final output has where it went well, and only there",
        )
    return without_secret("the marker", text)


def _choose_execution(skill: PromotedSkill, result: Result, found: Sequence[Execution]) -> Execution:
    fitting = [each for each in found if _fits(skill, result.kind, each)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        named = ", ".join(each.run_id for each in fitting[:_SHOWN_RUNS])
        raise Refused(
            f"run {result.run_id} called promoted skill {skill.name} {len(fitting)} times",
            code="promoted.ambiguous",
            hint=f"name the run that executed it: {named}",
        )
    if result.kind is RolloutKind.VERIFICATION:
        raise Refused(
            f"run {result.run_id} used promoted skill {skill.name}; only a trial verifies it",
            code="promoted.trial",
            hint="try it with `runlore skill rollout trial`, and record that run",
        )
    raise Refused(
        f"run {result.run_id} is not of a session that sees the canary of promoted skill {skill.name}",
        code="promoted.session",
        hint="use it in a session of the canary, or try it for one",
    )


def _fits(skill: PromotedSkill, kind: RolloutKind, execution: Execution) -> bool:
    if kind is RolloutKind.VERIFICATION:
        return execution.kind is ExecutionKind.TRIAL
    return execution.session_id is not None and in_canary(skill, execution.session_id)


def _is_recorded(skill: PromotedSkill, run_id: RunId, kind: RolloutKind) -> bool:
    """Whether a run's result is recorded; Refused where it is as evidence of the other kind."""
    kinds = {
        each.kind
        for each in skill.evidence
        if each.run_id == run_id and each.fingerprint == skill.fingerprint
    }
    if kinds and kind not in kinds:
        raise Refused(
            f"run {run_id} is recorded as {min(kinds)} evidence; one run counts once",
            code="promoted.counted",
            hint="run it again, and record that run",
        )
    return bool(kinds)


def _check_run(skill: PromotedSkill, execution: Execution, ran: Ran, *, kind: RolloutKind) -> None:
    if ran.run_id != execution.run_id:
        raise Refused(
            f"run {ran.run_id} is not the one that executed promoted skill {skill.name}",
            code="promoted.not-executed",
            hint=f"look at run {execution.run_id}",
        )
    if ran.opened_at < rollout_began_at(skill):
        raise Refused(
            f"run {ran.run_id} was opened before promoted skill {skill.name} said what it says, or before its"
            " rollout was begun again",
            code="promoted.before",
            hint="run it again as it is now",
        )
    if kind is RolloutKind.CANARY and execution.at < canary_began_at(skill):
        raise Refused(
            f"run {ran.run_id} executed promoted skill {skill.name} before its canary began",
            code="promoted.before",
            hint="use it in a session of the canary, or try it for one, and record that run",
        )
    if ran.status not in TERMINAL:
        raise Conflict(
            f"run {ran.run_id} is {ran.status}: how it went is not known yet",
            code="promoted.running",
            hint="wait until it has ended, and record it then",
        )


def _problem(ran: Ran, marker: str, *, kind: RolloutKind) -> str:
    """Why a run is no success; nothing where it is one. Who only says the marker has tried nothing."""
    if ran.status is not RunStatus.COMPLETED:
        return f"it is {ran.status}"
    if kind is RolloutKind.VERIFICATION and not ran.called_tools:
        return "it called no tool, so nothing was tried"
    return "" if marker in ran.output else "its final output does not contain the marker"


_SHARES = 100


def in_canary(skill: PromotedSkill, session_id: SessionId) -> bool:
    """Whether a session sees a skill that is in canary: it was named, or its id falls into the share.

    The same session is drawn for the same skill again and again, and stays when the share grows.
    """
    if skill.status is not RolloutStatus.CANARY:
        return False
    return session_id in skill.canary.sessions or _draw(skill.name, session_id) < skill.canary.share


def _draw(name: str, session_id: str) -> int:
    """A number from 0 to 99 that a session keeps for a skill, and another one for another skill."""
    data = f"{len(name)}:{name}{session_id}".encode("utf-8", "surrogatepass")
    return int.from_bytes(sha256(data).digest()[:8]) % _SHARES
