"""`mount` and `unmount` of skills: skills put where agents look for them, and taken away again."""

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

from runlore.cli.invocation import Invocation
from runlore.cli.tables import mount_tables
from runlore.cli.terminal import say
from runlore.cli.typer_commands import option
from runlore.domain.errors import Invalid, RunloreError
from runlore.domain.lazy import dataclass
from runlore.ports import operations as ops
from runlore.ports.skill_files import Mounted

if TYPE_CHECKING:
    from runlore.daemon.skills.mounting import MountManager


@dataclass(frozen=True, kw_only=True)
class PlaceOptions:
    """Whose folders, and for which agents."""

    agent: Annotated[
        tuple[str, ...],
        option("--agent AGENT", "Only for this agent, such as codex. Repeatable.", completes="agent"),
    ] = ()
    project: Annotated[str | None, option("--project FOLDER", "The folders of one project.")] = None
    user: Annotated[bool, option("--user", "Your own folders: for all that you work on.")] = False
    dry_run: Annotated[bool, option("--dry-run", "Only show what would be done.")] = False

    def folders(self) -> tuple[str, ...]:
        """The folders that were named; none where neither a project nor the user was."""
        from runlore.daemon.skills.mounting import folders_of

        if self.project is not None and self.user:
            raise Invalid("--project and --user exclude each other", code="usage", hint="give one of them")
        if self.project is not None:
            if not self.project.strip() or "\0" in self.project:
                raise Invalid("--project names no folder", code="usage", hint="give the project's folder")
            return folders_of(os.path.abspath(self.project), self.agent)
        if self.user:
            return folders_of(os.path.expanduser("~"), self.agent)
        return ()


def mount(call: Invocation, where: PlaceOptions) -> None:
    """Put your skills where your agents look for them.

    Copies go to .agents/skills and .claude/skills, which reach every agent, and follow each later change.
    What you wrote there yourself is never touched. Without a place, what is mounted is brought up to date.
    """
    from runlore.daemon.skills.mounting import list_uncopied_files, usable_skills

    mounting, settings = _mounting(call), call.settings()
    folders = where.folders() or _mounted_already(mounting, where)
    with call.operations(mounts_follow=not where.dry_run) as operations:
        skills = usable_skills(operations)
        # Before the operations are let go, which brings everything up to date without a word.
        done = mounting.mount(folders, skills, dry_run=where.dry_run)
        if not where.dry_run:
            _note(call, mounting, operations)
    # What lies beside the skills of a Runlore elsewhere is not known here.
    beside = {} if settings.url else list_uncopied_files(settings.state_root, skills)

    def show() -> None:
        _show(done, folders, where)
        mount_tables.show_left_behind(beside)
        if not skills:
            say("There are no skills yet. What you save from now on is put there by itself.", "dim")
        elif where.project is not None and not where.dry_run:
            say(
                "These files are part of the project's folder now: share them with it, or ignore them.", "dim"
            )

    call.answer(mount_tables.mounted_to_plain(done, dry_run=where.dry_run, beside=beside), show)


def unmount(call: Invocation, where: PlaceOptions) -> None:
    """Take mounted skills away again.

    From all folders unless a place is named. What you wrote there yourself stays.
    """
    mounting = _mounting(call)
    folders = where.folders() or _narrow_folders(mounting.folders(), where)
    removed = mounting.unmount(folders, dry_run=where.dry_run)
    if call.settings().url and removed and not where.dry_run:
        with suppress(RunloreError), call.operations() as operations:
            _note(call, mounting, operations)

    def show() -> None:
        if not folders:
            say("Nothing is mounted.", "dim")
        _show(removed, folders, where)

    call.answer(mount_tables.mounted_to_plain(removed, dry_run=where.dry_run), show)


def _note(call: Invocation, mounting: "MountManager", operations: ops.Operations) -> None:
    """Tell a Runlore elsewhere where its skills are mounted here; our own daemon looks by itself."""
    if call.settings().url:
        try:
            operations.note_mounts(ops.MachineMounts(machine=mounting.machine, folders=mounting.folders()))
        except RunloreError as error:
            say(f"Whoever revokes a skill there is not told of these folders: {error.sentence}", "yellow")


def _mounting(call: Invocation) -> "MountManager":
    from runlore.daemon.skills.mounting import MountManager

    settings = call.settings()
    return MountManager(settings.state_root, source=settings.url or "")


def _mounted_already(mounting: "MountManager", where: PlaceOptions) -> tuple[str, ...]:
    from runlore.daemon.skills.mounting import repository_of

    noted = _narrow_folders(mounting.folders(), where)
    if noted:
        return noted
    here = repository_of(os.getcwd())
    project = f", or `runlore skill mount --project {here or 'FOLDER'}` for one project"
    raise Invalid(
        "nothing is mounted yet, and no place is named",
        code="skill.mount-place",
        hint=f"`runlore skill mount --user` is for all that you work on{project}; --dry-run shows it first",
    )


def _narrow_folders(folders: tuple[str, ...], where: PlaceOptions) -> tuple[str, ...]:
    from runlore.daemon.skills.mounting import folders_of

    if not where.agent:
        return folders
    wanted = {os.path.relpath(folder, os.sep) for folder in folders_of(os.sep, where.agent)}
    return tuple(folder for folder in folders if any(folder.endswith(f"{os.sep}{end}") for end in wanted))


def _show(items: tuple[Mounted, ...], folders: tuple[str, ...], where: PlaceOptions) -> None:
    mount_tables.show_mounted(items, folders, dry_run=where.dry_run)
