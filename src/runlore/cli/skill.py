"""`runlore skill`: skills as they are kept, and what sessions suggest.

The commands themselves are written in `skill_library`, `skill_importing`, `skill_saving`, `skill_curating`,
`skill_mounting` and `rollout`; `skill suggestions`, the review queue, is here.
"""

from dataclasses import field
from typing import Annotated

import typer

from runlore.cli import (
    options,
    skill_curating,
    skill_importing,
    skill_library,
    skill_mounting,
    skill_saving,
    skill_tables,
)
from runlore.cli.calls import Call, command
from runlore.cli.rollout import rollout
from runlore.cli.skill_changes import mounts_following
from runlore.cli.usage import group
from runlore.daemon import answers
from runlore.domain.detectors.match import Heuristic
from runlore.domain.lazy import dataclass
from runlore.domain.suggestion import SuggestionState
from runlore.ports import operations as ops

skill = group("Skills: learned from sessions, kept, matched, mounted where agents look.")
suggestions = group("Suggested skills: the review queue.")
command(skill, "list")(mounts_following(skill_library.list_skills))
command(skill, "view")(mounts_following(skill_library.view))
command(skill, "match")(mounts_following(skill_library.match))
command(skill, "save")(skill_saving.save)
command(skill, "skip")(skill_saving.skip)
command(skill, "reset-skips")(skill_saving.reset_skips)
command(skill, "accept")(skill_library.accept)
# What it was called before.
command(skill, "promote", hidden=True)(skill_library.accept)
command(skill, "import")(skill_importing.import_skill)
command(skill, "export")(skill_library.export)
command(skill, "delete")(skill_library.delete)
command(skill, "restore")(skill_library.restore)
command(skill, "settle")(skill_library.settle)
command(skill, "curate")(skill_curating.curate)
command(skill, "undo")(skill_curating.undo)
command(skill, "curations")(skill_curating.curations)
command(skill, "mount")(skill_mounting.mount)
command(skill, "unmount")(skill_mounting.unmount)
command(skill, "log")(skill_library.log)
skill.add_typer(suggestions, name="suggestions")
skill.add_typer(rollout, name="rollout")
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The suggestion's name, or its id.")]


@dataclass(frozen=True, kw_only=True)
class SuggestionOptions:
    """What the list of suggestions narrows by."""

    state: Annotated[
        list[str],
        typer.Option(
            *options.STATE_NAMES,
            metavar="STATE",
            help=f"Only this state: {', '.join(SuggestionState)}; waiting if left out. Repeatable.",
        ),
    ] = field(default_factory=list)
    heuristic: Annotated[
        list[str],
        typer.Option(
            "--heuristic",
            metavar="NAME",
            help=f"Only of this detector: {', '.join(Heuristic)}. Repeatable.",
        ),
    ] = field(default_factory=list)


@command(suggestions, "list")
def list_suggestions(call: Call, where: SuggestionOptions, page: options.PageOptions) -> None:
    """List suggested skills, the best first.

    Those that wait for a decision unless a state is named.
    """
    request = ops.SuggestionsRequest(
        states=options.words(SuggestionState, where.state, "state"),
        heuristics=options.words(Heuristic, where.heuristic, "heuristic"),
        limit=page.read_limit(),
        cursor=page.cursor,
    )
    with call.operations() as operations:
        found = operations.list_suggestions(request)
    call.answer(answers.write(found), lambda: skill_tables.show_suggestions(found))


@command(suggestions, "show")
def show(call: Call, name: NameArgument) -> None:
    """Show one suggested skill and its evidence.

    With its whole text, and the reasons of its score.
    """
    with call.operations() as operations:
        stored = operations.get_suggestion(name)
    call.answer(answers.write(stored), lambda: skill_tables.show_suggestion(stored))


@command(suggestions, "skip")
def skip(call: Call, name: NameArgument) -> None:
    """Take a suggestion out of the queue, for 30 days by default.

    How long is `skip_reset_days` of the skills policy. The same pattern does not come back under another
    name.
    """
    with call.operations() as operations:
        stored = operations.skip_suggestion(operations.get_suggestion(name).suggestion_id)
    call.answer(answers.write(stored), lambda: skill_tables.show_move("Skipped", stored))


@command(suggestions, "reset")
def reset(call: Call, name: NameArgument) -> None:
    """Let a skipped suggestion wait again."""
    with call.operations() as operations:
        stored = operations.reset_suggestion(operations.get_suggestion(name).suggestion_id)
    call.answer(answers.write(stored), lambda: skill_tables.show_reset(stored))
