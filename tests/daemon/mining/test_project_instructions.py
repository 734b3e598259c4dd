"""What agents are told in a folder: by its files, those up to its repository's root, and the user's."""

import os
from pathlib import Path

import pytest

from runlore.daemon.mining.project_instructions import read_instructions

pytestmark = pytest.mark.req("SKL-18")

FILES = [
    *("repo/CLAUDE.md", "repo/web/AGENTS.md", "repo/Makefile", "repo/web/package.json", "repo/mise.toml"),
    *("repo/.claude/skills/ship/SKILL.md", "repo/.cursor/skills/test/SKILL.md"),
    *(
        "repo/.claude/commands/send.md",
        "repo/.cursor/rules/style.mdc",
        "repo/.github/copilot-instructions.md",
    ),
    *(".claude/CLAUDE.md", ".codex/AGENTS.md", ".agents/skills/mine/SKILL.md"),
]
OTHERS = ["CLAUDE.md", "repo/notes.md", "repo/.claude/skills/README.md", "above/README.md"]


def test_files_up_to_the_root_and_those_of_the_user_are_read(clean_home: Path) -> None:
    for name in (*FILES, *OTHERS):
        path = clean_home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("`make it`\n")
    (clean_home / "repo" / ".git").mkdir()
    os.symlink(clean_home / "above" / "README.md", clean_home / "repo" / "README.md")
    os.mkfifo(clean_home / "repo" / "GEMINI.md")
    (clean_home / "repo" / "justfile").mkdir()

    told = [each.source for each in read_instructions(str(clean_home / "repo" / "web"))]
    assert sorted(told) == sorted(
        [
            *("CLAUDE.md", "AGENTS.md", "Makefile", "package.json", "mise.toml"),
            *("send.md", "style.mdc", "copilot-instructions.md"),
            *("the skill ship", "the skill test", "the skill mine"),
            *("~/.claude/CLAUDE.md", "~/.codex/AGENTS.md"),
        ]
    )
    of_user = {"the skill mine", "~/.claude/CLAUDE.md", "~/.codex/AGENTS.md"}
    for elsewhere in ("", "relative", "/nowhere/at/all", str(clean_home)):
        assert {each.source for each in read_instructions(elsewhere)} == of_user


def test_what_a_text_names_in_its_folder_belongs_to_it_and_nothing_outside_does(clean_home: Path) -> None:
    repo = clean_home / "repo"
    (repo / "docs").mkdir(parents=True)
    (repo / "docs" / "ship.md").write_text("`ship it`\n")
    (clean_home / "other.md").write_text("`leak it`\n")
    os.symlink(clean_home / "other.md", repo / "docs" / "link.md")
    (repo / "CLAUDE.md").write_text(
        "See @docs/ship.md, @docs/link.md, @../other.md, @docs/none.md, me@docs/ship.md.\n"
    )

    (found,) = read_instructions(str(repo))
    assert found.source == "CLAUDE.md"
    assert found.told == (("ship", "it"),)
