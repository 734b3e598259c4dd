"""What repeated episodes come to in memory (CAP-9): a workflow that succeeded in several sessions, or in more
runs of one, is proposed as a procedure (LAY-4), a finding that as many of them made as a fact (LAY-3). A
saved skill is one of a name. What one project alone has shown belongs to that project.

Only a person decides on these (`Proposal.EPISODES`). Each is known by what it was made of, and made once.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from runlore.domain import limits
from runlore.domain.claims.subject import semantic_key
from runlore.domain.detectors.match import PROCEDURES, Heuristic
from runlore.domain.record import EvidenceRef, Kind, Proposal, Record, Sensitivity, Source
from runlore.domain.records.admission import Draft
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.skill import Skill
from runlore.domain.suggestion import Suggestion, pattern_digest
from runlore.domain.taint import inherit
from runlore.domain.text.excerpt import excerpt

DIGEST = "sources_digest"
ORIGIN = "episodes"
_OVERVIEW = "## Overview"
_LABELLED = re.compile(r"\s{0,8}([A-Za-z][\w -]{0,23}):\s(.*)", re.DOTALL)
_FINDINGS = frozenset({"finding", "found", "scan", "result", "fact"})


def draft_of_suggestion(suggestion: Suggestion) -> Draft | None:
    """What a suggestion proposes to remember; None where too few sessions show it, or it is neither."""
    runs = {each.run_id for each in suggestion.evidence}
    if not is_repeated(sessions=suggestion.sessions, runs=len(runs)):
        return None
    if suggestion.heuristic is Heuristic.ERROR_RECOVERY:
        # What went wrong and what put it right, as the overview says it.
        lines = suggestion.body.splitlines()
        behind = lines[lines.index(_OVERVIEW) + 1 :] if _OVERVIEW in lines else []
        told = next((line.strip() for line in behind if line.strip()), "")
        if not told:
            return None
        digest = _digest(Kind.FACT, pattern_digest(suggestion.pattern))
        return replace(_draft(suggestion, Kind.FACT, told), metadata={"origin": ORIGIN, DIGEST: digest})
    return workflow_of(suggestion) if suggestion.heuristic in PROCEDURES else None


def procedures_beside(repeated: Iterable[Suggestion], found: Sequence[Suggestion]) -> tuple[Suggestion, ...]:
    """Of repeated work what is proposed as a procedure, but for what a suggestion proposes with itself."""
    own = {digest for each in found for digest in digests_of(each, Kind.PROCEDURE)}
    return tuple(
        each
        for each in repeated
        if own.isdisjoint(digests_of(each, Kind.PROCEDURE))
        and (draft := draft_of_suggestion(each)) is not None
        and draft.kind is Kind.PROCEDURE
    )


def is_repeated(*, sessions: int, runs: int) -> bool:
    """Whether so many sessions, with so many runs, show something often enough for it to be proposed."""
    return sessions >= limits.REPEATED_SESSIONS_MIN or runs >= limits.REPEATED_RUNS_MIN


def scope_of(projects: Iterable[str]) -> Scope:
    """Where something belongs that sessions of these projects have shown: to the one project, else to the
    workspace."""
    known = {project.strip() for project in projects}
    return Scope(ScopeKind.PROJECT, known.pop()) if len(known) == 1 and "" not in known else WORKSPACE


def scope_of_suggestion(suggestion: Suggestion) -> Scope:
    return scope_of(each.project for each in suggestion.evidence)


def workflow_of(suggestion: Suggestion, name: str = "") -> Draft:
    """The procedure that a suggestion is, under its own name or that of its skill."""
    workflow = name or suggestion.name
    steps = "".join(f"\n{at}. {command}" for at, command in enumerate(suggestion.commands, start=1))
    return replace(
        _draft(suggestion, Kind.PROCEDURE, f"{workflow}: {suggestion.description}{steps}"),
        metadata=_of_workflow(workflow, procedure_digest(suggestion.pattern)),
    )


def workflow_of_skill(skill: Skill) -> Draft:
    """The procedure that a skill is which was made of no suggestion: brought in, or written by somebody."""
    return Draft(
        kind=Kind.PROCEDURE,
        summary=excerpt(f"{skill.name}: {skill.document.description}", limits.SUMMARY_CHARS_MAX),
        metadata=_of_workflow(skill.name, _digest(Kind.PROCEDURE, skill.skill_id)),
        provenance=skill.provenance,
        proposal=Proposal.EPISODES,
    )


def digests_of(suggestion: Suggestion, kind: Kind) -> tuple[str, ...]:
    """By what the proposals of a suggestion are known: which of its patterns gives it its own may change."""
    known = dict.fromkeys((pattern_digest(suggestion.pattern), *suggestion.variants))
    return tuple(_digest(kind, each) for each in known)


def procedure_digest(pattern: str) -> str:
    return _digest(Kind.PROCEDURE, pattern_digest(pattern))


def procedure_digests(skill: Skill) -> tuple[str, ...]:
    """By what the procedure of a saved skill is known."""
    patterns = (each.pattern for each in skill.learned_from)
    return (*map(procedure_digest, patterns), _digest(Kind.PROCEDURE, skill.skill_id))


def states_same(episode: Record, other: Record) -> bool:
    """Whether two episodes tell of the same finding."""
    is_alike = episode.kind is other.kind
    return is_alike and semantic_key(episode.summary) == semantic_key(other.summary)


def finding_of_note(text: str) -> str:
    """What a note of a run says that was found; empty for a plan, a step, or whatever states nothing."""
    labelled = _LABELLED.match(text)
    if labelled is not None:
        return labelled[2].strip() if labelled[1].lower() in _FINDINGS else ""
    return text.strip() if semantic_key(text).value else ""


def finding_of(episodes: Sequence[Record], scope: Scope) -> Draft:
    """The fact that equal episodes or notes come to, the latest of them first."""
    latest = episodes[0]
    text = finding_of_note(latest.summary) if latest.kind is Kind.SCRATCH else latest.summary
    key_text = semantic_key(text).text
    is_sensitive = any(each.sensitivity is Sensitivity.SENSITIVE for each in episodes)
    return Draft(
        kind=Kind.FACT,
        summary=text,
        scope=scope,
        metadata={"origin": ORIGIN, DIGEST: _digest(Kind.FACT, f"{scope} {key_text}")},
        sensitivity=Sensitivity.SENSITIVE if is_sensitive else Sensitivity.NORMAL,
        source=Source(record_ids=tuple(each.record_id for each in episodes)),
        provenance=inherit(each.provenance for each in episodes),
        proposal=Proposal.EPISODES,
    )


def _draft(suggestion: Suggestion, kind: Kind, summary: str) -> Draft:
    latest = suggestion.evidence[-1]
    return Draft(
        kind=kind,
        summary=excerpt(summary, limits.SUMMARY_CHARS_MAX),
        scope=scope_of_suggestion(suggestion),
        confidence=min(suggestion.score.points, limits.CONFIDENCE_MAX),
        source=Source(session_id=latest.session_id, run_id=latest.run_id),
        evidence_refs=tuple(_references(suggestion)),
        provenance=suggestion.provenance,
        proposal=Proposal.EPISODES,
    )


def _references(suggestion: Suggestion) -> Iterable[EvidenceRef]:
    for each in suggestion.evidence[-limits.EVIDENCE_REFS_MAX :]:
        yield EvidenceRef(run_id=each.run_id, event_number=next(iter(each.event_numbers), None))


def _of_workflow(workflow: str, digest: str) -> dict[str, str | bool]:
    return {"workflow": workflow, "canonical": False, DIGEST: digest}


def _digest(kind: Kind, known_by: str) -> str:
    return f"{kind}:{pattern_digest(known_by)}"
