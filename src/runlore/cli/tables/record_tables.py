"""What people see of each answer. `terminal` escapes it and makes it fit."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from runlore.cli.tables.table_cells import (
    STATE_WORDS,
    end_list,
    plural,
    scope_text,
    show_fields,
    show_list,
    time_text,
)
from runlore.cli.terminal import Column, say, show_table
from runlore.domain import limits
from runlore.domain.record import JsonObject, JsonValue, Layer, Record
from runlore.domain.serialization.codec import serialize
from runlore.domain.statements.ranks import confidence_reasons
from runlore.domain.text.excerpt import excerpt
from runlore.domain.timestamps import format_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runlore.cli.terminal import Cell
    from runlore.domain.record import Record, Transition
    from runlore.domain.records.audit import RecordEvent
    from runlore.ports import operations as ops

_SUMMARY = Column(title="SUMMARY", wraps=True)
RECORDS_NEXT = (
    "Memories, the newest first. `runlore memory inspect @1` shows the first, `runlore memory rollback @1`"
    " takes it back, `runlore forget @1` erases it."
)
_FOR_PROGRAMS = frozenset({"metadata", "semantic_key", "automation_review", "policy_decision", "origin"})
_DEEDS = (Column(), Column(), Column(wraps=True, lines=True))
# Two texts beside each other hold no ids, and can be read in narrower columns.
_BESIDE_COLUMNS_MIN = 16


def show_proposed(deed: str, record: Record) -> None:
    if record.was_proposed_before:
        since = time_text(record.created_at)
        say(f"The same waits for review already, since {since}: {record.record_id}: {record.summary}")
    else:
        say(f"{deed} {record.record_id}: {record.summary} (it waits for review)")


def show_records(
    records: Sequence[Record],
    next_cursor: str | None,
    *,
    empty: str,
    names: Mapping[str, str] = MappingProxyType({}),
) -> None:
    if not records:
        say(empty, "dim")
        return
    show_list(
        ["ID", "LAYER", "KIND", "STATE", "SCOPE", _SUMMARY],
        [
            (r.record_id, r.layer, r.kind, state_cell(r), scope_text(r.scope, names), cut_summary(r))
            for r in records
        ],
    )
    end_list(next_cursor, RECORDS_NEXT)


def show_record(record: Record) -> None:
    """All of a record; at a terminal in the words of people, and without what only programs go by."""
    plain = serialize(record)
    is_seen = sys.stdout.isatty()
    if is_seen:
        told = {name: value for name, value in plain.items() if name not in _FOR_PROGRAMS}
        plain = {**told, "state": state_cell(record)[0]}
    usual = {"scope": scope_text(record.scope), "provenance": None, "feedback": None}
    if record.provenance.tainted or record.provenance.sources:
        del usual["provenance"]
    if record.feedback.wrong or record.feedback.helped:
        del usual["feedback"]
    show_fields({**plain, **usual, "why": list(confidence_reasons(record))})
    if is_seen:
        say("`runlore memory history last` shows every change of it, --json every field.", "dim")


def cut_summary(record: Record) -> str:
    """As much of what a record says as a list has room for."""
    return excerpt(record.summary, limits.PREVIEW_CHARS_MAX)


def show_hits(hits: ops.SearchHits, *, explain: bool = False) -> None:
    """What was found, with its layer and whether it is in use; the score and its parts where asked for."""
    show_remark(hits.remark)
    if not hits.items:
        say("Nothing matches.", "dim")
        show_unsearched(hits.unsearched)
        return
    score, parts = (["SCORE"], [Column(title="PARTS", wraps=True)]) if explain else ([], [])
    show_list(
        ["ID", *score, "LAYER", "STATE", _SUMMARY, *parts],
        [
            (
                hit.record.record_id,
                *((str(hit.score.total),) if explain else ()),
                hit.record.layer,
                state_cell(hit.record),
                cut_summary(hit.record),
                *(((_parts(hit), "dim"),) if explain else ()),
            )
            for hit in hits.items
        ],
    )
    end_list(
        None, "The best first. `runlore memory inspect @1` shows the first, `runlore forget @1` erases it."
    )


def show_remark(remark: str) -> None:
    """Why meaning had no part in an answer; not where tables go, so that nobody takes it for a row."""
    if remark:
        say(f"By words alone: {remark}.", "dim", on_stderr=True)


def show_unsearched(passed_over: Iterable[str]) -> None:
    for each in passed_over:
        say(f"{each[:1].upper()}{each[1:]}.", "dim")


def show_goal_context(context: ops.GoalContext) -> None:
    show_remark(context.remark)
    hits = [*context.profile, *context.procedural, *context.semantic]
    if not hits:
        say("Nothing that a prompt may see is about this.", "dim")
        return
    show_table(
        ["LAYER", "SCORE", "ID", "SCOPE", _SUMMARY],
        [
            (
                hit.record.layer,
                str(hit.score.total),
                hit.record.record_id,
                scope_text(hit.record.scope),
                hit.record.summary,
            )
            for hit in hits
        ],
    )


def show_history(events: Iterable[RecordEvent]) -> None:
    texts = (Column(title="REASON", wraps=True), Column(title="CHANGED", wraps=True))
    show_table(
        ["REV", "AT", "MOVE", "STATE", "ACTOR", *texts],
        [
            (
                str(event.revision),
                format_time(event.at),
                event.move,
                f"{event.from_state or '-'} -> {event.to_state}",
                event.actor,
                event.reason,
                _changed_fields(event),
            )
            for event in events
        ],
    )


def show_states(rows: Iterable[Transition]) -> None:
    texts = (Column(title="LAYERS", wraps=True, columns_min=24), Column(title="GUARD", wraps=True))
    show_table(
        ["FROM", "MOVE", "TO", *texts],
        [
            (
                row.start or "-",
                row.move,
                f"{row.end} ({row.reason})" if row.reason else row.end,
                "all" if row.layers == frozenset(Layer) else ", ".join(sorted(row.layers)),
                row.guard,
            )
            for row in rows
        ],
    )


def show_review(page: ops.ReviewPage, names: Mapping[str, str]) -> None:
    if not page.items:
        say("Nothing else waits for review." if page.folded else "Nothing waits for review.", "dim")
    for number, item in enumerate(page.items):
        if number:
            say("")
        record = item.record
        say(f"{record.record_id}  {record.kind} in {scope_text(record.scope, names)}", "bold")
        if item.attention:
            _show_due(item)
        else:
            _show_waiting(item)
    end_list(page.next_cursor)
    if page.folded:
        more = plural(page.folded, "sentence")
        say(f"And {more} of users' own words, less sure: runlore memory review list --folded", "dim")


def _show_waiting(item: ops.ReviewItem) -> None:
    twin = item.outcome.duplicate_of
    now = [r.summary for r in item.outcome.supersedes] or [twin.summary if twin else "nothing"]
    _show_beside("NOW", now, "AFTER CONFIRMING", twin.summary if twin else item.record.summary)
    for line, style in _remarks(item):
        say("  " + line, style)


def _show_due(item: ops.ReviewItem) -> None:
    record_id = item.record.record_id
    say(f"    {item.record.summary}")
    for line in item.attention:
        say(f"  published, and {line}", "yellow")
    for obstacle in item.outcome.obstacles:
        say(f"  {obstacle.sentence}; {obstacle.hint}", "red")
    if not item.outcome.obstacles:
        say(f"  `runlore learning verify {record_id} --on-my-word` keeps it", "dim")
    say(f"  `runlore learning revoke {record_id}` takes it back", "dim")


def show_merges(items: Sequence[ops.MergeItem], *, nothing: str) -> None:
    if not items:
        say(nothing, "dim")
        return
    for number, item in enumerate(items):
        if number:
            say("")
        proposal = f"  {item.proposal.record_id}" if item.proposal else ""
        shared = f": {', '.join(item.merge.shared)}" if item.merge.shared else ""
        say(
            f"{item.status}{proposal}  {scope_text(item.merge.scope)}, same {item.merge.basis}{shared}",
            "bold",
        )
        texts = [record.summary for record in item.sources]
        _show_beside(f"{len(texts)} SOURCES", texts, "MERGED", item.merge.summary)
        for record in item.sources:
            say(f"  from {record.record_id}", "dim")


def show_rollback(answer: ops.RollbackAnswer) -> None:
    rows: list[tuple[str, Record, str]] = [
        ("Rolled back", answer.record, answer.record.summary),
        *(("restored", record, record.summary) for record in answer.restored),
        *(("can be restored", record, record.summary) for record in answer.restorable),
        *(("cannot be restored", each.record, each.obstacle.sentence) for each in answer.blocked),
    ]
    show_table(_DEEDS, [(deed, record.record_id, text) for deed, record, text in rows])
    if answer.restorable:
        say("`runlore memory restore ID` brings one back.", "dim")


def show_forget(answer: ops.ForgetAnswer, *, on_stderr: bool = False) -> None:
    deed = "Would erase" if answer.dry_run else "Erased"
    rows = [
        *((deed, session_id, "session") for session_id in answer.sessions),
        *((deed, run_id, "run") for run_id in answer.runs),
        *((deed, record.record_id, record.summary or record.kind) for record in answer.records),
    ]
    if rows:
        show_table(_DEEDS, rows, on_stderr=on_stderr)
    else:
        say("There is nothing left to erase.", "dim", on_stderr=on_stderr)
    along = [
        plural(number, what)
        for number, what in (
            (answer.events, "journal event"),
            (answer.artifacts, "artifact"),
            (answer.requests, "kept request"),
        )
        if number
    ]
    if along:
        say(f"{deed} with {'it' if len(rows) == 1 else 'them'}: {', '.join(along)}", on_stderr=on_stderr)
    for path in answer.exports_left:
        say(f"An export still holds it; delete it yourself: {path}", "yellow", on_stderr=on_stderr)
    for path in answer.backups_left:
        say(f"A backup of its time holds it; delete it yourself: {path}", "yellow", on_stderr=on_stderr)


def show_adoption(adoption: ops.Adoption) -> None:
    procedure = adoption.procedure
    say(f"{adoption.episode.summary}: {procedure.record_id} is {procedure.state}")


def show_export(answer: ops.ExportAnswer) -> None:
    say(f"Wrote {plural(answer.count, 'record')} to {answer.path}")


def show_import(answer: ops.ImportAnswer) -> None:
    if answer.mode == "exact":
        say(f"Imported {plural(answer.count, 'record')}, exactly as in the file, with all history.")
    else:
        shown = ": `runlore memory review list` shows them" if answer.count else ""
        say(f"Imported {plural(answer.count, 'record')} as candidates{shown}.")
    for why, number in sorted(answer.skipped.items()):
        say(f"  left out {number}: {why}", "dim")


def _show_beside(left: str, texts: Sequence[str], right: str, text: str) -> None:
    """Several texts beside the one that takes their place, deeper than the remarks that follow."""
    columns = [
        Column(title=title, wraps=True, lines=True, labelled=True, columns_min=_BESIDE_COLUMNS_MIN)
        for title in (left, right)
    ]
    show_table(
        columns,
        [((each, "dim"), (text if number == 0 else "", "green")) for number, each in enumerate(texts)],
        indent=4,
    )


def _remarks(item: ops.ReviewItem) -> Iterator[tuple[str, str]]:
    record, outcome = item.record, item.outcome
    for replaced in outcome.supersedes:
        yield f"replaces {replaced.record_id}", ""
    if item.why:
        yield f"why: you said it; {', '.join(item.why)}", "dim"
    elif record.metadata.get("reason"):
        yield f"why: {record.metadata['reason']}", "dim"
    for name, text in verdict_rows(record):
        yield f"{name}: {text}", "dim"
    if outcome.duplicate_of is not None:
        yield (
            f"says the same as {outcome.duplicate_of.record_id}: confirming keeps that one and ends this one"
            " as its duplicate",
            "yellow",
        )
    for obstacle in outcome.obstacles:
        yield f"would be refused: {obstacle.sentence}; {obstacle.hint}", "red"
    if record.provenance.tainted:
        sources = ", ".join(record.provenance.sources) or "an unnamed source"
        yield f"comes from outside ({sources}): needs --accept-untrusted", "yellow"
    if item.offers_standing:
        yield "a rule: confirmed with --standing it is in every prompt of its scope", "dim"
    if item.rivals:
        yield f"other proposals for the same place: {', '.join(item.rivals)}", "yellow"


def _parts(hit: ops.SearchHit) -> str:
    score = hit.score
    named = {
        "exact": score.exact,
        "summary": score.summary,
        "metadata": score.metadata,
        "state": score.state,
        "recency": score.recency,
        "neighbours": score.neighbours,
        "meaning": score.meaning,
    }
    return " + ".join(f"{name} {value}" for name, value in named.items() if value)


def _changed_fields(event: RecordEvent) -> str:
    return "" if event.from_state is None else ", ".join(sorted(set(event.changes) - {"revision", "state"}))


def state_cell(record: Record) -> Cell:
    reason = f" ({record.state_reason})" if record.state_reason else ""
    word, style = STATE_WORDS[record.state]
    return word + reason, style


def verdict_rows(record: Record) -> Iterator[tuple[str, str]]:
    review = record.automation_review
    if review is None:
        return
    yield "automation", _verdict(review)
    judge = review.get("judge")
    if isinstance(judge, Mapping):
        yield "judge", _judge(judge)


def verdict_word(record: Record) -> str:
    review = record.automation_review
    action = "-" if review is None else _text(review.get("action"))
    return f"{action}, {record.policy_decision}" if record.policy_decision else action


def feedback_text(record: Record) -> str:
    return f"{record.feedback.wrong} wrong, {record.feedback.helped} helped"


def _verdict(review: JsonObject) -> str:
    """The action, and why: the reason begins with what the rules said, and by which of them."""
    return (
        f"{_text(review.get('action'))} in {_text(review.get('mode'))} mode"
        f" (policy revision {_text(review.get('policy_revision'))}): {_text(review.get('reason'))}"
    )


def _judge(judge: Mapping[str, JsonValue]) -> str:
    asked = ", ".join(_text(judge[name]) for name in ("model", "prompt") if judge.get(name))
    failure = f", failed with {_text(judge['failure'])}" if judge.get("failure") else ""
    by = f" ({asked})" if asked else ""
    return f"{_text(judge.get('action'))}{failure}{by}: {_text(judge.get('reason'))}"


def _text(value: JsonValue) -> str:
    return "" if value is None else str(value)
