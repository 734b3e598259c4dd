"""What people see of skills as they are kept, what fits a turn, what curation did, and the log."""

from collections.abc import Iterator, Sequence

from runlore.cli.tables.mount_tables import some_of
from runlore.cli.tables.table_cells import FIELDS, end_list, plural, show_page, time_text
from runlore.cli.terminal import Cell, Column, say, show_table
from runlore.domain.skill import Skill, SkillState
from runlore.domain.skills.skill_curation import Curation, CurationAction, CurationKind
from runlore.domain.suggestion import StoredSuggestion, Suggestion, SuggestionEvidence, SuggestionState
from runlore.domain.text.excerpt import excerpt
from runlore.ports import operations as ops

OUTSIDE = "from outside"
_GOES = {CurationKind.MERGE: "goes into KEPT", CurationKind.DROP: "goes, KEPT stays"}
_STYLES = {SkillState.ACTIVE: "green", SkillState.MERGED: "dim", SkillState.DELETED: "dim"}


def show_skills(skills: Sequence[Skill], next_cursor: str | None = None) -> None:
    if not skills:
        say("No skills match. `runlore skill save` shows what waits to become one.", "dim")
        return
    show_table(
        ["NAME", "STATE", "ORIGIN", "QUALITY", "USED", Column(title="DESCRIPTION", wraps=True)],
        [
            (
                skill.name,
                state_cell(skill),
                skill.origin.value,
                skill.document.quality.value,
                (plural(skill.usage.times, "time") if skill.usage.times else "never"),
                excerpt(skill.document.description, DESCRIPTION_CHARS_MAX),
            )
            for skill in skills
        ],
    )
    show_remarks(skills)
    end_list(next_cursor, "Skills by name. `runlore skill view NAME` shows one.")


def show_remarks(skills: Sequence[Skill]) -> None:
    """What of skills may no longer hold, and what is wrong with their files."""
    for skill in skills:
        if skill.doubt:
            say(f"{skill.name} {skill.doubt}.", "yellow")
        if skill.file_remark:
            say(f"{skill.file_remark[:1].upper()}{skill.file_remark[1:]}.", "yellow")


def show_skill(skill: Skill, *, beside: Sequence[str] = ()) -> None:
    say(f"{skill.name}  {skill.skill_id}", "bold")
    rows: list[tuple[Cell, Cell]] = [
        (("state", "bold"), state_cell(skill)),
        *(((name, "bold"), text) for name, text in _document_rows(skill, some_of(beside)) if text),
    ]
    show_table(FIELDS, rows, indent=2)


def show_given(skill: Skill, text: str) -> None:
    say(f"{skill.name}  {skill.skill_id}, revision {skill.revision}:", "bold")
    for warning in _demands(skill):
        say(warning, "yellow")
    say("")
    say(text.rstrip(), keep_newlines=True)
    say("")


def show_fitting(found: ops.FittingSkills) -> None:
    if not found.items:
        say("No skill fits.", "dim")
    else:
        show_table(
            [
                "NAME",
                Column(title="SCORE", right=True, labelled=True),
                Column(title="WHY", wraps=True),
                Column(title="DESCRIPTION", wraps=True),
            ],
            [
                (
                    fitting.skill.name,
                    f"{fitting.match.score:,}",
                    _why(fitting),
                    excerpt(fitting.skill.document.description, DESCRIPTION_CHARS_MAX),
                )
                for fitting in found.items
            ],
        )
    if found.remark:
        say(f"{found.remark[:1].upper()}{found.remark[1:]}", "yellow")
    elif found.semantic:
        say("Words and meaning were compared.", "dim")


def show_curated(answer: ops.CurateAnswer) -> None:
    if not answer.actions:
        say("There is nothing to do: no draft overlaps another, repeats one, was skipped or is stale.")
    else:
        _show_actions(answer.actions)
    if answer.curation is not None:
        if answer.curation.comment:
            say(f"The model's comment: {answer.curation.comment}")
        say(f"Done. To put everything back: runlore skill undo {answer.curation.curation_id}")
    elif answer.actions:
        say("Nothing was changed. To do it: runlore skill curate --apply", "dim")


