"""What people see of mounting: what was written into which folder, what was left, and why."""

from collections.abc import Mapping, Sequence

from runlore.cli.tables.table_cells import plural, short_path
from runlore.cli.terminal import Column, say, show_table
from runlore.domain.record import JsonValue
from runlore.ports.skill_files import Mounted, MountState

_STYLES = {
    MountState.WRITTEN: "green",
    MountState.REPAIRED: "yellow",
    MountState.REMOVED: "dim",
    MountState.LEFT: "red",
    MountState.UNCHANGED: "dim",
}
_FILES_NAMED = 3
_WOULD = {
    MountState.WRITTEN: "would be written",
    MountState.REPAIRED: "would be repaired",
    MountState.REMOVED: "would be removed",
    MountState.LEFT: "would be left",
}


def mounted_to_plain(
    items: Sequence[Mounted], *, dry_run: bool, beside: Mapping[str, Sequence[str]] | None = None
) -> dict[str, JsonValue]:
    return {
        "items": [
            {
                "name": each.name,
                "folder": each.folder,
                "state": each.state.value,
                "reason": each.reason,
            }
            for each in items
        ],
        "next_cursor": None,
        "dry_run": dry_run,
        **(
            {}
            if beside is None
            else {"not_brought_along": {name: list(files) for name, files in beside.items()}}
        ),
    }


def show_mounted(items: Sequence[Mounted], folders: Sequence[str], *, dry_run: bool) -> None:
    """What was done in each folder; what was up to date before is only counted."""
    for folder in folders:
        within = [each for each in items if each.folder == folder]
        shown = [each for each in within if each.state is not MountState.UNCHANGED]
        same = len(within) - len(shown)
        told = f"{plural(same, 'skill')} as before" if same else ("" if shown else "no skills")
        say(f"{short_path(folder)}{f': {told}' if told else ''}", "bold")
        if shown:
            show_table(
                [Column(), Column(), Column(wraps=True)],
                [
                    (
                        (_WOULD[each.state] if dry_run else each.state.value, _STYLES[each.state]),
                        each.name,
                        each.reason,
                    )
                    for each in shown
                ],
                indent=2,
            )
    if dry_run:
        say("This was a dry run: nothing was written.", "dim")


def show_left_behind(beside: Mapping[str, Sequence[str]]) -> None:
    for name, files in beside.items():
        say(f"{name}: {plural(len(files), 'other file')} not brought along: {some_of(files)}", "yellow")


def some_of(files: Sequence[str]) -> str:
    more = len(files) - _FILES_NAMED
    return f"{', '.join(files[:_FILES_NAMED])}{f' and {more:,} more' if more > 0 else ''}"
