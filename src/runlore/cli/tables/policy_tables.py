"""What people see of policies: every field under its path, what a change changed, and what a trial shows.

A path is shown as `--set` takes it, so that what is read can be changed.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from runlore.cli.tables.table_cells import plural, scope_text, time_text
from runlore.cli.terminal import Cell, Column, say, show_table
from runlore.domain.policies.policy import PolicyRevision, policy_remarks
from runlore.domain.record import JsonObject, JsonValue
from runlore.ports import operations as ops

_STYLES = {"reject": "red", "publish_provisional": "yellow", "publish_active": "green"}


def show_policy(revision: PolicyRevision) -> None:
    say(_title(revision), "bold")
    show_table([Column(), Column(wraps=True)], list(_flat("", revision.policy)), indent=2)
    _show_remarks(revision)


def show_policy_change(before: PolicyRevision, after: PolicyRevision) -> None:
    if before.revision == after.revision:
        say(f"{_title(after)}: nothing has changed")
        return
    say(_title(after), "bold")
    _show_differences(before, after)
    _show_remarks(after)


def show_policies(revisions: Sequence[PolicyRevision]) -> None:
    if not revisions:
        say("Nobody has changed it: the defaults are in force.", "dim")
        return
    for newer, older in pairwise(revisions):
        say(_title(newer), "bold")
        _show_differences(older, newer)
    # There is nothing before the first: it is shown whole.
    show_policy(revisions[-1])


def show_trial(answer: ops.TrialAnswer) -> None:
    _show_rows("What waits", [row for row in answer.rows if row.waits])
    _show_rows(
        "What was decided lately, as if it still waited", [row for row in answer.rows if not row.waits]
    )
    other = sum(row.differs for row in answer.rows)
    present = f"revision {answer.present_revision}" if answer.present_revision else "the defaults"
    say(f"{other} of {plural(len(answer.rows), 'candidate')} would end differently than under {present}.")
    say("Nothing was changed, and no model was asked.", "dim")


def _show_rows(title: str, rows: Sequence[ops.TrialRow]) -> None:
    if not rows:
        say(f"{title}: nothing.", "dim")
        return
    say(f"{title}:", "bold")
    show_table(
        [
            *(Column(title=title) for title in ("ID", "KIND", "SCOPE")),
            *(Column(title=title, labelled=True) for title in ("PRESENT", "TRIED")),
            Column(title="WHY", wraps=True, labelled=True),
            Column(title="SUMMARY", wraps=True),
        ],
        [
            (
                row.record.record_id,
                row.record.kind,
                scope_text(row.record.scope),
                _outlook(row.present),
                _outlook(row.tried, marked=row.differs),
                row.tried.reason,
                row.record.summary,
            )
            for row in rows
        ],
        indent=2,
    )


def _outlook(outlook: ops.Outlook, *, marked: bool = False) -> Cell:
    text = outlook.action + (", if the judge agrees" if outlook.judged else "")
    return text, f"bold {_STYLES.get(outlook.action, '')}".strip() if marked else ""


def _show_remarks(revision: PolicyRevision) -> None:
    for remark in policy_remarks(revision):
        say(f"  {remark}", "yellow")


def _title(revision: PolicyRevision) -> str:
    if revision.updated_at is None:
        return f"{revision.name}: the defaults, which nobody has changed"
    when = time_text(revision.updated_at)
    return f"{revision.name}: revision {revision.revision}, {when}, by {revision.actor}"


def _show_differences(before: PolicyRevision, after: PolicyRevision) -> None:
    rows = list(_differences(before.policy, after.policy))
    if rows:
        show_table([Column(), Column(wraps=True), Column(), Column(wraps=True)], rows, indent=2)
    else:
        say("  says the same as the one before", "dim")


def _differences(before: JsonObject, after: JsonObject) -> Iterator[tuple[Cell, ...]]:
    old, new = dict(_flat("", before)), dict(_flat("", after))
    for path in dict.fromkeys([*old, *new]):
        # A list that was or becomes empty is told by its entries.
        if old.get(path) != new.get(path) and f"{path}[0]" not in {*old, *new}:
            yield path, (old.get(path, "-"), "red"), "->", (new.get(path, "-"), "green")


def _flat(path: str, value: JsonValue) -> Iterator[tuple[str, str]]:
    """A row for every field. A list of tables has a row for each of them, and one when it is empty."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(f"{path}.{name}" if path else name, inner)
    elif isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
        for place, item in enumerate(value):
            yield f"{path}[{place}]", _inline(item)
    else:
        yield path, _value_text(value)


def _inline(value: JsonValue) -> str:
    """A table in one line, without the fields that say nothing: those that are open, empty or false."""
    if not isinstance(value, Mapping):
        return _value_text(value)
    told = ((name, inner) for name, inner in value.items() if inner or name == "action")
    return ", ".join(f"{name} = {json.dumps(inner, ensure_ascii=False)}" for name, inner in told)


def _value_text(value: JsonValue) -> str:
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
