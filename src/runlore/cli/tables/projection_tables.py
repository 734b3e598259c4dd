"""What people see of what prompts get: contexts, previews, receipts and the budget's arithmetic."""

from collections.abc import Iterator, Sequence

from runlore.cli.tables.record_tables import show_remark, show_unsearched
from runlore.cli.tables.table_cells import plural, scope_text, scopes_text, time_text
from runlore.cli.terminal import Cell, Column, say, show_table
from runlore.domain.prompts.projection import (
    Budget,
    LearnedEntry,
    Omission,
    Projection,
    RebuiltSection,
    ReceiptEntry,
    ReceiptSection,
    Section,
    SectionEntry,
    SectionName,
)
from runlore.domain.text.excerpt import excerpt
from runlore.ports import operations as ops

_OMITTED = {
    "over_entries": "more entries than the policy allows",
    "over_budget": "no room left in the budget",
    "over_standing": "no room left in the third for standing rules",
    "unreadable": "its memory is missing or unreadable",
    "held_back": "held back on purpose, to see what it is worth",
}
_REQUEST_CHARS_MAX = 200


def show_context(context: ops.MemoryContext) -> None:
    say(f"Session {context.session_id} sees {scopes_text(context.learning_scopes)}", "bold")
    learned, recovered = context.learned_context, context.recovered_memory
    _show_part("Learned context", learned.omitted)
    _show_rows(
        ["ID", "KIND", "SCOPE", "SCORE", Column(title="CONTENT", wraps=True)],
        [(e.record_id, e.kind, scope_text(e.scope), _score_text(e), e.content) for e in learned.entries],
    )
    _show_part("Recovered memory", recovered.omitted)
    _show_rows(
        ["RUN", "STATUS", "CAPTURED", Column(title="SUMMARY", wraps=True, lines=True)],
        [(m.run_id, m.status, time_text(m.captured_at), m.summary) for m in recovered.entries],
    )
    if context.hidden:
        _show_part("Seen, but not for prompts", context.hidden_omitted)
        show_table([Column(), Column(wraps=True)], [(i, (reason, "dim")) for i, reason in context.hidden])


def show_session_search(search: ops.SessionSearch) -> None:
    show_remark(search.remark)
    if not search.results:
        say("Nothing matches." if search.query is not None else "There is nothing yet.", "dim")
        show_unsearched(search.unsearched)
        return
    first = "WHEN" if search.query is None else "SCORE"
    show_table(
        [first, "KIND", "ID", "PROMPT", Column(title="EXCERPT", wraps=True, lines=True)],
        [
            (
                time_text(hit.timestamp) if search.query is None else str(hit.score),
                f"{hit.kind}, tainted" if hit.tainted else hit.kind,
                hit.source_id,
                "yes" if hit.prompt_eligible else "no",
                hit.excerpt or hit.title,
            )
            for hit in search.results
        ],
    )
    if search.truncated:
        say("There are more: raise --limit, or ask for something narrower.", "dim")


def show_preview(projection: Projection) -> None:
    if not projection.sections:
        say("The input would be given nothing.", "bold")
    for number, section in enumerate(projection.sections):
        if number:
            say("")
        say(section.text, keep_newlines=True)
    _show_given(projection.sections)
    _show_omissions(projection.omissions)
    _show_budget(projection.budget)


def show_receipt(view: ops.ReceiptView, *, with_sections: bool) -> None:
    run, receipt = view.run.run, view.receipt
    say(f"Run {run.run_id} of session {run.session_id}: {run.status}", "bold")
    say(f"  opened {time_text(run.opened_at)}" + (f", model {run.model}" if run.model else ""))
    say(f"  asked: {excerpt(view.run.request, _REQUEST_CHARS_MAX) or '(erased)'}")
    if receipt is None:
        say("It was given nothing: it did not ask for its context when it was opened.")
        return
    if not any(section.entries for section in receipt.sections):
        say("It was given nothing: nothing that it may see was about its input, or nothing had room.")
    _show_given(receipt.sections)
    if receipt.skills:
        say(f"Offered skills: {', '.join(receipt.skills)}")
    _show_omissions(receipt.omissions)
    _show_budget(receipt.budget)
    forgotten = [source for section in view.sections for source in section.missing]
    if forgotten:
        say(f"Forgotten since: {', '.join(forgotten)}", "yellow")
    if with_sections:
        _show_rebuilt(view.sections)


