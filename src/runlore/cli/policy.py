"""`runlore policy`: what an operator has decided for everybody, with every version of it."""

import copy
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, cast

import orjson

from runlore.cli import options
from runlore.cli.invocation import Invocation, command
from runlore.cli.options import read_text
from runlore.cli.tables.table_cells import plural, scope_text, time_text
from runlore.cli.terminal import Cell, Column, say, show_table
from runlore.cli.typer_commands import argument, group, option
from runlore.daemon import answers
from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.lazy import dataclass
from runlore.domain.policies.policy import PolicyName, PolicyRevision
from runlore.domain.record import JsonObject, JsonValue
from runlore.ports import operations as ops

policy = group("What you have decided for everybody, versioned.")

_read_name = options.one_of(PolicyName, "policy")
NameArgument = Annotated[
    PolicyName, argument("NAME", f"The policy: {' or '.join(PolicyName)}.", _read_name, "policy")
]
FieldsOption = Annotated[
    tuple[str, ...],
    option(
        "--set PATH=VALUE",
        "Change a field of the policy in force, such as publication.default_action=reject. Repeatable.",
    ),
]
_FILE_MIB_MAX = 1
_STEP = re.compile(r"([^.\[\]]+)|\[(\d{1,6})\]")
_PATH = re.compile(r"[^.\[\]]+(\[\d{1,6}\]|\.[^.\[\]]+)*")
# What stands beside the policy where `policy show --json` prints it, or where it is sent to the API.
_BESIDE = frozenset({"name", "revision", "updated_at", "actor", "expected_revision", "remarks"})


@dataclass(frozen=True, kw_only=True)
class ChangeOptions:
    """What a policy shall be: a whole document, or some fields of the one in force."""

    path: Annotated[
        str | None, argument("PATH", "A TOML or JSON file with the whole policy; - is stdin.")
    ] = None
    fields: FieldsOption = ()


@dataclass(frozen=True, kw_only=True)
class PolicyTrialOptions:
    """Which policy to try: a whole document, or some fields of the one in force changed."""

    what: Annotated[
        tuple[str, ...],
        argument(
            "[NAME] FILE",
            "A TOML or JSON file with the whole policy; - is stdin. NAME is learning if left out.",
        ),
    ] = ()
    fields: FieldsOption = ()
    limit: Annotated[
        int, options.number("--limit N", "How many that wait, and how many decided ones, at most.")
    ] = limits.LIST_LIMIT_DEFAULT

    def read(self) -> tuple[PolicyName, str | None]:
        names = self.what if self.fields else self.what[:-1]
        if len(names) > 1 or not (self.what or self.fields):
            raise Invalid(
                "a policy is tried from one file, or with fields changed",
                code="policy.source",
                hint="runlore policy test FILE, or runlore policy test --set mode=enabled",
            )
        name = _read_name(names[0]) if names else PolicyName.LEARNING
        return name, None if self.fields else self.what[-1]


@command(policy, "show")
def show(call: Invocation, name: NameArgument) -> None:
    """Show the policy in force."""
    call.ask(lambda operations: operations.get_policy(name), show_policy)


@command(policy, "set")
def put(
    call: Invocation,
    name: NameArgument,
    change: ChangeOptions,
    *,
    expected_revision: options.ExpectedOption = None,
    idempotency_key: options.KeyOption = None,
) -> None:
    """Put a policy, and show what it changes.

    A file holds the whole policy, its fields alone or in a table of its name; what it leaves out takes its
    default. What `policy show --json` printed can be put again. --set changes single fields.
    """
    if (change.path is None) == (not change.fields):
        raise Invalid(
            "a policy is put from a file, or field by field",
            code="policy.source",
            hint="give a file, or fields: --set retention_days=60",
        )
    document = None if change.path is None else policy_document(name, change.path)
    expected = expected_revision
    with call.operations() as operations:
        before = operations.get_policy(name)
        after = operations.put_policy(
            ops.PolicyChange(
                name=name,
                policy=with_fields(before.policy, change.fields) if document is None else document,
                # What is changed field by field is bound to the document that was changed.
                expected_revision=before.revision if expected is None and document is None else expected,
                idempotency_key=idempotency_key,
            )
        )
    call.answer(answers.write(after), lambda: show_policy_change(before, after))


@command(policy, "test")
def try_out(call: Invocation, trial: PolicyTrialOptions) -> None:
    """Show what a policy would do; nothing is changed.

    What waits and what was decided lately is shown under the policy in force and under the tried one, as far
    as the rules decide.
    """
    name, path = trial.read()
    document = None if path is None else policy_document(name, path)
    shown = trial.limit
    with call.operations() as operations:
        if document is None:
            document = with_fields(operations.get_policy(name).policy, trial.fields)
        answer = operations.test_policy(ops.PolicyTrial(name=name, policy=document, limit=shown))
    call.answer(answers.write(answer), lambda: show_trial(answer))


