"""`runlore skill`: skills as they are kept, and what sessions suggest.

The commands themselves are written in `library`, `importing`, `saving`, `curation`,
`mounting` and `rollout`; `skill suggestions`, the review queue, is here.
"""

from dataclasses import field
from typing import Annotated

import typer

from runlore.cli import options
from runlore.cli.invocation import Invocation, command
from runlore.cli.rollout import rollout
from runlore.cli.skills import curation, importing, library, mounting, saving
from runlore.cli.skills.mount_updates import mounts_following
from runlore.cli.tables import skill_tables
from runlore.cli.typer_commands import group
from runlore.daemon import answers
from runlore.domain.detectors.match import Heuristic
from runlore.domain.lazy import dataclass
from runlore.domain.suggestion import SuggestionState
from runlore.ports import operations as ops

skill = group("Skills: learned from sessions, kept, matched, mounted where agents look.")
suggestions = group("Suggested skills: the review queue.")
command(skill, "list")(mounts_following(library.list_skills))
command(skill, "view")(mounts_following(library.view))
command(skill, "match")(mounts_following(library.match))
command(skill, "save")(saving.save)
command(skill, "skip")(saving.skip)
command(skill, "reset-skips")(saving.reset_skips)
command(skill, "accept")(library.accept)
# What it was called before.
command(skill, "promote", hidden=True)(library.accept)
command(skill, "import")(importing.import_skill)
command(skill, "export")(library.export)
command(skill, "delete")(library.delete)
command(skill, "restore")(library.restore)
command(skill, "settle")(library.settle)
command(skill, "curate")(curation.curate)
command(skill, "undo")(curation.undo)
command(skill, "curations")(curation.curations)
command(skill, "mount")(mounting.mount)
command(skill, "unmount")(mounting.unmount)
command(skill, "log")(library.log)
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
def list_suggestions(call: Invocation, where: SuggestionOptions, page: options.PageOptions) -> None:
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
def show(call: Invocation, name: NameArgument) -> None:
    """Show one suggested skill and its evidence.

    With its whole text, and the reasons of its score.
    """
    with call.operations() as operations:
        stored = operations.get_suggestion(name)
    call.answer(answers.write(stored), lambda: skill_tables.show_suggestion(stored))


@command(suggestions, "skip")
def skip(call: Invocation, name: NameArgument) -> None:
    """Take a suggestion out of the queue, for 30 days by default.

    How long is `skip_reset_days` of the skills policy. The same pattern does not come back under another
    name.
    """
    with call.operations() as operations:
        stored = operations.skip_suggestion(operations.get_suggestion(name).suggestion_id)
    call.answer(answers.write(stored), lambda: skill_tables.show_move("Skipped", stored))


@command(suggestions, "reset")
def reset(call: Invocation, name: NameArgument) -> None:
    """Let a skipped suggestion wait again."""
    with call.operations() as operations:
        stored = operations.reset_suggestion(operations.get_suggestion(name).suggestion_id)
    call.answer(answers.write(stored), lambda: skill_tables.show_reset(stored))
