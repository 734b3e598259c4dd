"""`runlore remember` and `runlore search`: the plain ways in and out for what a person wants kept."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated

from runlore.cli import options
from runlore.cli.agent.approval_prompt import read_line
from runlore.cli.inbox import read_key, show_beside
from runlore.cli.invocation import Invocation
from runlore.cli.skills.prompt import is_terminal
from runlore.cli.tables import record_tables
from runlore.cli.tables.table_cells import kind_text
from runlore.cli.terminal import say
from runlore.cli.typer_commands import argument, option
from runlore.daemon import answers
from runlore.daemon.calls.working_folders import bindings_of, working_folder
from runlore.domain import limits
from runlore.domain.errors import Conflict
from runlore.domain.project import project_name
from runlore.domain.record import PERSON_KINDS, Kind, Record, State
from runlore.domain.scope import WORKSPACE, Scope
from runlore.domain.serialization.codec import serialize
from runlore.domain.statements.candidates import guess_statement
from runlore.domain.statements.conduct import may_stand
from runlore.ports import operations as ops
from runlore.ports.operations import InboxKind

ASKED = "   Remember it? [y, n, e=change the text]: "
ASKED_OF_RULE = "   Remember it? [y, a=yes, in every prompt, n, e=change the text]: "
CLASHES = "   Which holds? [y=the new one alone, b=both, n=leave it waiting]: "
CLASHES_WITH_SEVERAL = "   Do all of them hold? [b=all hold, n=leave it waiting]: "
_CONFLICT = "review.conflict"


def remember(
    call: Invocation,
    text: Annotated[str, argument("TEXT", "What shall be remembered, in a sentence.")],
    *,
    kind: Annotated[
        Kind | None,
        option("--kind KIND", "fact, preference or decision; guessed.", options.one_of(Kind, "kind")),
    ] = None,
    scope: Annotated[
        Scope | None, option("--scope KIND[:ID]", "Where it holds; guessed.", Scope.parse, "scope")
    ] = None,
    yes: options.YesOption = False,
    standing: options.StandingOption = False,
) -> None:
    """Remember a sentence.

    What kind it is and where it holds is guessed and shown. At a terminal you say yes, and it is in use at
    once; elsewhere it waits in the inbox, unless --yes or --standing is given.
    """
    yes = yes or standing
    is_asked = is_terminal() and not call.as_json and not yes
    said = ops.NewCandidate(kind=kind or Kind.FACT, content=text, confidence=limits.CONFIDENCE_MAX)

    def guess(content: str) -> ops.NewCandidate:
        with call.operations() as operations:
            project = find_project(operations, os.getcwd())
        draft = guess_candidate(replace(said, content=content), kind, project)
        return draft if scope is None else replace(draft, scope=scope)

    draft, always = _ask(guess(text), guess) if is_asked else (guess(text), False)
    if draft is None:
        say("Nothing was kept.", "dim")
        return
    with call.operations() as operations:
        made = operations.create_candidate(draft)
    decision = ops.Decision(record_id=made.record_id, standing=standing or always or None)
    record = _use(call, made, decision, is_asked=is_asked) if is_asked or yes else made
    call.answer(serialize(record), lambda: _show_kept(record))


def search(
    call: Invocation,
    where: options.FilterOptions,
    *,
    query: Annotated[str, argument("QUERY", "What to look for.")],
    explain: options.ExplainOption = False,
    limit: options.SearchLimitOption = limits.SEARCH_LIMIT_DEFAULT,
) -> None:
    """Search all that was stored, best match first.

    What is in use and what waits, of every layer. `runlore memory search` has more to choose from.
    """
    filters = where.read()
    if not filters.states:
        filters = replace(filters, states=frozenset({State.ACTIVE, State.CONSTRAINED}))
    if not filters.layers and not filters.kinds:
        filters = replace(filters, kinds=PERSON_KINDS)
    with call.operations() as operations:
        hits = operations.search(ops.SearchRequest(query=query, filters=filters, limit=limit))
    call.answer(answers.write_hits(query, hits), lambda: record_tables.show_hits(hits, explain=explain))


def find_project(operations: ops.Operations, folder: str) -> str | None:
    """The project of a folder. One without a repository that nobody has bound has none: it is where somebody
    happens to be."""
    project = working_folder(folder, bindings_of(operations)).project
    return None if project.startswith("folder-") else project


def guess_candidate(draft: ops.NewCandidate, kind: Kind | None, project: str | None) -> ops.NewCandidate:
    """The draft with its kind, and where it holds: for the project where its words are about that, else
    everywhere."""
    known, reach = guess_statement(draft.content, kind)
    scope = Scope(reach, project) if project and reach == "project" else WORKSPACE
    return replace(draft, kind=known, scope=scope)


def _ask(
    draft: ops.NewCandidate, guess: Callable[[str], ops.NewCandidate]
) -> tuple[ops.NewCandidate | None, bool]:
    """The draft that is to be kept, changed where the person wants it so; None for no. And whether it is to
    be in every prompt, which is offered where its words are a rule."""
    while True:
        is_rule = may_stand(draft.kind, draft.content)
        say(f"   {draft.content}", "green")
        say(f"   {_describe(draft.kind, draft.scope)}", "dim")
        key = read_key(ASKED_OF_RULE if is_rule else ASKED)
        if key == "e":
            changed = (read_line("   The text [Enter keeps it]: ", before=draft.content) or "").strip()
            draft = guess(changed) if changed else draft
        elif key in ("y", "n", "q", "") or (key == "a" and is_rule):
            return draft if key in ("y", "a") else None, key == "a"
        else:
            say("   y keeps it, n does not, e changes the text; --kind and --scope say the rest.", "yellow")


def _describe(kind: Kind, scope: Scope) -> str:
    name = project_name(scope.id, os.getcwd()) if scope.kind == "project" else ""
    return kind_text(kind, scope, {scope.id: name} if name else {})


def _use(call: Invocation, record: Record, decision: ops.Decision, *, is_asked: bool) -> Record:
    """Confirm it. What it contradicts is shown beside it, and the person says which holds. At no revision:
    automation may have noted something of it since, and its words are the person's own."""
    clashes = ops.InboxRequest(kinds=frozenset({InboxKind.CONFLICT}), limit=limits.LIST_LIMIT_MAX)
    with call.operations() as operations:
        try:
            return operations.confirm(decision)
        except Conflict as error:
            if error.code != _CONFLICT:
                raise
            found = operations.inbox(clashes).items
            against = next((each.against for each in found if each.id == record.record_id), ())
            if not is_asked:
                raise Conflict(error.sentence, code=error.code, hint=_waits_hint(record, against)) from error
    chosen = _ask_which(decision, against, record.summary)
    if chosen is None:
        return record
    with call.operations() as operations:
        return operations.confirm(chosen)


