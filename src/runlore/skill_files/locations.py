"""Where agents look for skills: folders of the user's home, and of a project.

Two of them together reach every agent. Some agents look into both and take the first of two skills of one
name, so what is put there is the same in both.

| folder | who looks there |
| --- | --- |
| `.agents/skills` | Codex, Gemini CLI, opencode, Cursor, Copilot CLI |
| `.claude/skills` | Claude Code, opencode, Cursor |

Folders of a single agent (`.codex/skills`, `.gemini/skills`, `.opencode/skills`, `.cursor/skills`) are not
needed, and that of Codex is on its way out. A skill that is read is recognised in them all the same.
"""

import os
from collections.abc import Iterable

from runlore.domain.errors import Invalid
from runlore.domain.lazy import dataclass

FILE = "SKILL.md"
_FILES_MAX = 1_000


def files_beside(folder: str) -> tuple[str, ...]:
    """The other files of a skill's folder, as paths below it; no link is followed, and what is hidden is
    nobody's."""
    if os.path.islink(folder):
        return ()
    found: list[str] = []
    for within, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = os.path.relpath(os.path.join(within, name), folder)
            if path != FILE and not name.startswith("."):
                # A name that is no text is shown with question marks in place of what is none.
                found.append(path.encode(errors="replace").decode())
            if len(found) >= _FILES_MAX:
                return tuple(found)
    return tuple(found)


SHARED = os.path.join(".agents", "skills")
CLAUDE = os.path.join(".claude", "skills")


@dataclass(frozen=True, kw_only=True)
class SkillLocation:
    """Where an agent looks, below the home or the project: the folder to write to, and others it reads."""

    agent: str
    written: str
    user: tuple[str, ...]
    project: tuple[str, ...]


PLACES = {
    place.agent: place
    for place in (
        SkillLocation(agent="claude-code", written=CLAUDE, user=(CLAUDE,), project=(CLAUDE,)),
        SkillLocation(
            agent="codex",
            written=SHARED,
            user=(SHARED, os.path.join(".codex", "skills")),
            project=(SHARED, os.path.join(".codex", "skills")),
        ),
        SkillLocation(
            agent="gemini",
            written=SHARED,
            user=(SHARED, os.path.join(".gemini", "skills")),
            project=(SHARED, os.path.join(".gemini", "skills")),
        ),
        SkillLocation(
            agent="opencode",
            written=SHARED,
            user=(SHARED, CLAUDE, os.path.join(".config", "opencode", "skills")),
            project=(SHARED, CLAUDE, os.path.join(".opencode", "skills")),
        ),
        SkillLocation(
            agent="cursor",
            written=SHARED,
            user=(SHARED, CLAUDE, os.path.join(".cursor", "skills"), os.path.join(".codex", "skills")),
            project=(SHARED, CLAUDE, os.path.join(".cursor", "skills"), os.path.join(".codex", "skills")),
        ),
        SkillLocation(
            agent="copilot",
            written=SHARED,
            user=(SHARED, os.path.join(".copilot", "skills")),
            project=(SHARED, CLAUDE, os.path.join(".github", "skills")),
        ),
    )
}


def mount_folders(base: str, agents: Iterable[str] = ()) -> tuple[str, ...]:
    """The folders below a home or a project in which these agents find skills; without names, all agents."""
    if not os.path.isabs(base):
        raise Invalid(
            f"{base!r:.200} is not an absolute path",
            code="skill.mount-folder",
            hint="give the absolute path of a home or a project",
        )
    written = {_place(agent).written for agent in tuple(agents) or PLACES}
    return tuple(os.path.join(base, folder) for folder in sorted(written))


def _place(agent: str) -> SkillLocation:
    if agent not in PLACES:
        raise Invalid(
            f"no agent is known as {agent!r:.80}",
            code="skill.mount-agent",
            hint=f"name one of {', '.join(sorted(PLACES))}",
        )
    return PLACES[agent]
