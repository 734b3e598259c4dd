"""What the commands about skills tell: what is left behind, what is there already, who accepted what."""

from pathlib import Path

import pytest

from runlore import console
from runlore.cli.tables import library_tables
from runlore.domain.skill import SkillId
from runlore.domain.skills.skill_curation import Curation, CurationAction, CurationId, CurationKind
from tests.fakes import START
from tests.surfaces.cli.test_importing import folder_of
from tests.surfaces.cli.test_library import imported, names, queue
from tests.surfaces.command_line import Runlore

pytestmark = pytest.mark.req("SUR-2")


def kept_beside(runlore: Runlore, name: str = "tidy-up") -> Path:
    """A skill that reaches agents, with scripts that somebody put beside its file."""
    imported(runlore, name)
    runlore.json("skill", "promote", name, "--force")
    folder = runlore.home / "skills" / name
    (folder / "scripts").mkdir()
    for number in range(5):
        (folder / "scripts" / f"{number}.py").write_text("pass")
    return folder


def test_import_export_and_view_name_the_files_that_are_not_brought_along(
    embedded: Runlore, tmp_path: Path
) -> None:
    kept_beside(embedded)

    brought = embedded.text("skill", "import", str(folder_of(tmp_path)))
    out = embedded.text("skill", "export", "tidy-up", "--to", str(tmp_path / "a"))
    plain = embedded.json("skill", "export", "tidy-up", "--to", str(tmp_path / "b"))
    seen = embedded.text("skill", "view", "tidy-up")

    assert "not brought in, only SKILL.md is: scripts/run.sh\n" in brought
    assert "5 other files not brought along: scripts/0.py, scripts/1.py, scripts/2.py and 2 more" in out
    assert plain["not_brought_along"] == [f"scripts/{number}.py" for number in range(5)]
    assert "scripts/0.py" in seen
    assert [path.name for path in (tmp_path / "a" / "tidy-up").iterdir()] == ["SKILL.md"]


def test_a_skill_alone_in_its_folder_leaves_nothing_behind(embedded: Runlore, tmp_path: Path) -> None:
    imported(embedded)
    embedded.json("skill", "promote", "tidy-up", "--force")

    assert "brought along" not in embedded.text("skill", "export", "tidy-up", "--to", str(tmp_path))
    assert "beside" not in embedded.text("skill", "view", "tidy-up")


@pytest.mark.req("SKL-8")
def test_view_says_why_a_file_is_refused_and_the_reason_names_the_broken_line(embedded: Runlore) -> None:
    file = kept_beside(embedded) / "SKILL.md"
    assert "refused" not in embedded.text("skill", "view", "tidy-up")

    file.write_text("---\nname: [broken\n---\nText.\n")
    seen = embedded.text("skill", "view", "tidy-up")

    assert "The file of skill" in seen
    assert "is refused" in seen
    assert "not YAML" in seen
    assert "line 2" in seen or "line 3" in seen
    assert "git clean -fd" in seen


@pytest.mark.req("TNT-2")
def test_the_command_that_is_told_for_what_comes_from_outside_is_not_refused(embedded: Runlore) -> None:
    queue(embedded, True)
    told = [line.strip() for line in embedded.text("skill", "save").splitlines() if "  runlore" in line]
    words = [line.removeprefix("runlore ").split("  ")[0].split() for line in told]
    refused = embedded.fails("skill", "save", "procedure-0")

    assert words[0][:2] == ["skill", "suggestions"]
    assert "runlore skill suggestions show procedure-0" in refused.said
    assert "--accept-untrusted" in words[1]
    for each in words:
        embedded.text(*each)
    assert names(embedded) == ["procedure-0"]


@pytest.mark.req("TNT-2", "SKL-6")
def test_the_log_tells_who_took_words_from_outside_and_what_was_skipped(embedded: Runlore) -> None:
    queue(embedded, True, False)
    embedded.json("skill", "save", "procedure-0", "--accept-untrusted")
    embedded.json("skill", "save", "procedure-1", "--name", "mine")
    embedded.json("skill", "skip", "mine")
    embedded.json("skill", "reset-skips")

    def lines(name: str) -> list[tuple[object, object]]:
        return [(each["kind"], each["actor"]) for each in reversed(embedded.items("skill", "log", name))]

    [accepted] = embedded.items("skill", "log", "procedure-0")
    assert accepted["reason"] == "read and accepted, with words from: https://example.org/x"
    assert lines("mine") == [("saved", "operator"), ("skipped", "operator"), ("reset", "operator")]


