"""`runlore skill rollout`: a published procedure becomes a skill, step by step, each with its evidence."""

import os
from contextlib import suppress
from typing import Annotated

import typer

from runlore.cli import options
from runlore.cli.agent.approval_prompt import ApprovalPrompt
from runlore.cli.agent.screen import Screen
from runlore.cli.invocation import Invocation, asks, command
from runlore.cli.learning_options import content_of
from runlore.cli.options import folder_of
from runlore.cli.run import leave, show_end, words_of, work_run
from runlore.cli.skills.mount_updates import bring_mounts_up_to_date
from runlore.cli.tables import rollout_tables
from runlore.cli.typer_commands import argument, group, option
from runlore.daemon import answers
from runlore.domain.errors import Invalid, NotFound
from runlore.domain.lazy import dataclass
from runlore.domain.record import RecordId
from runlore.domain.run import RunId, RunStatus
from runlore.domain.session import SessionId
from runlore.domain.skills.rollout import PromotedSkill, RolloutKind, RolloutStatus
from runlore.ports import operations as ops

rollout = group("Procedures promoted into skills, step by step.")
NameArgument = Annotated[str, argument("NAME", "The skill's name.", completes="skill")]
KindOption = Annotated[
    RolloutKind,
    option(
        "--kind KIND",
        f"What it is evidence of: {', '.join(RolloutKind)}.",
        options.one_of(RolloutKind, "kind of result"),
    ),
]
# What says nothing about the skill: somebody stopped it, or its process ended.
_STOPPED = frozenset({RunStatus.CANCELLED, RunStatus.INTERRUPTED})


@dataclass(frozen=True, kw_only=True)
class DefinitionOptions:
    """What a promoted skill says beside its instructions, and how it is run."""

    description: Annotated[str | None, option("--description TEXT", "What it does.")] = None
    when_to_use: Annotated[str | None, option("--when-to-use TEXT", "When an agent should use it.")] = None
    version: Annotated[str | None, option("--version N", "Such as 1.0.0.")] = None
    allow_tool: Annotated[
        tuple[str, ...],
        option("--allow-tool NAME", 'Only these of its profile\'s tools; "" for all. Repeatable.'),
    ] = ()
    block_tool: Annotated[
        tuple[str, ...], option("--block-tool NAME", 'None of these tools; "" for none. Repeatable.')
    ] = ()
    provider: Annotated[str | None, option("--provider NAME", "The provider of its model.")] = None
    model: Annotated[str | None, option("--model NAME", "The model it runs on.")] = None
    fallback_model: Annotated[
        str | None, option("--fallback-model NAME", "The model that takes over where that fails.")
    ] = None


@command(rollout, "start")
def start(
    call: Invocation,
    record_id: Annotated[RecordId, argument("LEARNING", "The id of a published procedure.")],
    skill_name: Annotated[str, argument("NAME", "What the skill is called.")],
    instructions: Annotated[
        str | None,
        argument("TEXT", "What to do; if left out what it said before, else the procedure's own words."),
    ] = None,
    *,
    file: Annotated[str | None, option("--file PATH", "A file with the instructions; - is stdin.")] = None,
    definition: DefinitionOptions,
    accept_untrusted: options.AcceptOption = False,
    expected_revision: options.ExpectedOption = None,
    idempotency_key: options.KeyOption = None,
) -> None:
    """Promote a procedure into a skill, as a draft.

    It has to be active, with the active tier, in the workspace's scope. Nobody sees the skill before it was
    verified by a trial and has gone well as a canary. Promoting it again gives one that is not active other
    words; what is left out stays.
    """
    with call.operations() as operations:
        if instructions is None and file is None:
            words = _words_left_out(operations, record_id, skill_name)
        else:
            words = content_of(instructions, file)
        request = ops.PromoteLearning(
            record_id=record_id,
            skill_name=skill_name,
            instructions=words,
            description=definition.description,
            when_to_use=definition.when_to_use,
            version=definition.version,
            allowed_tools=_tools(definition.allow_tool),
            blocked_tools=_tools(definition.block_tool),
            provider=definition.provider,
            model=definition.model,
            fallback_model=definition.fallback_model,
            accept_untrusted=accept_untrusted,
            expected_revision=expected_revision,
            idempotency_key=idempotency_key,
        )
        skill = operations.promote_learning(request)
    call.answer(answers.write(skill), lambda: rollout_tables.show_started(skill))


