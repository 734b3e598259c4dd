"""What people see of promoted skills: where each stands, what speaks for it, and what happened to it."""

from collections.abc import Sequence

from runlore.cli.tables.library_tables import DESCRIPTION_CHARS_MAX
from runlore.cli.tables.table_cells import FIELDS, end_list, show_page, time_text
from runlore.cli.terminal import Cell, Column, say, show_table
from runlore.domain.rollouts import NextStep, counting, next_step
from runlore.domain.run import RunId
from runlore.domain.skills.rollout import Evidence, PromotedSkill, RolloutEvent, RolloutStatus
from runlore.domain.text.excerpt import excerpt
from runlore.ports import operations as ops

FINGERPRINT_CHARS = 12
_STYLES = {
    RolloutStatus.DRAFT: "",
    RolloutStatus.VERIFIED: "cyan",
    RolloutStatus.CANARY: "yellow",
    RolloutStatus.ACTIVE: "green",
    RolloutStatus.REVOKED: "dim",
}


_SHOWN = frozenset({RolloutStatus.CANARY})
_NEXT = {
    NextStep.TRY: ("What next", "trial {name} INPUT --record MARKER"),
    NextStep.VERIFY: ("What next", "advance {name} verified"),
    NextStep.SHOW: ("What next", "advance {name} canary --session ID"),
    NextStep.TRY_CANARY: ("What next", "trial {name} INPUT --session ID --kind canary --record MARKER"),
    NextStep.ACTIVATE: ("What next", "advance {name} active"),
    NextStep.REWRITE: ("What next", "start {learning} {name} OTHER_WORDS"),
    NextStep.REVOKE: ("To take it out of use", "revoke {name}"),
    NextStep.ROLL_BACK: ("To put it back", "rollback {name}"),
    NextStep.PROMOTE: ("To begin again", "start {learning} {name}"),
}


def show_promoted_page(page: ops.PromotedPage) -> None:
    show_page(
        page,
        "No procedure was promoted. `runlore skill rollout start` promotes one.",
        ["NAME", "STATUS", "CHANGED", "EVIDENCE", Column(title="DESCRIPTION", wraps=True)],
        lambda skill: (
            *(skill.name, _status(skill), time_text(skill.updated_at), _counts_text(skill)),
            excerpt(skill.definition.description, DESCRIPTION_CHARS_MAX),
        ),
        then="Promoted procedures. `runlore skill rollout status NAME` shows one.",
    )


def show_started(skill: PromotedSkill) -> None:
    say(f"{skill.name} is {skill.status.value}, revision {skill.revision}")
    show_table(FIELDS, _rows(_run_by(skill)), indent=2)
    _show_next(skill)


def show_promoted(skill: PromotedSkill) -> None:
    definition = skill.definition
    say(f"{skill.name}  {skill.definition.version}", "bold")
    rows: list[tuple[Cell, Cell]] = [(("status", "bold"), _status(skill))]
    rows += _rows(
        {
            "because": skill.revoked_reason,
            "description": definition.description,
            "when to use": definition.when_to_use,
            "instructions": definition.instructions,
            **_run_by(skill),
            "canary": _canary(skill),
            "fingerprint": skill.fingerprint,
            "revision": str(skill.revision),
        }
    )
    show_table(FIELDS, rows, indent=2)
    _show_evidence(skill)
    _show_events(skill.events)
    _show_next(skill)


def show_recorded(skill: PromotedSkill, run_id: RunId) -> None:
    evidence = evidence_of(skill, run_id)
    if evidence is not None:
        went = ("success", "green") if evidence.success else ("failure", "red")
        say(f"Recorded a {evidence.kind.value} of {skill.name} by {evidence.run_id}: {went[0]}", went[1])
    _show_next(skill)