def show_undone(curation: Curation) -> None:
    say(f"Undone: {plural(len(curation.actions), 'action')} of {curation.curation_id}. As before are again:")
    for skill in curation.before:
        say(f"  {skill.name}")


def show_curations(curations: Sequence[Curation]) -> None:
    if not curations:
        say("Nothing was curated yet.", "dim")
        return
    for curation in curations:
        undone = f", undone {time_text(curation.undone_at)} by {curation.undone_by}"
        by = f"by {curation.actor}{undone if curation.undone_at else ''}"
        say(f"{curation.curation_id}  {time_text(curation.at)}  {by}", "bold")
        _show_actions(curation.actions, indent=2)
        if curation.comment:
            say(f"  the model's comment: {curation.comment}")


def show_log(log: ops.SkillLog, name: str | None = None) -> None:
    nothing = "Nothing has happened to skills yet."
    show_page(
        log,
        f"Nothing is known of a skill called {name}." if name is not None else nothing,
        ["TIME", "WHAT", "NAME", "BY", Column(title="WHY", wraps=True)],
        lambda event: (time_text(event.at), event.kind.value, event.name, event.actor, event.reason),
    )


def state_cell(skill: Skill) -> Cell:
    if skill.provenance.tainted:
        return f"{skill.state.value}, {OUTSIDE}", "red"
    return skill.state.value, _STYLES[skill.state]


def _show_actions(actions: Sequence[CurationAction], *, indent: int = 0) -> None:
    show_table(
        ["WHAT", "SKILLS", Column(title="WHY", wraps=True)],
        [(action.kind.value, _what_goes(action), action.reason) for action in actions],
        indent=indent,
    )


def _what_goes(action: CurationAction) -> str:
    goes = _GOES.get(action.kind, "goes").replace("KEPT", action.kept_name)
    return f"{action.gone_name} {goes}"


def _why(fitting: ops.FittingSkill) -> str:
    """The reasons, those that count most first; `--json` has their points."""
    reasons = [reason for reason, _ in sorted(fitting.match.parts, key=lambda part: -part[1])]
    return ", ".join(["always there", *reasons] if fitting.match.auto_load else reasons)


def _document_rows(skill: Skill, beside: str) -> Iterator[tuple[str, str]]:
    document = skill.document
    yield "description", document.description
    yield "about", ", ".join(document.topics)
    yield "actions", ", ".join(document.actions)
    yield "origin", ", ".join(dict.fromkeys((skill.origin.value, document.quality.value)))
    yield "version", f"{document.version}{f' by {document.author}' if document.author else ''}"
    yield "always there", "yes" if document.auto_load else ""
    yield "license", document.license
    yield "compatibility", document.compatibility
    yield "allowed tools", document.allowed_tools
    for name, value in document.metadata.items():
        yield f"metadata.{name}", value
    for source in skill.provenance.sources:
        yield OUTSIDE, source
    yield "used", _usage_text(skill)
    yield "learned from", ", ".join(each.suggestion_id for each in skill.learned_from)
    yield "run", skill.source_run_id or ""
    yield "merged into", skill.merged_into or ""
    yield "decided by", skill.state_actor
    yield "created", time_text(skill.created_at)
    yield "updated", time_text(skill.updated_at)
    yield "revision", str(skill.revision)
    yield "beside it", f"{beside}; not mounted, exported or brought along" if beside else ""
    yield "skill", document.body


def _demands(skill: Skill) -> Iterator[str]:
    document = skill.document
    if document.allowed_tools:
        yield f"It lets agents use these tools without a question: {document.allowed_tools}"
    if document.auto_load:
        yield "It would be in every prompt."
    if document.metadata:
        yield f"It has fields of its own, which agents may or may not read: {', '.join(document.metadata)}"