def _words_left_out(operations: ops.Operations, record_id: RecordId, skill_name: str) -> str:
    """What a skill of this learning says already; the learning's own words where there is none."""
    learning = operations.get_learning(record_id)
    with suppress(NotFound):
        skill = operations.get_promoted(skill_name)
        if skill.source_record_id == record_id and skill.definition.instructions:
            return skill.definition.instructions
    return learning.summary


def _tools(names: tuple[str, ...]) -> tuple[str, ...] | None:
    """The tools that were named; an empty name alone clears the list."""
    return tuple(filter(None, names)) if names else None


@dataclass(frozen=True, kw_only=True)
class SkillTrialOptions:
    """Where a skill is tried."""

    session: Annotated[
        SessionId | None, option("--session ID", "Try it for this session, in its folder.")
    ] = None
    folder: Annotated[
        str | None, option("--folder PATH", "Work on a copy of this folder; here if left out.")
    ] = None

    def working_folder(self, call: Invocation) -> str | None:
        """The folder; a session has its own, and a Runlore elsewhere has others."""
        if self.session is not None and self.folder is not None:
            raise Invalid(
                "--session and --folder were given together",
                code="usage",
                hint="give one of them: a session lends its own folder",
            )
        if self.session is not None or (self.folder is None and call.settings().url is not None):
            return None
        return folder_of(self.folder or os.curdir)


@dataclass(frozen=True, kw_only=True)
class RecordOptions:
    """What becomes of a trial's result."""

    record: Annotated[
        str | None, option("--record MARKER", "Record the result: success if it says this.")
    ] = None
    kind: Annotated[
        RolloutKind | None,
        option(
            "--kind KIND",
            f"With --record, what it is evidence of: {', '.join(RolloutKind)}; the first if left out.",
            options.one_of(RolloutKind, "kind of result"),
        ),
    ] = None

    def result(self, name: str, run_id: RunId, fingerprint: str) -> ops.RolloutResult | None:
        """The result of a run as it is recorded; None where nothing is."""
        if self.record is None:
            if self.kind is not None:
                raise Invalid(
                    "--kind was given, and nothing is to be recorded",
                    code="usage",
                    hint="give --record MARKER too, or leave --kind out",
                )
            return None
        return ops.RolloutResult(
            skill_name=name,
            kind=self.kind or RolloutKind.VERIFICATION,
            run_id=run_id,
            expected_output_contains=self.record,
            definition_fingerprint=fingerprint,
        )


@command(rollout, "trial")
def trial(
    call: Invocation,
    name: NameArgument,
    text: Annotated[str, argument("INPUT", "What it is given to work on; - reads it from stdin.")],
    where: SkillTrialOptions,
    *,
    evidence: RecordOptions,
) -> None:
    """Run a promoted skill once, in a child agent of its own.

    It works on a copy of the folder, and never asks anybody. With --record its result is recorded as
    evidence: it succeeded where its final output contains the marker. A trial that was stopped is none.
    """
    evidence.result(name, RunId(""), "")
    request = ops.TrialRequest(
        skill_name=name,
        input=words_of(text),
        session_id=where.session,
        working_folder=where.working_folder(call),
    )
    screen = Screen(hidden=call.as_json)
    asking = ApprovalPrompt(screen, yes=False, is_terminal=False)
    with call.operations() as operations:
        fingerprint = operations.get_promoted(name).fingerprint
        ended = work_run(operations, lambda: operations.try_promoted(request).run.run_id, screen, asking)
        run = ended.view.run
        result = evidence.result(name, run.run_id, fingerprint)
        if result is None or run.status in _STOPPED:
            call.answer(answers.write(ended), lambda: _show_tried(screen, name, ended))
            leave(ended)
            return
        show_end(call, screen, ended)
        skill = operations.record_result(result)
        _tell_recorded(call, skill, run.run_id)
    found = rollout_tables.evidence_of(skill, run.run_id)
    if found is not None and not found.success:
        raise typer.Exit(1)


