"""`runlore policy`: what an operator has decided for everybody, with every version of it."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, cast

import orjson
import typer

from runlore.cli import options, service_tables
from runlore.cli.calls import Call, command
from runlore.cli.usage import group
from runlore.daemon import answers
from runlore.domain.errors import Invalid
from runlore.domain.policy import PolicyName
from runlore.domain.record import JsonObject, JsonValue
from runlore.ports import operations as ops

policy = group("What you have decided for everybody, versioned.")

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help=f"The policy: {' or '.join(PolicyName)}.")]
_FILE_BYTES_MAX = 1 << 20


@dataclass(frozen=True, kw_only=True)
class ChangeOptions:
    """What a policy shall be: a whole document, or some fields of the one in force."""

    path: Annotated[
        str | None,
        typer.Argument(metavar="PATH", help="A TOML or JSON file with the whole policy; - is stdin."),
    ] = None
    fields: Annotated[
        list[str],
        typer.Option(
            "--set", metavar="FIELD=VALUE", help="Change one field of the policy in force. Repeatable."
        ),
    ] = field(default_factory=list)


@command(policy, "show")
def show(call: Call, name: NameArgument) -> None:
    """Show the policy in force."""
    with call.operations() as operations:
        current = operations.get_policy(_name(name))
    call.answer(answers.policy_to_plain(current), lambda: service_tables.show_policy(current))


@command(policy, "set")
def put(
    call: Call,
    name: NameArgument,
    change: ChangeOptions,
    *,
    expected_revision: options.ExpectedOption = None,
    idempotency_key: options.KeyOption = None,
) -> None:
    """Put a policy, and show what it changes.

    A file holds the whole policy, and what it leaves out takes its default; what `policy show --json` printed
    can be put again. --set changes single fields.
    """
    if (change.path is None) == (not change.fields):
        raise Invalid(
            "a policy is put from a file, or field by field",
            code="policy.source",
            hint="give a file, or fields: --set retention_days=60",
        )
    wanted = _name(name)
    document = None if change.path is None else _document(wanted, change.path)
    fields = dict(_assignment(text) for text in change.fields)
    expected = options.optional_number(expected_revision, "--expected-revision")
    with call.operations() as operations:
        before = operations.get_policy(wanted)
        after = operations.put_policy(
            ops.PolicyChange(
                name=wanted,
                policy={**before.policy, **fields} if document is None else document,
                # What is changed field by field is bound to the document that was changed.
                expected_revision=before.revision if expected is None and document is None else expected,
                idempotency_key=idempotency_key,
            )
        )
    call.answer(answers.policy_to_plain(after), lambda: service_tables.show_policy_change(before, after))


@command(policy, "history")
def history(call: Call, name: NameArgument) -> None:
    """Show every version of a policy, and what it changed."""
    with call.operations() as operations:
        revisions = operations.policy_history(_name(name))
    call.answer(answers.policies_to_plain(revisions), lambda: service_tables.show_policies(revisions))


@command(policy, "rollback")
def rollback(
    call: Call,
    name: NameArgument,
    to: Annotated[
        str | None, typer.Option("--to", metavar="N", help="The revision; the one before if left out.")
    ] = None,
    expected_revision: options.ExpectedOption = None,
) -> None:
    """Put an earlier version again, as a new one."""
    request = ops.PolicyRollback(
        name=_name(name),
        to_revision=options.optional_number(to, "--to"),
        expected_revision=options.optional_number(expected_revision, "--expected-revision"),
    )
    with call.operations() as operations:
        before = operations.get_policy(request.name)
        after = operations.rollback_policy(request)
    call.answer(answers.policy_to_plain(after), lambda: service_tables.show_policy_change(before, after))


def _name(text: str) -> PolicyName:
    return options.word(PolicyName, text, "policy")


def _assignment(text: str) -> tuple[str, JsonValue]:
    """`FIELD=VALUE`; a value that is no JSON is a text."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise Invalid(
            f"{options.shortened(text)!r} sets no field",
            code="policy.source",
            hint="write it as --set retention_days=60",
        )
    try:
        return name.strip(), cast("JsonValue", orjson.loads(value))
    except orjson.JSONDecodeError:
        return name.strip(), value.strip()


def _document(name: PolicyName, path: str) -> JsonObject:
    """The policy of a file: its fields alone, or under its name, or as `policy show --json` prints them."""
    document = _parsed(path, _read(path))
    for key in (name.value, name.value.replace("-", "_"), "policy"):
        inner = document.get(key)
        if isinstance(inner, dict):
            return inner
    return document


def _read(path: str) -> str:
    try:
        if path == "-":
            text = sys.stdin.buffer.read(_FILE_BYTES_MAX + 1)
        else:
            with open(path, "rb") as file:
                text = file.read(_FILE_BYTES_MAX + 1)
    except OSError as error:
        raise Invalid(
            f"{path} cannot be read: {error.strerror}", code="policy.file", hint="check the path"
        ) from error
    if len(text) > _FILE_BYTES_MAX:
        raise Invalid(f"{path} is larger than 1 MiB", code="policy.file", hint="it is not a policy")
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise Invalid(
            f"{path} is not a text in UTF-8", code="policy.file", hint="write it again with a text editor"
        ) from None


def _parsed(path: str, text: str) -> Mapping[str, JsonValue]:
    """JSON where it begins like an object, else TOML."""
    import tomllib

    try:
        if not text.lstrip().startswith("{"):
            return cast("Mapping[str, JsonValue]", tomllib.loads(text))
        return cast("Mapping[str, JsonValue]", orjson.loads(text))
    except (tomllib.TOMLDecodeError, orjson.JSONDecodeError) as error:
        raise Invalid(
            f"{path} is neither TOML nor a JSON object: {error}",
            code="policy.file",
            hint="`runlore policy show NAME --json` prints one that can be changed and put again",
        ) from None
