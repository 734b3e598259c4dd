"""`runlore skill`: the names of its commands, most of which `skills/` holds; the review queue is here."""

from typing import Annotated

from runlore.cli import options
from runlore.cli.invocation import Invocation, asks, command
from runlore.cli.rollout import rollout
from runlore.cli.skills import library, mounting, saving
from runlore.cli.skills.mount_updates import mounts_following
from runlore.cli.tables import library_tables
from runlore.cli.typer_commands import argument, group
from runlore.domain.detectors.match import Heuristic
from runlore.domain.lazy import dataclass
from runlore.domain.suggestion import SuggestionState

skill = group("Skills: learned from sessions, kept, matched, mounted where agents look.")
suggestions = group("Suggested skills: the review queue.")
command(skill, "list")(mounts_following(library.list_skills))
command(skill, "view")(mounts_following(library.view))
command(skill, "show", hidden=True)(mounts_following(library.view))
command(skill, "match")(mounts_following(library.match))
command(skill, "save")(saving.save)
command(skill, "skip")(saving.skip)
command(skill, "reset-skips")(saving.reset_skips)
command(skill, "accept")(library.accept)
# What it was called before.
command(skill, "promote", hidden=True)(library.accept)
command(skill, "import")(library.import_skill)
command(skill, "export")(library.export)
command(skill, "delete")(library.delete)
command(skill, "restore")(library.restore)
command(skill, "settle")(library.settle)
command(skill, "curate")(library.curate)
command(skill, "undo")(library.undo_curation)
command(skill, "curations")(library.list_curations)
command(skill, "mount")(mounting.mount)
command(skill, "unmount")(mounting.unmount)
command(skill, "log")(library.log)
skill.add_typer(suggestions, name="suggestions")
skill.add_typer(rollout, name="rollout")
NameArgument = Annotated[str, argument("NAME", "The suggestion's name, or its id.", completes="suggestion")]


@dataclass(frozen=True, kw_only=True)
class SuggestionOptions:
    """What the list of suggestions narrows by."""

    states: Annotated[
        frozenset[SuggestionState],
        options.any_of(f"{options.STATE_NAMES} STATE", SuggestionState, "state", otherwise="waiting"),
    ] = frozenset()
    heuristics: Annotated[
        frozenset[Heuristic],
        options.any_of("--heuristic NAME", Heuristic, "heuristic", about="Only of this detector"),
    ] = frozenset()


@command(suggestions, "list")
@asks(library_tables.show_suggestions)
def list_suggestions(where: SuggestionOptions, page: options.PageOptions) -> None:
    """List suggested skills, the best first.

    Those that wait for a decision unless a state is named.
    """


@command(suggestions, "show")
@asks(library_tables.show_suggestion)
def get_suggestion(name: NameArgument) -> None:
    """Show one suggested skill and its evidence.

    With its whole text, and the reasons of its score.
    """


@command(suggestions, "skip")
def skip(call: Invocation, name: NameArgument) -> None:
    """Take a suggestion out of the queue, for 30 days by default.

    How long is `skip_reset_days` of the skills policy. The same pattern does not come back under another
    name.
    """
    call.ask(
        lambda operations: operations.skip_suggestion(operations.get_suggestion(name).suggestion_id),
        lambda stored: library_tables.show_move("Skipped", stored),
    )


@command(suggestions, "reset")
def reset(call: Invocation, name: NameArgument) -> None:
    """Let a skipped suggestion wait again."""
    call.ask(
        lambda operations: operations.reset_suggestion(operations.get_suggestion(name).suggestion_id),
        library_tables.show_reset,
    )
