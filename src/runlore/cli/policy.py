"""`runlore policy`: what an operator has decided for everybody, with every version of it."""

from dataclasses import field
from typing import Annotated

import typer

from runlore.cli import options, policy_tables
from runlore.cli.calls import Call, command
from runlore.cli.policy_files import policy_document, with_fields
from runlore.cli.terminal import say
from runlore.cli.usage import group
from runlore.daemon import answers
from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.lazy import dataclass
from runlore.domain.policies.policy import PolicyName
from runlore.ports import operations as ops

policy = group("What you have decided for everybody, versioned.")

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help=f"The policy: {' or '.join(PolicyName)}.")]
FieldsOption = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change a field of the policy in force, such as publication.default_action=reject. Repeatable.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class ChangeOptions:
    """What a policy shall be: a whole document, or some fields of the one in force."""

    path: Annotated[
        str | None,
        typer.Argument(metavar="PATH", help="A TOML or JSON file with the whole policy; - is stdin."),
    ] = None
    fields: FieldsOption = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class TrialOptions:
    """Which policy to try: a whole document, or some fields of the one in force changed."""

    what: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME] FILE",
            help="A TOML or JSON file with the whole policy; - is stdin. NAME is learning if left out.",
        ),
    ] = field(default_factory=list)
    fields: FieldsOption = field(default_factory=list)
    limit: Annotated[
        str,
        typer.Option("--limit", metavar="N", help="How many that wait, and how many decided ones, at most."),
    ] = str(limits.LIST_LIMIT_DEFAULT)

    def read(self) -> tuple[PolicyName, str | None]:
        """The policy, and its file where there is one."""
        names = self.what if self.fields else self.what[:-1]
        if len(names) > 1 or not (self.what or self.fields):
            raise Invalid(
                "a policy is tried from one file, or with fields changed",
                code="policy.source",
                hint="runlore policy test FILE, or runlore policy test --set mode=enabled",
            )
        name = _name(names[0]) if names else PolicyName.LEARNING
        return name, None if self.fields else self.what[-1]


@command(policy, "show")
def show(call: Call, name: NameArgument) -> None:
    """Show the policy in force."""
    with call.operations() as operations:
        current = operations.get_policy(_name(name))
    call.answer(answers.write(current), lambda: policy_tables.show_policy(current))


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

    A file holds the whole policy, its fields alone or in a table of its name; what it leaves out takes its
    default. What `policy show --json` printed can be put again. --set changes single fields.
    """
    if (change.path is None) == (not change.fields):
        raise Invalid(
            "a policy is put from a file, or field by field",
            code="policy.source",
            hint="give a file, or fields: --set retention_days=60",
        )
    wanted = _name(name)
    document = None if change.path is None else policy_document(wanted, change.path)
    expected = options.optional_number(expected_revision, "--expected-revision")
    with call.operations() as operations:
        before = operations.get_policy(wanted)
        after = operations.put_policy(
            ops.PolicyChange(
                name=wanted,
                policy=with_fields(before.policy, change.fields) if document is None else document,
                # What is changed field by field is bound to the document that was changed.
                expected_revision=before.revision if expected is None and document is None else expected,
                idempotency_key=idempotency_key,
            )
        )
    call.answer(answers.write(after), lambda: policy_tables.show_policy_change(before, after))


@command(policy, "test")
def try_out(call: Call, trial: TrialOptions) -> None:
    """Show what a policy would do; nothing is changed.

    What waits and what was decided lately is shown under the policy in force and under the tried one, as far
    as the rules decide.
    """
    name, path = trial.read()
    document = None if path is None else policy_document(name, path)
    shown = options.whole_number(trial.limit, "--limit")
    with call.operations() as operations:
        if document is None:
            document = with_fields(operations.get_policy(name).policy, trial.fields)
        answer = operations.test_policy(ops.PolicyTrial(name=name, policy=document, limit=shown))
    call.answer(answers.write(answer), lambda: policy_tables.show_trial(answer))


@command(policy, "history")
def history(call: Call, name: NameArgument) -> None:
    """Show every version of a policy, and what it changed."""
    with call.operations() as operations:
        revisions = operations.policy_history(_name(name))
    call.answer(answers.write(revisions), lambda: policy_tables.show_policies(revisions))


@command(policy, "rollback")
def rollback(
    call: Call,
    name: NameArgument,
    to: Annotated[
        str | None, typer.Option("--to", metavar="N", help="The revision; the one before if left out.")
    ] = None,
    expected_revision: options.ExpectedOption = None,
) -> None:
    """Put an earlier version again, as a new one.

    Without --to it is the one before the present one, so a second call takes the first one back.
    """
    request = ops.PolicyRollback(
        name=_name(name),
        to_revision=options.optional_number(to, "--to"),
        expected_revision=options.optional_number(expected_revision, "--expected-revision"),
    )
    with call.operations() as operations:
        before = operations.get_policy(request.name)
        after = operations.rollback_policy(request)

    def show() -> None:
        policy_tables.show_policy_change(before, after)
        if after.revision != before.revision:
            to_revision = before.revision - 1 if request.to_revision is None else request.to_revision
            say(f"It is what revision {to_revision} was.", "dim")

    call.answer(answers.write(after), show)


def _name(text: str) -> PolicyName:
    return options.word(PolicyName, text, "policy")