def _show_rows(columns: Sequence[Column | str], rows: Sequence[Sequence[Cell]]) -> None:
    if rows:
        show_table(columns, rows)
    else:
        say("nothing", "dim")


def _show_part(title: str, omitted: int) -> None:
    more = f" ({plural(omitted, 'more', 'more')} left out)" if omitted else ""
    say("")
    say(title + more, "bold")


def _show_given(sections: Sequence[Section | ReceiptSection]) -> None:
    """Each section with its entries and what they cost; its frame is what is not an entry."""
    for section in sections:
        if not section.entries:
            continue
        _show_part(f"Given as {section.name}, {plural(section.tokens, 'token')}", 0)
        rows = [
            (
                entry.source_id,
                "-" if entry.revision is None else str(entry.revision),
                "-" if entry.score is None else str(entry.score),
                f"{entry.tokens:,}",
                _reason(section.name, entry),
            )
            for entry in section.entries
        ]
        frame = section.tokens - sum(entry.tokens for entry in section.entries)
        show_table(
            [
                *("WHAT", "REV", "SCORE"),
                Column(title="TOKENS", right=True),
                Column(title="WHY", wraps=True, columns_min=16),
            ],
            [*rows, ("(its frame)", "", "", f"{frame:,}", "the lines around them")],
            indent=2,
        )


def _score_text(entry: LearnedEntry) -> str:
    return "standing" if entry.standing else "-" if entry.score is None else str(entry.score)


def _reason(section: SectionName, entry: SectionEntry | ReceiptEntry) -> str:
    score = entry.score
    if section is SectionName.RECOVERED_MEMORY:
        return "a recent run of this session"
    if entry.standing and score is None:
        return "standing: in every prompt of its scope"
    return "asked for memory: nearest scope, newest" if score is None else "matches the input"


def _show_omissions(omissions: Sequence[Omission]) -> None:
    if omissions:
        _show_part("Left out", 0)
        show_table(
            [
                *("SECTION", "WHAT", Column(title="TOKENS", right=True)),
                Column(title="WHY", wraps=True, columns_min=16),
            ],
            [(o.section, o.source_id, f"{o.tokens:,}", _OMITTED[o.reason]) for o in omissions],
            indent=2,
        )


def _show_budget(budget: Budget) -> None:
    _show_part("Budget, in tokens", 0)
    show_table(
        [Column(), Column(right=True), Column(wraps=True, columns_min=16)],
        list(_budget_rows(budget)),
        indent=2,
    )


def _budget_rows(budget: Budget) -> Iterator[tuple[str, str, str]]:
    if budget.window_tokens is None:
        yield "room", "-", "the model's window is not known: the policies' budgets alone count"
    else:
        yield "window", f"{budget.window_tokens:,}", f"of {budget.model_family}"
        yield "- answer", f"{budget.reserved_tokens:,}", "kept free for the reply"
        told = "told by the agent" if budget.prompt_tokens else "the agent told nothing of it"
        yield "- prompt", f"{budget.prompt_tokens:,}", told
        yield "- input", f"{budget.input_tokens:,}", f"estimated, factor {budget.factor_percent} %"
        yield "= room", f"{budget.room_tokens or 0:,}", ""
    for section in budget.sections:
        told = f"of {section.room_tokens:,} that it may take; its policy allows {section.policy_tokens:,}"
        yield section.section, f"{section.used_tokens:,}", told
        if section.standing_tokens:
            third = section.room_tokens // 3
            yield (
                "  standing",
                f"{section.standing_tokens:,}",
                f"of the {third:,} that rules may take, with the frame",
            )


def _show_rebuilt(sections: Sequence[RebuiltSection]) -> None:
    for section in sections:
        how = "exactly as it was" if section.exact else "as far as it can still be told"
        _show_part(f"{section.name}, {how}", 0)
        say(section.text, keep_newlines=True)
