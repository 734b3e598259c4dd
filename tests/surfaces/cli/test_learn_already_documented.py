"""`runlore learn` in a project that says itself how things are done: only what is new is suggested."""

from pathlib import Path

import pytest

from tests.surfaces.command_line import Runlore
from tests.surfaces.transcripts import write_session

pytestmark = pytest.mark.req("SKL-18")

ROLL_OUT = [
    ("helm upgrade shop ./chart", "ok", 0),
    ("kubectl rollout status deploy/shop", "ok", 0),
    ("kubectl logs deploy/shop", "ok", 0),
]
TELLING = (
    "```sh\nhelm upgrade shop ./chart\nkubectl rollout status deploy/shop\nkubectl logs deploy/shop\n```\n"
)


@pytest.mark.parametrize("file", ["repo/CLAUDE.md", ".agents/skills/roll-out/SKILL.md"])
def test_what_instructions_come_to_tell_is_suggested_no_longer(
    embedded: Runlore, clean_home: Path, file: str
) -> None:
    project = clean_home / "repo" / "services" / "shop"
    project.mkdir(parents=True)
    (clean_home / "repo" / ".git").mkdir()
    for number in range(3):
        turns = [("Roll the shop out to the cluster", ROLL_OUT)]
        write_session(clean_home / "told", f"session-{number}", turns, cwd=str(project))
    told = str(clean_home / "told")
    before = embedded.json("learn", told, "--dry-run")["suggestions"]
    stored = embedded.json("learn", told)["suggestions"]
    assert [each["name"] for each in before] == [each["name"] for each in stored] != []

    path = clean_home / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TELLING.replace("kubectl logs deploy/shop\n", ""))
    (added,) = embedded.json("learn", told, "--dry-run")["suggestions"]
    (kept,) = embedded.json("learn", told)["suggestions"]
    assert added["description"] == kept["description"]
    assert "It adds to " in added["description"]
    assert "`kubectl logs deploy/shop`" in added["description"]

    path.write_text(TELLING)
    assert embedded.json("learn", told, "--dry-run")["suggestions"] == []
    assert embedded.json("learn", told)["suggestions"] == []

    path.write_text(f"---\nmetadata:\n  author: runlore\n---\n{TELLING}")
    is_ours = file.endswith("SKILL.md")
    assert bool(embedded.json("learn", told, "--dry-run")["suggestions"]) is is_ours
