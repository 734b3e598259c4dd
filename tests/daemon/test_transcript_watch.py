"""Learning goes on by itself behind `connect`, and the next command says in one line what came of it."""

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from runlore.daemon.agents_folder import write_persona
from runlore.daemon.app import Application
from runlore.daemon.background.jobs import do_due_jobs
from runlore.daemon.transcript_watch import TranscriptWatch
from runlore.domain.errors import Denied, NotFound
from runlore.domain.record import State
from runlore.domain.runs.transcript import transcript_session_id
from runlore.domain.session import PersonaId
from runlore.ports import operations as ops
from tests.surfaces.command_line import Runlore
from tests.surfaces.transcripts import releases, write_session
from tests.world import AGENT, OPERATOR, World

pytestmark = pytest.mark.req("INT-7")


WISH = "Always use pnpm, never npm."


def touch(path: Path) -> None:
    """Have a file be of late, and whole: nobody has written to it for an hour."""
    at = time.time() - 3_600
    os.utime(path, (at, at))


def follow(world: World, *, follows: bool = True) -> None:
    """Have an agent be connected."""
    folder = world.root / "agents"
    folder.mkdir()
    (folder / "claude-code.json").write_text(json.dumps({"follows": follows}))


class Watching:
    """The watch of a daemon, and its clock."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._elapsed_s = 0.0
        self._watch = TranscriptWatch(str(world.root), lambda: self._elapsed_s)

    def go_on(self, seconds: float) -> None:
        """What a daemon does within these seconds."""
        for _ in range(2):
            self._watch.step(self._world.operator)
            do_due_jobs(self._world.parts)
            self._elapsed_s += seconds / 2


def tell(lore: Runlore, *words: str) -> str:
    return lore.run("status", *words).err


def test_what_was_learned_meanwhile_is_told_once_by_the_next_command(
    sqlite_world: World, clean_home: Path
) -> None:
    world, projects = sqlite_world, clean_home / ".claude" / "projects"
    watching, lore = Watching(world), Runlore(world.root)
    waited = world.propose()
    follow(world)
    watching.go_on(120)
    world.clock.advance(seconds=60)
    written = [*releases(projects / "a"), write_session(projects / "b", "wish", [(WISH, [])])]
    for path in written:
        touch(path)

    watching.go_on(120)
    watching.go_on(120)

    assert world.record(waited).state is State.CONSTRAINED
    world.close()
    assert tell(lore, "--json") == ""
    told = "1 new suggestion and 1 new statement: `runlore inbox`\n"
    assert tell(lore) == told
    assert tell(lore) == ""


def test_nobody_reads_or_tells_where_no_agent_is_followed(sqlite_world: World, clean_home: Path) -> None:
    world, watching = sqlite_world, Watching(sqlite_world)
    for path in releases(clean_home / ".claude" / "projects" / "a"):
        touch(path)
    watching.go_on(120)
    follow(world, follows=False)

    watching.go_on(120)

    assert world.operator.status().sections["sessions"]["count"] == 0  # type: ignore[index,call-overload]
    assert {path.name for path in (world.root / "agents").iterdir()} == {"claude-code.json"}


@pytest.mark.req("SCO-2", "OPS-5", "CAP-8")
def test_a_hook_has_only_the_transcripts_of_its_own_user_read(
    sqlite_world: World, clean_home: Path, tmp_path: Path
) -> None:
    world, projects, moved = sqlite_world, clean_home / ".claude" / "projects", tmp_path / "moved"
    outside, inside, elsewhere = (
        write_session(folder, name, [(WISH, [])])
        for folder, name in (
            (tmp_path / "outside", "planted"),
            (projects / "a", "kept"),
            (moved / "projects" / "a", "moved"),
        )
    )
    link = projects / "a" / "link.jsonl"
    link.symlink_to(outside)
    write_persona(str(world.root), PersonaId("anna"))
    record = {"follows": False, "home": str(clean_home), "environment": {"CLAUDE_CONFIG_DIR": str(moved)}}
    (world.root / "agents" / "claude-code.json").write_text(json.dumps(record))

    def stop(persona: str, session: str, path: Path, agent: str = "claude-code") -> None:
        caller = replace(AGENT, persona_id=PersonaId(persona))
        payload = {"session_id": session, "transcript_path": str(path)}
        Application(world.parts, caller).report_hook(
            ops.HookEvent(agent=agent, event="Stop", payload=payload)
        )
        world.clock.advance(seconds=2)
        world.parts.watch.step(world.operator)

    def kept() -> set[str]:
        return {each.session_id for each in world.operator.list_sessions(ops.PageRequest()).items}

    for path in (outside, link, projects, tmp_path / "none"):
        stop("anna", "planted", path)
    stop("anna", "kept", inside, "codex")
    with pytest.raises(Denied) as refused:
        stop("bert", "kept", inside)
    assert (refused.value.code, kept()) == ("hook.persona", set())

    stop("anna", "kept", inside)
    stop("anna", "moved", elsewhere)
    assert kept() == {transcript_session_id("claude-code", name) for name in ("kept", "moved")}
    bert = replace(OPERATOR, persona_id=PersonaId("bert"))
    his = ops.NewSession(session_id=transcript_session_id("claude-code", "his"), persona_id=bert.persona_id)
    Application(world.parts, bert).create_session(his)
    with pytest.raises(NotFound):
        stop("anna", "his", inside)
