"""At a terminal of 80 columns nothing that Runlore says is wider, but for words that cannot be broken."""

import json
from pathlib import Path

import pytest

from runlore.storage.sqlite.files import DAMAGE_NOTE, DAMAGED_FOLDER
from scripts.tour import STEPS, command_lines
from tests.surfaces.cli.test_service import dead_job
from tests.surfaces.command_line import Runlore
from tests.surfaces.reporting import report, said
from tests.surfaces.skill_files_of import skill_md
from tests.surfaces.transcripts import releases, settle

pytestmark = pytest.mark.req("SUR-7")

COLUMNS = 80
LONG = "because the whole team agreed on that at length in the meeting of last week, twice"
# What shows something. A text that is shown word for word as agents get it keeps its own lines.
SHOWN = (
    "status",
    "status --all",
    "doctor",
    "memory list",
    "memory states",
    "memory inspect {record}",
    "memory history {record}",
    "memory search editor",
    "memory search nothing-of-the-kind",
    "memory context editor",
    "memory review list",
    "memory semantic compact",
    "memory radar log",
    "memory forget {record} --dry-run",
    "learning candidates list",
    "learning candidates get {candidate}",
    "learning list",
    "session list",
    "session show talk",
    "session runs",
    "session run show run-1",
    "session run journal run-1",
    "session context talk",
    "session search talk editor",
    "session search talk nothing-of-the-kind",
    "session persona list",
    "why run-1",
    "policy show learning",
    "policy show retention",
    "policy history retention",
    "policy test {policy}",
    "capture status",
    "capture backfill --dry-run",
    "jobs list",
    "token list",
    "approvals list",
    "skill list",
    "skill view tidy-up",
    "skill match tidy the workspace",
    "skill log",
    "skill suggestions list",
    "skill curate",
    "skill curations",
    "skill rollout status",
    "learn {sessions} --dry-run",
    "learn {sessions}",
    "memory inspect rec_none",
    "memory list --state nothing",
    "skill settle tidy-up --keep file",
)


@pytest.fixture
def seeded(embedded: Runlore, tmp_path: Path) -> dict[str, str]:
    """A store with something of everything to show, and something wrong; ids and paths by name."""
    record = embedded.prefer("editor", "vim, in the terminal, with the plugins that everybody has agreed on")
    embedded.propose("editor", "helix", reason=LONG)
    embedded.propose("Editor", "nano", reason=LONG)
    embedded.learn("The staging port is 5433 and nothing else, for as long as the old proxy is in use")
    content = "The staging port is 6001 and nothing else, for as long as the old proxy is in use"
    candidate = embedded.json("learning", "candidates", "create", content, "--kind", "fact")["record_id"]
    embedded.json("memory", "episode", "add", f"It was tried {LONG}")
    embedded.json("session", "create", "--id", "talk", "--title", LONG)
    report(embedded, "run-1", f"Where is the editor set? {LONG}", said(f"In the shell. {LONG}"), context=True)
    dead_job(embedded)
    (tmp_path / "SKILL.md").write_text(skill_md("tidy-up"))
    embedded.json("skill", "import", str(tmp_path / "SKILL.md"))
    file = embedded.home / "skills" / "tidy-up" / "SKILL.md"
    file.write_text(file.read_text()[:-30])
    notes = embedded.home / DAMAGED_FOLDER
    notes.mkdir()
    (notes / f"1{DAMAGE_NOTE}").write_text(f"the log was damaged, and 3 commits are missing, {LONG}")
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps(embedded.json("policy", "show", "learning")["policy"]))
    for path in releases(tmp_path / "sessions"):
        settle(path)
    return {
        "record": record,
        "candidate": str(candidate),
        "policy": str(policy),
        "sessions": str(tmp_path / "sessions"),
    }


def test_nothing_is_wider_than_the_terminal(embedded: Runlore, seeded: dict[str, str]) -> None:
    wide: dict[str, list[str]] = {}
    silent = []
    for shown in SHOWN:
        outcome = embedded.run(*(word.format_map(seeded) for word in shown.split()), columns=COLUMNS)
        lines = [*outcome.out.splitlines(), *outcome.err.splitlines()]
        silent += [] if lines else [shown]
        wide[shown] = [line for line in lines if len(line) > COLUMNS and " " in line.strip()]

    assert (silent, {shown: lines for shown, lines in wide.items() if lines}) == ([], {})


def test_the_commands_of_the_tour_fit_and_can_be_copied() -> None:
    for step in STEPS:
        words = ["$ runlore", *step.command]
        lines = command_lines(words, COLUMNS).split("\n")

        assert max(map(len, lines)) <= COLUMNS
        assert " ".join(line.removesuffix(" \\").strip() for line in lines) == " ".join(words)