@command(rollout, "record")
def record_result(
    call: Invocation,
    name: NameArgument,
    run_id: Annotated[RunId, argument("RUN", "The run that executed the skill, or that called it.")],
    *,
    marker: Annotated[str, option("--marker TEXT", "It succeeded if its final output contains this.")],
    kind: KindOption = RolloutKind.VERIFICATION,
    fingerprint: Annotated[
        str | None, option("--fingerprint SHA256", "Refuse when it is another definition.")
    ] = None,
    idempotency_key: options.KeyOption = None,
) -> None:
    """Record how a run of a promoted skill went.

    A verification comes from a trial; a canary from a use in a session of the canary, or a trial for one.
    """
    request = ops.RolloutResult(
        skill_name=name,
        kind=kind,
        run_id=run_id,
        expected_output_contains=marker,
        definition_fingerprint=fingerprint,
        idempotency_key=idempotency_key,
    )
    with call.operations() as operations:
        skill = operations.record_result(request)
    _tell_recorded(call, skill, request.run_id)


@dataclass(frozen=True, kw_only=True)
class CanaryOptions:
    """Who sees a canary."""

    session: Annotated[
        tuple[SessionId, ...], option("--session ID", "With canary: a session that sees it. Repeatable.")
    ] = ()
    share: Annotated[
        int | None, options.number("--share N", "With canary: the percent of all sessions that see it.")
    ] = None


@command(rollout, "advance")
def advance(
    call: Invocation,
    name: NameArgument,
    to: Annotated[
        RolloutStatus,
        argument(
            "STATUS", "Where to: draft, verified, canary or active.", options.one_of(RolloutStatus, "status")
        ),
    ],
    canary: CanaryOptions,
    *,
    expected_revision: options.ExpectedOption = None,
    idempotency_key: options.KeyOption = None,
) -> None:
    """Move a promoted skill on, where its evidence allows.

    `verified` needs a trial that went well, `active` a canary that went well and none that failed. Back to
    `draft` it begins anew.
    """
    request = ops.AdvanceRequest(
        skill_name=name,
        to=to,
        sessions=canary.session or None,
        share=canary.share,
        expected_revision=expected_revision,
        idempotency_key=idempotency_key,
    )
    with call.operations() as operations:
        skill = operations.advance_promoted(request)
        bring_mounts_up_to_date(call, operations)
    call.answer(answers.write(skill), lambda: rollout_tables.show_moved(skill))


@dataclass(frozen=True, kw_only=True)
class PromotedOptions:
    """What the list of promoted skills narrows by."""

    statuses: Annotated[
        frozenset[RolloutStatus], options.any_of("--status STATUS", RolloutStatus, "status")
    ] = frozenset()
    source_record_id: Annotated[
        RecordId | None, option("--learning ID", "Only those made of this learning.")
    ] = None


@command(rollout, "status")
def status(
    call: Invocation,
    where: PromotedOptions,
    page: options.PageOptions,
    name: Annotated[str | None, argument("NAME", "Only this one, whole.")] = None,
) -> None:
    """Show where promoted skills stand, or one with its evidence."""
    if name is not None:
        call.ask(lambda operations: operations.get_promoted(name), rollout_tables.show_promoted)
        return
    request = ops.PromotedRequest(**vars(where), **vars(page))
    call.ask(lambda operations: operations.list_promoted(request), rollout_tables.show_promoted_page)


@command(rollout, "history")
@asks(rollout_tables.show_history)
def promoted_history(skill_name: NameArgument, page: options.PageOptions) -> None:
    """Show how a promoted skill stood after each change, oldest first."""


@command(rollout, "revoke")
@asks(rollout_tables.show_revoked, then=bring_mounts_up_to_date)
def revoke_promoted(
    skill_name: NameArgument, reason: options.ReasonOption = "", idempotency_key: options.KeyOption = None
) -> None:
    """Take a promoted skill out of use, at once."""


@command(rollout, "rollback")
@asks(rollout_tables.show_moved, then=bring_mounts_up_to_date)
def rollback_promoted(
    skill_name: NameArgument, reason: options.ReasonOption = "", idempotency_key: options.KeyOption = None
) -> None:
    """Put the newest version back that was active."""


def _show_tried(screen: Screen, name: str, ended: ops.RunEnded) -> None:
    screen.show_end(ended)
    run = ended.view.run
    if run.status not in _STOPPED:
        screen.note(f"To record it: runlore skill rollout record {name} {run.run_id} --marker TEXT")


def _tell_recorded(call: Invocation, skill: PromotedSkill, run_id: RunId) -> None:
    call.answer(answers.write(skill), lambda: rollout_tables.show_recorded(skill, run_id))
