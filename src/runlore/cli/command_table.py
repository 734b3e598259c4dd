"""The commands of `runlore` by name: each is loaded when it is called, so that none pays for the others."""

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from copy import copy
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple, cast

import typer
from typer.main import get_command_from_info, get_group

from runlore.cli.typer_commands import HelpfulGroup, group


class CommandEntry(NamedTuple):
    """Where a command or a group of commands is written, and what it is for, in the words of its own help."""

    module: str
    name: str
    about: str


# Each name, where it is written, and its help; an indented line goes on.
_TABLE = """
init init.init Set Runlore up in a minute: what your sessions teach, and which of it you want.
up service.up Run the daemon until Ctrl-C, or with --detach in the background.
down service.down End the daemon of a state root; what it has begun is finished.
console service.console Print a link to the review console that logs you in: once, within two minutes.
logs service.logs Show the log of the daemon.
status service.status Show what waits for you, what was learned this week, which agents are connected, and
    what is wrong.
remember remember.remember Remember a sentence.
search remember.search Search all that was stored, best match first.
forget memory.forget Erase a record, a run or a session, and all derived from it.
inbox inbox.inbox Go through all that waits for you.
run run.run Have Runlore's own agent work through a task.
chat chat.chat Talk with Runlore's own agent.
folder folder.folder Which project a working folder belongs to, and whether what happens there is kept.
approvals approvals.approvals What runs wait for a person to say.
learn learn.learn Find skills worth keeping in the sessions of your agents.
import import_memories.import_memories Bring along what another memory system or an instruction file holds.
mcp mcp.mcp Serve memory to an agent over MCP, on standard input and output.
connect connect.connect Connect an agent: it gets your memory with every input, and its sessions are learned
    from.
disconnect connect.disconnect Undo what `runlore connect` has changed.
why why.why Show what a run was given, what was left out, and why.
repeats value.repeats Show what you told your agents more than once.
value value.value Show what each learning and skill is worth: how runs went with it, and without it.
backup upkeep.backup Write a consistent copy of everything, while it is in use.
restore upkeep.restore Read a backup into an empty store, with no daemon running.
doctor upkeep.doctor Check that everything is whole, and repair what can be.
version version.version Show the version.
memory memory.memory Records: list, search, propose, review, undo, forget.
learning learning.learning What `memory` holds, in the words that programs use.
skill skill.skill Skills: learned from sessions, kept, matched, mounted where agents look.
session session.session Conversations with agents: their runs, journals and memory.
policy policy.policy What you have decided for everybody, versioned.
capture capture.capture What of runs is stored and learned from.
token token.token Who may call this Runlore, and as what.
audit audit.audit Show who did what, the oldest first: records, skills, tokens, policies, bindings.
jobs upkeep.jobs Background work: what waits, runs or has failed.
"""


def _read_entry(row: str) -> tuple[str, CommandEntry]:
    name, place, about = row.split(" ", 2)
    module, _, attribute = place.partition(".")
    return name, CommandEntry(module, attribute, about)


PARTS = dict(map(_read_entry, _TABLE.strip().replace("\n    ", " ").split("\n")))
# The order of the help: what people type every day comes first.
_SECTIONS = {
    "Every day": ("init", "status", "remember", "search", "inbox", "forget", "why"),
    "Your agents": ("learn", "import", "connect", "disconnect", "skill", "session", "mcp"),
    "Runlore's own agent": ("run", "chat", "approvals"),
    "Decide and look closer": ("memory", "repeats", "value", "policy", "capture", "folder"),
    "The service": (
        "up",
        "down",
        "console",
        "logs",
        "doctor",
        "backup",
        "restore",
        "jobs",
        "token",
        "audit",
        "version",
    ),
    "For programs": ("learning",),
}
# Groups of commands in another one, in its order; each has the words of its own help.
_WITHIN = {
    "memory": {
        "profile": "memory.profile",
        "review": "review.review",
        "semantic": "review.semantic",
        "procedural": "review.procedural",
        "episode": "memory.episode",
        "radar": "radar.radar",
    }
}


class Root(HelpfulGroup):
    """The command itself. Its help is told without loading what it lists."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Loaded({name: partial(_make, name, part) for name, part in PARTS.items()})

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - the table says it all
        for title, names in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, PARTS[name].about) for name in names])


class _Loaded(MutableMapping[str, Any]):
    """The commands of a group by name, each made when somebody asks for it."""

    def __init__(self, makers: Mapping[str, Callable[[], Any]]) -> None:
        self._makers = makers
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __setitem__(self, name: str, made: Any) -> None:
        self._made[name] = made

    def __delitem__(self, name: str) -> None:
        del self._made[name]


def _make(name: str, part: CommandEntry) -> Any:
    from runlore.cli.invocation import command

    found = _load(f"{part.module}.{part.name}")
    if isinstance(found, typer.Typer):
        return _make_group(name, found)
    alone = group("")
    command(alone, name)(found)
    return get_group(alone).commands[name]


def _make_group(name: str, found: typer.Typer) -> Any:
    bare = copy(found)
    bare.registered_commands, bare.registered_groups = [], []
    made = get_group(bare)
    made.name = name
    commands: dict[str, Callable[[], Any]] = {
        str(each.name): partial(
            get_command_from_info, each, pretty_exceptions_short=True, rich_markup_mode=None
        )
        for each in found.registered_commands
    }
    for each in found.registered_groups:
        inner = cast("typer.Typer", each.typer_instance)
        commands[str(each.name)] = partial(_make_group, str(each.name), inner)
    for inner_name, place in _WITHIN.get(name, {}).items():
        commands[inner_name] = partial(_load_group, inner_name, place)
    made.commands = _Loaded(commands)
    return made


def _load_group(name: str, place: str) -> Any:
    return _make_group(name, _load(place))


def _load(place: str) -> Any:
    module, _, name = place.partition(".")
    return getattr(import_module(f"runlore.cli.{module}"), name)
