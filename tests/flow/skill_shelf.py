"""Skills for tests: saved from suggestions, brought in, or written by hand into the root."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from runlore.daemon.app import Application
from runlore.daemon.parts import Parts
from runlore.daemon.skills.library import LibraryParts, SkillLibrary
from runlore.daemon.wiring import WORDS_NAME, SkillIndexEngine
from runlore.domain.skill import Skill
from runlore.flow.skills.library import text_of
from runlore.ports import operations as ops
from runlore.ports.store import Store
from runlore.skill_files.disk import Disk
from runlore.skill_files.root import SkillRoot
from tests.flow.telling import suggested, suggestion
from tests.world import OPERATOR, World

BODY = "# Overview\n\nTidy the table with `make tidy`.\n"


def skill_text(name: str, description: str = "", body: str = "Do it with care.", **metadata: str) -> str:
    """The text of a SKILL.md that somebody wrote."""
    lines = [
        "---",
        f"name: {name}",
        f"description: {description or f'How to {name}.'}",
        *(["metadata:"] if metadata else []),
        *(f'  {key.replace("_", "-")}: "{value}"' for key, value in metadata.items()),
        "---",
        "",
        body,
        "",
    ]
    return "\n".join(lines)


def skill_file(world: World, name: str, root: Path | None = None) -> Path:
    """Where the file of a skill is."""
    return (root or world.root) / "skills" / name / "SKILL.md"


def put_by_hand(world: World, name: str, text: str | None = None, root: Path | None = None) -> Path:
    """A file that somebody puts there, over what there is."""
    path = skill_file(world, name, root)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(skill_text(name) if text is None else text)
    return path


def saved(world: World, name: str, **fields: Any) -> Skill:
    """A skill that was learned: a suggestion that somebody saved."""
    suggested(world, name, suggestion=suggestion(name, **fields))
    return world.operator.save_skill(ops.SaveSkill(suggestion=name))


def brought_in(world: World, name: str, *, promoted: bool = False, **fields: Any) -> Skill:
    """A skill of somebody's, promoted or still to be read."""
    asked = ops.ImportSkill(text=skill_text(name, **fields), source="https://example.org/skills")
    skill = world.operator.import_skill(asked)
    if promoted:
        skill = world.operator.accept_skill(ops.AcceptSkill(name=name, force=True))
    return skill


def two_alike(world: World) -> None:
    """Two drafts with the same body, of which curation drops one."""
    for name in ("tidy-one", "tidy-two"):
        saved(world, name, body=BODY)


def library_on(
    world: World, *, disk: Disk | None = None, store: Store | None = None, settled_ns: int = 2_000_000_000
) -> SkillLibrary:
    """Another library on the same rows and files, such as one whose disk or store dies."""
    return SkillLibrary(
        LibraryParts(
            store=store or world.parts.store,
            files=SkillRoot(str(world.root), disk=disk, settled_ns=settled_ns),
            engine=SkillIndexEngine(str(world.root / WORDS_NAME)),
            clock=world.clock,
            ids=world.ids,
            folder=str(world.root / "index"),
        )
    )


def operator_on(world: World, **broken: Any) -> Application:
    """The operator's operations with such a library."""
    parts: Parts = replace(world.parts, library=library_on(world, **broken))
    if "store" in broken:
        parts = replace(parts, store=broken["store"])
    return Application(parts, OPERATOR)


def rows(world: World) -> dict[str, str]:
    """What the rows say that the files have to: the text of every active skill by its name."""
    with world.parts.store.snapshot() as snapshot:
        return {skill.name: text_of(skill) for skill in snapshot.skills.active()}


def files(world: World, root: Path | None = None) -> dict[str, str]:
    """What the files say, by their folders."""
    folder = (root or world.root) / "skills"
    return {path.parent.name: path.read_text() for path in sorted(folder.glob("*/SKILL.md"))}