@pytest.mark.req("SKL-6")
def test_what_is_a_skill_already_neither_waits_again_nor_is_saved_again(embedded: Runlore) -> None:
    queue(embedded, False, False)
    [made] = embedded.items("skill", "save", "procedure-0", "--name", "mine")
    embedded.json("skill", "skip", "mine")

    shown = embedded.text("skill", "reset-skips")
    again = embedded.text("skill", "save", "procedure-0", "procedure-1")

    assert "Waiting" not in shown
    assert "procedure-0" in shown
    assert f"procedure-0 is saved already, as mine  {made['skill_id']}" in again
    assert "Saved procedure-1" in again
    assert embedded.items("skill", "suggestions", "list") == []
    embedded.json("skill", "delete", "mine")
    assert "Saved mine" in embedded.text("skill", "save", "procedure-0")


def test_accepting_without_a_name_is_refused_where_nobody_is_asked(embedded: Runlore) -> None:
    queue(embedded, True)

    failure = embedded.fails("skill", "save", "--accept-untrusted")

    assert (failure.code, failure.exit_code) == ("usage", 2)
    assert names(embedded) == []


def test_what_is_done_already_is_told_as_such(embedded: Runlore, tmp_path: Path) -> None:
    imported(embedded)
    embedded.json("skill", "promote", "tidy-up", "--force")
    queue(embedded, False)
    out = ("skill", "export", "tidy-up", "--to", str(tmp_path))
    twice = [
        [embedded.text(*words) for _ in range(2)]
        for words in (out, ("skill", "delete", "tidy-up"), ("skill", "restore", "tidy-up"))
    ]

    for (first, second), told, again in zip(
        twice, ("Wrote", "Deleted", "is back"), ("the same", "gone already", "was there"), strict=True
    ):
        assert told in first
        assert told not in second
        assert again in second
    assert embedded.text("skill", "reset-skips", "procedure-0") == "procedure-0 was not skipped.\n"


def test_the_log_of_a_name_that_nobody_knows_says_so(embedded: Runlore) -> None:
    imported(embedded)

    assert "called nope" in embedded.text("skill", "log", "nope")


def test_all_words_behind_match_are_the_request(embedded: Runlore) -> None:
    imported(embedded)
    embedded.json("skill", "promote", "tidy-up", "--force")

    apart = embedded.items("skill", "match", "tidy", "up", "the", "workspace")

    assert [each["name"] for each in apart] == ["tidy-up"]
    assert apart == embedded.items("skill", "match", "tidy up the workspace")


@pytest.mark.parametrize("columns", [40, 60, 200])
def test_a_merge_can_be_read_at_any_width(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    kinds = {CurationKind.MERGE: "two", CurationKind.DROP: "two", CurationKind.PRUNE: ""}
    actions = tuple(
        CurationAction(
            kind=kind,
            gone=SkillId("skl_1"),
            gone_name="one",
            kept=SkillId("skl_2") if kept else None,
            kept_name=kept,
            reason="because of many words that are in both of them",
        )
        for kind, kept in kinds.items()
    )
    curation = Curation(
        curation_id=CurationId("cur_1"), at=START, actor="daemon", actions=actions, before=(), revisions=()
    )

    library_tables.show_curations([curation])

    shown = capsys.readouterr().out
    assert "one goes into two" in shown
    assert "one goes, two stays" in shown
    assert "prune" in shown


@pytest.mark.parametrize(("option", "told"), [("--origin", "not an origin"), ("--state", "not a state")])
def test_an_unknown_word_is_told_in_english(embedded: Runlore, option: str, told: str) -> None:
    assert told in embedded.fails("skill", "list", option, "foo").said


@pytest.mark.req("TNT-2")
def test_letting_agents_have_what_comes_from_outside_is_called_accepting(embedded: Runlore) -> None:
    told = " ".join(embedded.text("skill", "list", "--help").split())
    commands = embedded.text("skill", "--help")
    page = (Path(console.__file__).parent / "static" / "skills.js").read_text()

    assert "reaches no agent until it is accepted" in told
    assert "  accept " in commands
    assert "  promote " not in commands
    assert "/accept`" in page
    assert "/promote`" not in page