def evidence_of(skill: PromotedSkill, run_id: RunId) -> Evidence | None:
    """What a run's result was recorded as: under its own id, or that of the run which it called."""
    found = [each for each in skill.evidence if each.run_id == run_id] or list(skill.evidence)
    return found[-1] if found else None


def show_moved(skill: PromotedSkill) -> None:
    why = f": {skill.revoked_reason}" if skill.revoked_reason else ""
    say(f"{skill.name} is {skill.status.value}{why}")
    if canary := _canary(skill):
        say(f"Seen by: {canary}")
    _show_next(skill)


def show_revoked(revoked: ops.RevokedSkill) -> None:
    show_moved(revoked.skill)
    for place in revoked.copies_left:
        say(f"A copy may still be in {place}", "yellow")


def show_history(history: ops.PromotedHistory) -> None:
    show_table(
        ["NUMBER", "AT", "STATUS", "VERSION", "FINGERPRINT", Column(title="BY", wraps=True, columns_min=8)],
        [
            (
                str(each.number),
                time_text(each.skill.updated_at),
                _status(each.skill),
                each.skill.definition.version,
                each.skill.fingerprint[:FINGERPRINT_CHARS],
                each.skill.events[-1].actor if each.skill.events else "",
            )
            for each in history.items
        ],
    )
    end_list(history.next_cursor)


def _run_by(skill: PromotedSkill) -> dict[str, str]:
    runtime, provenance = skill.definition.runtime, skill.provenance
    model = ":".join(part for part in (runtime.provider, runtime.model) if part)
    return {
        "made of": skill.source_record_id,
        "run by": f"{runtime.context.value}, profile {runtime.agent_profile}",
        "tools": ", ".join(runtime.allowed_tools) or "those of its profile",
        "not its tools": ", ".join(runtime.blocked_tools),
        "model": model,
        "fallback": runtime.fallback_model,
        "from outside": ", ".join(provenance.sources) or ("yes" if provenance.tainted else ""),
    }


def _canary(skill: PromotedSkill) -> str:
    if skill.status not in _SHOWN:
        return ""
    share = f"{skill.canary.share}% of all sessions" if skill.canary.share else ""
    return ", ".join([*skill.canary.sessions, *([share] if share else [])])


def _counts_text(skill: PromotedSkill) -> str:
    now = counting(skill)
    good = sum(each.success for each in now)
    return f"{good} good, {len(now) - good} bad" if now else "none"


def _show_evidence(skill: PromotedSkill) -> None:
    if not skill.evidence:
        return
    say("Evidence:")
    show_table(
        ["AT", "KIND", "WENT", "RUN", "SESSION", "OF"],
        [
            (
                time_text(each.at),
                each.kind.value,
                (("well", "green") if each.success else ("badly", "red")),
                each.run_id,
                each.session_id or "-",
                "now" if each.fingerprint == skill.fingerprint else each.fingerprint[:FINGERPRINT_CHARS],
            )
            for each in skill.evidence
        ],
        indent=2,
    )


def _show_events(events: Sequence[RolloutEvent]) -> None:
    say("What happened:")
    show_table(
        ["AT", "WHAT", "STATUS", "BY", Column(title="WHY", wraps=True, columns_min=16)],
        [(time_text(each.at), _what(each), each.to_status.value, each.actor, each.reason) for each in events],
        indent=2,
    )


def _what(event: RolloutEvent) -> str:
    if event.kind is None:
        return event.move.value
    return f"{event.kind.value} {'went well' if event.success else 'failed'}"


def _status(skill: PromotedSkill) -> Cell:
    return skill.status.value, _STYLES[skill.status]


def _rows(fields: dict[str, str]) -> list[tuple[Cell, Cell]]:
    return [((name, "bold"), text) for name, text in fields.items() if text]


def _show_next(skill: PromotedSkill) -> None:
    what, words = _NEXT[next_step(skill)]
    told = words.format(name=skill.name, learning=skill.source_record_id)
    say(f"{what}: runlore skill rollout {told}", "dim")