def _usage_text(skill: Skill) -> str:
    usage = skill.usage
    if not usage.times:
        return "never"
    runs = f"{plural(usage.times, 'run')}, last at {time_text(usage.last_used_at)}"
    return f"{runs}: {usage.succeeded:,} succeeded, {usage.failed:,} failed"


DESCRIPTION_CHARS_MAX = 300
_SUGGESTION_STYLES = {
    SuggestionState.WAITING: "yellow",
    SuggestionState.SAVED: "green",
    SuggestionState.SKIPPED: "dim",
}


def show_suggestions(page: ops.SuggestionPage) -> None:
    show_page(
        page,
        "No suggestions match. `runlore learn` looks for skills in transcripts.",
        ["NAME", "SEEN", "STATE", Column(title="DESCRIPTION", wraps=True)],
        lambda stored: (
            *(stored.suggestion.name, seen_text(stored.suggestion), _state(stored)),
            excerpt(stored.suggestion.description, DESCRIPTION_CHARS_MAX),
        ),
        then="Suggested skills, the best first. `runlore skill save NAME` keeps one, `skill skip NAME` does"
        " not.",
    )


def show_suggestion(stored: StoredSuggestion) -> None:
    say(f"{stored.suggestion.name}  {stored.suggestion_id}", "bold")
    rows: list[tuple[Cell, Cell]] = [
        (("state", "bold"), _state(stored)),
        *(((name, "bold"), text) for name, text in _suggestion_rows(stored.suggestion) if text),
        *(((name, "bold"), text) for name, text in _queue_rows(stored) if text),
    ]
    show_table(FIELDS, rows, indent=2)


def show_move(deed: str, stored: StoredSuggestion) -> None:
    say(f"{deed} {stored.suggestion.name}  {stored.suggestion_id}")


def show_reset(stored: StoredSuggestion) -> None:
    show_move("Waiting again:" if stored.waits else "Saved, and not skipped any more:", stored)


def seen_text(suggestion: Suggestion) -> str:
    return f"{plural(suggestion.times, 'time')} in {plural(suggestion.sessions, 'session')}"


def _state(stored: StoredSuggestion) -> Cell:
    if stored.suggestion.provenance.tainted:
        return f"{stored.state.value}, from outside", "red"
    return stored.state.value, _SUGGESTION_STYLES[stored.state]


def _suggestion_rows(suggestion: Suggestion) -> Iterator[tuple[str, str]]:
    yield "description", suggestion.description
    yield "detector", suggestion.heuristic.value
    yield "seen", seen_text(suggestion)
    yield "about", suggestion.trigger.topic
    yield "actions", ", ".join(suggestion.trigger.actions)
    for command in suggestion.commands:
        yield "command", command
    for parameter in suggestion.parameters:
        such_as = f", such as {', '.join(parameter.examples)}" if parameter.examples else ""
        yield "parameter", f"<{parameter.name}>{such_as}"
    yield "score", str(suggestion.score.points)
    for part in suggestion.score.parts:
        yield "because", f"{part.points:+d}  {part.reason}"
    for source in suggestion.provenance.sources:
        yield "from outside", source
    for evidence in suggestion.evidence:
        yield "evidence", _evidence(evidence)
    yield "improved by", suggestion.enhanced_by
    yield "skill", suggestion.body


def _queue_rows(stored: StoredSuggestion) -> Iterator[tuple[str, str]]:
    yield "decided by", stored.state_actor
    yield "created", time_text(stored.created_at)
    yield "updated", time_text(stored.updated_at)
    yield "revision", str(stored.revision)


def _evidence(evidence: SuggestionEvidence) -> str:
    numbers = ", ".join(map(str, evidence.event_numbers))
    name = evidence.known_as
    project = f" in {name}" if name else ""
    return f"{time_text(evidence.at)}  run {evidence.run_id}, events {numbers}{project}"
