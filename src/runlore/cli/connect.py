"""`runlore connect` and `disconnect`: hooks, memory over MCP and skills for the agents that people use."""

import shutil
from datetime import UTC, datetime
from typing import Annotated

from runlore.cli import agent_access
from runlore.cli.invocation import Invocation
from runlore.cli.tables.table_cells import short_path
from runlore.cli.terminal import say, say_spoken
from runlore.cli.typer_commands import argument, option
from runlore.config.settings import Settings
from runlore.daemon.connected_agents import (
    AGENTS,
    AgentConnection,
    FileChange,
    make_connection,
    skill_folders,
    unused_folders,
)
from runlore.domain.errors import Invalid
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonObject

AgentArgument = Annotated[str, argument("AGENT", f"The agent: {', '.join(AGENTS)}.", completes="agent")]
ProjectOption = Annotated[
    str | None, option("--project FOLDER", "Only in this project; for all that you work on, if left out.")
]
UserOption = Annotated[bool, option("--user", "For all that you work on, as without --project.")]
DryRunOption = Annotated[bool, option("--dry-run", "Show what would change, and change nothing.")]
# An agent runs only the hooks that the user trusts, and says nothing of the others.
_TRUST = {
    "codex": "Codex runs only hooks that you trust: start `codex`, type /hooks, trust these.",
    "claude-code": "Sessions that are open take it over when they start again.",
}
# The command of each agent; Cursor is an application.
_COMMANDS = {
    "claude-code": "claude",
    **{name: name for name in AGENTS if name not in ("claude-code", "cursor")},
}
_INSTALL = {
    "claude-code": "In a clone of Runlore: `claude plugin marketplace add .`, then"
    " `claude plugin install runlore@runlore`.",
    "codex": "In a clone of Runlore: `codex plugin marketplace add .`, then"
    " `codex plugin add runlore@runlore`.",
}


@dataclass(frozen=True, kw_only=True)
class ConnectOptions:
    """Where an agent is connected, and what of it."""

    project: ProjectOption = None
    user: UserOption = False
    plugin: Annotated[
        bool,
        option("--plugin", "By Runlore's plugin, which you install in the agent: no file of its changes."),
    ] = False
    dry_run: DryRunOption = False
    no_start: Annotated[bool, option("--no-start", "The hooks never start the daemon.")] = False
    no_follow: Annotated[bool, option("--no-follow", "Do not read new sessions by itself.")] = False
    no_skills: Annotated[bool, option("--no-skills", "Do not put your skills where it looks.")] = False
    persona: Annotated[
        str | None,
        option("--persona ID", "Who you are, as another machine of yours named you.", completes="PersonaId"),
    ] = None


def connect(call: Invocation, agent: AgentArgument, options: ConnectOptions) -> None:
    """Connect an agent: it gets your memory with every input, and its sessions are learned from.

    Hooks, the MCP server and your skills are put into its settings; what others wrote there stays as it is.
    `runlore disconnect` undoes it.
    """
    settings = _local(call)
    project = _one_place(options.project, user=options.user)
    connection = make_connection(
        settings.state_root, agent, project, starts=not options.no_start, plugin=options.plugin
    )
    changes = connection.plan()
    if not options.dry_run:
        persona_id = agent_access.settle_persona(settings, options.persona)
        agent_access.connect_as_agent(settings, agent).close()
        # A daemon took its time to start, and agents write their settings at any time.
        changes = connection.plan()
        connection.connect(changes, follows=not options.no_follow, at=datetime.now(UTC))
        mounted = [] if options.no_skills else _mount(call, settings, connection)
    else:
        mounted, persona_id = [], None

    def show() -> None:
        _show(changes, dry_run=options.dry_run, nothing=f"{AGENTS[agent].title} is connected already.")
        if options.dry_run:
            return
        if changes:
            say(f"{AGENTS[agent].title} is connected. What it is told and what it does is kept from now on.")
        if mounted:
            say(f"Your skills are in {', '.join(map(short_path, mounted))}.")
        if options.plugin:
            say(_INSTALL[agent])
        if changes and agent in _TRUST:
            say(_TRUST[agent])
        if agent in _COMMANDS and shutil.which(_COMMANDS[agent]) is None:
            say(
                f"There is no program `{_COMMANDS[agent]}` on your PATH: nothing reports before there is.",
                "yellow",
            )
        say("`runlore status` shows when it last reported, `runlore disconnect` undoes it.", "dim")

    plain: JsonObject = {
        "agent": agent,
        "dry_run": options.dry_run,
        "persona_id": persona_id,
        "files": [{"path": change.path, "is": change.does} for change in changes],
        "skills": list(mounted),
    }
    call.answer(plain, show)


def disconnect(
    call: Invocation,
    agent: AgentArgument,
    project: ProjectOption = None,
    *,
    user: UserOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """Undo what `runlore connect` has changed. What was learned stays.

    Its files are as they were before; what you have changed in them since stays too.
    """
    settings = _local(call)
    place = _one_place(project, user=user)
    connection = make_connection(settings.state_root, agent, place, starts=True).recall()
    changes = connection.plan_undo()
    if not dry_run:
        connection.undo(changes)
        _unmount(settings, connection)
    plain: JsonObject = {
        "agent": agent,
        "dry_run": dry_run,
        "files": [{"path": change.path, "is": change.does} for change in changes],
    }
    title = AGENTS[agent].title

    def show() -> None:
        _show(changes, dry_run=dry_run, nothing=f"{title} is not connected.")
        if changes and not dry_run:
            say(f"{title} is disconnected. What was learned stays.")

    call.answer(plain, show)


def _one_place(project: str | None, *, user: bool) -> str | None:
    if user and project is not None:
        raise Invalid(
            "--user and --project name two places",
            code="connect.place",
            hint="give one of them, and call it again for the other",
        )
    return project


def _local(call: Invocation) -> Settings:
    settings = call.settings()
    if settings.url is not None:
        raise Invalid(
            "an agent is connected to a daemon of this machine, and --url or RUNLORE_URL names another one",
            code="connect.url",
            hint="run it where the agent runs, without --url",
        )
    return settings


def _mount(call: Invocation, settings: Settings, connection: AgentConnection) -> list[str]:
    from runlore.daemon.skills.mounting import MountManager, usable_skills

    folders = skill_folders(connection)
    with call.operations() as operations:
        skills = usable_skills(operations)
        MountManager(settings.state_root).mount(folders, skills)
    return list(folders) if skills else []


def _unmount(settings: Settings, connection: AgentConnection) -> None:
    from runlore.daemon.skills.mounting import MountManager

    manager = MountManager(settings.state_root)
    mounted = set(manager.folders())
    if folders := tuple(folder for folder in unused_folders(connection) if folder in mounted):
        manager.unmount(folders)


def _show(changes: list[FileChange], *, dry_run: bool, nothing: str) -> None:
    if not changes:
        say(nothing)
    for change in changes:
        if not dry_run:
            say(f"{change.does.capitalize()} {short_path(change.path)}")
            continue
        for line in change.diff():
            say_spoken(line, {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], ""))