def _waits_hint(record: Record, against: Sequence[ops.InUse]) -> str:
    """Where nobody is asked: that it waits, and what decides on it."""
    if len(against) != 1:
        return "it waits: `runlore inbox` decides on it"
    confirm = f"runlore memory review confirm {record.record_id} --supersedes {against[0].record_id}"
    return f"it waits: `runlore inbox` decides on it, `{confirm}` replaces the old one"


def _ask_which(decision: ops.Decision, against: Sequence[ops.InUse], new: str) -> ops.Decision | None:
    """What is to be confirmed; None where it is left waiting. One record can be replaced, not several."""
    show_beside(against, new)
    ids = tuple(each.record_id for each in against)
    key = read_key(CLASHES if len(ids) == 1 else CLASHES_WITH_SEVERAL)
    if key == "y" and len(ids) == 1:
        return replace(decision, supersedes=ids[0])
    return replace(decision, both_hold=ids) if key == "b" else None


def _show_kept(record: Record) -> None:
    kept = f"{_describe(record.kind, record.scope)}: {record.summary}"
    if record.published_at is None:
        say(f"It waits: {kept}", "yellow")
        say("`runlore inbox` decides on it.", "dim")
    else:
        say(f"Remembered{' for every prompt' if record.standing else ''} {kept}", "green")
        restore = " --restore" if record.supersedes else ""
        say(f"`runlore memory rollback {record.record_id}{restore}` takes it back.", "dim")