@command(policy, "history")
def history(call: Invocation, name: NameArgument) -> None:
    """Show every version of a policy, and what it changed."""
    call.ask(lambda operations: operations.policy_history(name), show_policies)


@command(policy, "rollback")
def rollback(
    call: Invocation,
    name: NameArgument,
    to: Annotated[int | None, options.number("--to N", "The revision; the one before if left out.")] = None,
    expected_revision: options.ExpectedOption = None,
) -> None:
    """Put an earlier version again, as a new one.

    Without --to it is the one before the present one, so a second call takes the first one back.
    """
    request = ops.PolicyRollback(name=name, to_revision=to, expected_revision=expected_revision)
    with call.operations() as operations:
        before = operations.get_policy(request.name)
        after = operations.rollback_policy(request)

    def show() -> None:
        show_policy_change(before, after)
        if after.revision != before.revision:
            to_revision = before.revision - 1 if request.to_revision is None else request.to_revision
            say(f"It is what revision {to_revision} was.", "dim")

    call.answer(answers.write(after), show)


def policy_document(name: PolicyName, path: str) -> JsonObject:
    """The policy of a file: its fields alone, or under its name, or as `policy show --json` prints them.

    One file can hold several policies, each under its name; anything else beside a table that is taken is
    refused, for it would have no effect.
    """
    text = read_text(path, mib_max=_FILE_MIB_MAX, too_large="it is not a policy", code="policy.file")
    document = _parse_policy(path, text)
    for key in _names(name):
        inner = document.get(key)
        if isinstance(inner, dict):
            others = {other for policy in PolicyName for other in _names(policy)} | {"skills"}
            _refuse_others(path, document, key, others)
            return inner
    inner = document.get("policy")
    if isinstance(inner, dict):
        _refuse_others(path, document, "policy", _BESIDE | {"policy"})
        return inner
    return document


def with_fields(document: JsonObject, assignments: Iterable[str]) -> JsonObject:
    """The policy with some fields changed, each given as `PATH=VALUE`."""
    changed = cast("dict[str, Any]", copy.deepcopy(dict(document)))
    for text in assignments:
        path, value = _assignment(text)
        _assign(changed, path, value)
    return changed


def _names(name: PolicyName) -> tuple[str, str]:
    return name.value, name.value.replace("-", "_")


def _refuse_others(path: str, document: JsonObject, key: str, allowed: Iterable[str]) -> None:
    for other in document:
        if other not in set(allowed):
            raise _file_error(
                f"{path} holds {options.shorten_text(other)!r} beside the table {key!r}",
                f"move it into the table {key}, or take it out: it would have no effect",
            )


def _assignment(text: str) -> tuple[str, JsonValue]:
    """`PATH=VALUE`; a value that is no JSON is a text."""
    path, equals, value = text.partition("=")
    if not equals or not _PATH.fullmatch(path.strip()):
        raise _no_field(text)
    try:
        return path.strip(), cast("JsonValue", orjson.loads(value))
    except orjson.JSONDecodeError:
        return path.strip(), value.strip()


def _assign(document: dict[str, Any], path: str, value: JsonValue) -> None:
    """Put a value at a path. A list can grow by one; whether the field exists is for the policy to say."""
    steps = [int(place) if place else name for name, place in _STEP.findall(path)]
    inner: Any = document
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        if isinstance(step, str) and isinstance(inner, dict):
            inner.setdefault(step, [] if isinstance(following, int) else {})
        elif isinstance(step, int) and isinstance(inner, list) and step <= len(inner):
            inner.extend([{}] if step == len(inner) else [])
        else:
            raise _no_field(path)
        if following is None:
            inner[step] = value
        inner = inner[step]


def _no_field(text: str) -> Invalid:
    return Invalid(
        f"{options.shorten_text(text)!r} sets no field",
        code="policy.source",
        hint="write it as --set retention_days=60, or --set publication.rules[0].min_confidence=90",
    )


def _parse_policy(path: str, text: str) -> Mapping[str, JsonValue]:
    import tomllib

    try:
        if not text.lstrip().startswith("{"):
            return cast("Mapping[str, JsonValue]", tomllib.loads(text))
        return cast("Mapping[str, JsonValue]", orjson.loads(text))
    except (tomllib.TOMLDecodeError, orjson.JSONDecodeError, RecursionError) as error:
        raise _file_error(
            f"{path} is neither TOML nor a JSON object: {error}",
            "`runlore policy show NAME --json` prints one that can be changed and put again",
        ) from None


def _file_error(problem: str, hint: str) -> Invalid:
    return Invalid(problem, code="policy.file", hint=hint)


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
            *("ID", "KIND", "SCOPE"),
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
    for remark in revision.remarks:
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
