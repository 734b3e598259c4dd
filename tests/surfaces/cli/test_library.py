"""Skills on the command line: saved, read, accepted, brought in, written out, curated, undone."""

import io
import re
import sys
from contextlib import closing
from pathlib import Path

import pytest

from runlore.domain.skill import Skill, SkillDocument, SkillId, SkillOrigin
from runlore.domain.suggestion import StoredSuggestion
from runlore.domain.taint import TRUSTED, Provenance
from runlore.storage.open import open_store
from tests.fakes import START
from tests.surfaces.cli.test_hostile_text import EVERY_TEXT, FRAMES, HOSTILE, assert_harmless
from tests.surfaces.cli.test_skill_prompt import waiting
from tests.surfaces.cli.test_skills import keep
from tests.surfaces.command_line import Json, Runlore
from tests.surfaces.skill_files_of import skill_md

pytestmark = pytest.mark.req("SUR-2", "SUR-7")


def queue(runlore: Runlore, *outside: bool) -> list[StoredSuggestion]:
    """Suggestions that wait, some of them from outside."""
    provenance = Provenance(untrusted=True, needs_review=True, sources=("https://example.org/x",))
    made = [
        waiting(number, provenance=provenance if each else TRUSTED) for number, each in enumerate(outside)
    ]
    keep(runlore, *made)
    return made


def imported(runlore: Runlore, name: str = "tidy-up", **said: str) -> Json:
    """A skill of somebody's, brought in."""
    file = runlore.home.parent / f"{name}.md"
    file.write_text(skill_md(name, **said))
    return runlore.json("skill", "import", str(file))


def names(runlore: Runlore, *words: str) -> list[str]:
    """The names of listed skills."""
    return [str(each["name"]) for each in runlore.items("skill", "list", *words)]


@pytest.mark.req("SKL-8")
def test_named_suggestions_are_saved_and_the_next_command_is_told(embedded: Runlore) -> None:
    queue(embedded, False, False, False)

    shown = embedded.text("skill", "save", "procedure-2", "procedure-0")

    assert [line.split()[:2] for line in shown.splitlines()[:2]] == [
        ["Saved", "procedure-2"],
        ["Saved", "procedure-0"],
    ]
    assert "runlore skill mount --user" in shown
    assert names(embedded) == ["procedure-0", "procedure-2"]
    assert (embedded.home / "skills" / "procedure-2" / "SKILL.md").is_file()
    [renamed] = embedded.items("skill", "save", "procedure-1", "--name", "go-home")
    assert (renamed["name"], renamed["quality"]) == ("go-home", "draft")


@pytest.mark.req("TNT-2")
def test_of_several_suggestions_none_is_saved_where_one_is_refused_or_missing(embedded: Runlore) -> None:
    queue(embedded, False, True)

    refused = embedded.fails("skill", "save", "procedure-0", "procedure-1")
    missing = embedded.fails("skill", "save", "procedure-0", "none")

    assert (refused.exit_code, refused.code) == (2, "skill.tainted")
    assert "https://example.org/x" in refused.said
    assert (missing.exit_code, missing.code) == (5, "suggestion.not-found")
    assert names(embedded) == []
    embedded.json("skill", "save", "procedure-0", "procedure-1", "--accept-untrusted")
    assert names(embedded) == ["procedure-0", "procedure-1"]


@pytest.mark.parametrize("given", [(), ("procedure-0", "procedure-1")])
def test_a_new_name_is_for_one_suggestion(embedded: Runlore, given: tuple[str, ...]) -> None:
    queue(embedded, False, False)

    assert embedded.fails("skill", "save", *given, "--name", "x").code == "usage"
    assert names(embedded) == []


@pytest.mark.req("SKL-6")
def test_a_skip_is_of_suggestions_and_of_saved_skills_and_can_be_reset(embedded: Runlore) -> None:
    queue(embedded, False, False)
    embedded.json("skill", "save", "procedure-0", "--name", "go-home")

    shown = embedded.text("skill", "skip", "procedure-1")
    of_skill = embedded.text("skill", "skip", "go-home")

    assert "runlore skill reset-skips procedure-1" in shown
    assert re.match(r"Skipped procedure-1 until 20\S+ \S+ UTC\n", shown)
    assert "runlore skill curate --apply" in of_skill
    assert embedded.items("skill", "suggestions", "list") == []
    [action] = embedded.json("skill", "curate")["actions"]
    assert (action["gone_name"], action["kind"]) == ("go-home", "skipped")
    reset = embedded.items("skill", "reset-skips", "procedure-1")
    assert [each["name"] for each in reset] == ["procedure-1"]
    assert [each["name"] for each in embedded.items("skill", "reset-skips")] == ["procedure-0"]
    assert embedded.text("skill", "reset-skips") == "Nothing was skipped.\n"


def test_a_hand_written_skill_cannot_be_skipped(embedded: Runlore) -> None:
    imported(embedded)

    failure = embedded.fails("skill", "skip", "tidy-up")

    assert failure.code == "skill.not-learned"
    assert "runlore skill delete tidy-up" in failure.said


@pytest.mark.req("TNT-2")
def test_promoting_without_force_shows_what_it_says_and_where_it_is_from(embedded: Runlore) -> None:
    imported(embedded)

    refused = embedded.run("skill", "accept", "tidy-up")
    failure = embedded.fails("skill", "accept", "tidy-up")
    promoted = embedded.text("skill", "accept", "tidy-up", "--force", "--reason", "read it")

    assert refused.code == failure.exit_code == 2
    assert "git clean -fd" in refused.out
    assert "tidy-up.md" in refused.err
    assert (failure.code, promoted) == ("skill.tainted", "Accepted tidy-up\n")
    assert embedded.text("skill", "accept", "tidy-up") == "tidy-up reaches agents already\n"
    # The word that it had before still answers, and is told nowhere.
    assert embedded.text("skill", "promote", "tidy-up") == "tidy-up reaches agents already\n"
    assert "  promote " not in embedded.text("skill", "--help")
    log = embedded.items("skill", "log", "tidy-up")
    assert (log[0]["kind"], log[0]["reason"]) == ("accepted", "read it")
    (procedure,) = embedded.items("memory", "list", "--layer", "procedural")
    assert procedure["metadata"]["workflow"] == "tidy-up"


def test_an_address_is_not_fetched_and_says_what_to_do_instead(embedded: Runlore) -> None:
    failure = embedded.fails("skill", "import", "https://example.com/skills/tidy-up/SKILL.md")

    assert (failure.code, "git clone" in failure.said) == ("skill.address", True)


@pytest.mark.req("SKL-9")
def test_the_same_text_under_a_second_name_says_so_and_lists_tell_the_quality(embedded: Runlore) -> None:
    imported(embedded)
    path = embedded.home.parent / "again.md"
    path.write_text(skill_md())

    told = embedded.text("skill", "import", str(path), "--name", "neat-up")

    assert "it says the same as tidy-up" in told
    assert "imported" in embedded.text("skill", "list").partition("QUALITY")[2]


def test_a_skill_is_brought_in_from_a_file_a_folder_or_standard_input(
    embedded: Runlore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "of-a-friend"
    folder.mkdir()
    (folder / "SKILL.md").write_text(skill_md("of-a-friend"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(skill_md("typed").encode())))

    shown = embedded.text("skill", "import", str(folder))
    typed = embedded.json("skill", "import", "-")
    renamed = embedded.json("skill", "import", str(folder / "SKILL.md"), "--name", "mine")

    assert "no agent gets it yet" in shown
    assert "runlore skill accept of-a-friend" in shown
    assert typed["provenance"]["sources"][0] == "standard input"
    assert renamed["provenance"]["sources"][0] == str(folder / "SKILL.md")
    assert names(embedded) == ["mine", "of-a-friend", "typed"]
    assert all(each["provenance"]["untrusted"] for each in embedded.items("skill", "list"))


@pytest.mark.parametrize("kind", ["missing", "empty folder", "binary", "huge", "device", "no front matter"])
def test_what_is_no_skill_is_refused_and_brings_nothing_in(
    embedded: Runlore, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "given"
    match kind:
        case "empty folder":
            path.mkdir()
        case "binary":
            path.write_bytes(b"\xff\xfe\0")
        case "huge":
            path.write_text(skill_md() + "x" * (1 << 20))
        case "device":
            path = Path("/dev/zero")
        case "no front matter":
            path.write_text("# A page")

    failure = embedded.fails("skill", "import", str(path))

    assert failure.exit_code == 2
    assert failure.code in {"skill.file", "skill.document"}
    assert names(embedded, "--state", "active", "--state", "deleted") == []


def test_a_deep_path_is_told_by_its_end(embedded: Runlore, tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["folder" * 5] * 8)
    deep.mkdir(parents=True)
    (deep / "SKILL.md").write_text(skill_md())

    [source, *_] = embedded.json("skill", "import", str(deep))["provenance"]["sources"]

    assert source.startswith("…")
    assert str(deep / "SKILL.md").endswith(source[1:])


def test_what_is_written_out_can_be_brought_in_elsewhere_and_overwrites_nothing(
    embedded: Runlore, other: Runlore, tmp_path: Path
) -> None:
    imported(embedded)
    tainted = embedded.fails("skill", "export", "tidy-up", "--to", str(tmp_path))
    embedded.json("skill", "accept", "tidy-up", "--force")

    written = embedded.json("skill", "export", "tidy-up", "--to", str(tmp_path))
    again = embedded.json("skill", "export", "tidy-up", "--to", str(tmp_path))
    path = Path(str(written["path"]))

    assert (tainted.code, "skill accept" in tainted.said) == ("skill.not-usable", True)
    assert path == tmp_path / "tidy-up" / "SKILL.md"
    assert again == written
    told = embedded.json("skill", "view", "tidy-up")
    assert path.read_text() == (embedded.home / "skills" / "tidy-up" / "SKILL.md").read_text()
    brought = other.json("skill", "import", str(path.parent))
    said = ("name", "description", "body", "topics", "actions", "version", "metadata", "allowed_tools")
    assert [brought[field] for field in said] == [told[field] for field in said]
    path.write_text("mine")
    assert embedded.fails("skill", "export", "tidy-up", "--to", str(tmp_path)).code == "export.exists"
    assert path.read_text() == "mine"
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    assert embedded.fails("skill", "export", "tidy-up", "--to", str(tmp_path)).code == "export.exists"
    assert not (tmp_path / "elsewhere").exists()
    assert embedded.fails("skill", "export", "tidy-up", "--to", "").code == "export.path"
    gone = str(embedded.json("skill", "delete", "tidy-up")["skill_id"])
    assert f"skill restore {gone}" in embedded.fails("skill", "export", gone).said
    embedded.json("skill", "restore", gone)
    assert embedded.fails("skill", "export", "tidy-up", "--to", "/dev/null/x").exit_code == 3


@pytest.mark.req("SKL-9")
def test_curation_tells_each_action_with_its_reason_and_how_to_undo_it(embedded: Runlore) -> None:
    queue(embedded, False)
    embedded.json("skill", "save", "procedure-0")
    file = embedded.home / "skills" / "procedure-0" / "SKILL.md"
    before = (embedded.json("skill", "view", "procedure-0"), file.read_bytes())
    embedded.json("skill", "skip", "procedure-0")

    told, done = embedded.text("skill", "curate"), embedded.text("skill", "curate", "--apply")
    curation = embedded.items("skill", "curations")[0]["curation_id"]
    assert not file.exists()
    undone = embedded.text("skill", "undo", curation)

    assert "procedure-0" in told
    assert "runlore skill curate --apply" in told
    assert f"runlore skill undo {curation}" in done
    assert "procedure-0" in undone
    assert file.read_bytes() == before[1]
    assert {**embedded.json("skill", "view", "procedure-0"), "revision": 0} == {**before[0], "revision": 0}
    assert "undone" in embedded.text("skill", "curations")
    assert embedded.fails("skill", "undo").exit_code == 5


@pytest.mark.req("SKL-10")
def test_a_match_tells_the_score_and_its_reasons(embedded: Runlore) -> None:
    imported(embedded)
    assert embedded.text("skill", "match", "tidy the workspace") == "No skill fits.\n"
    embedded.json("skill", "accept", "tidy-up", "--force")

    shown = embedded.text("skill", "match", "tidy the workspace")
    [found] = embedded.items("skill", "match", "tidy the workspace")

    assert "tidy-up" in shown
    best_first = sorted(found["match"]["parts"], key=lambda part: -int(part["points"]))
    assert ", ".join(str(part["reason"]) for part in best_first) in shown
    assert f"{found['match']['score']:,}" in shown
    assert embedded.items("skill", "match", "zebra crossing") == []


@pytest.mark.req("SCO-4")
def test_the_skills_of_a_session_are_listed_alone(embedded: Runlore) -> None:
    imported(embedded)
    session = str(embedded.json("session", "create")["session_id"])

    assert names(embedded, "--session", session) == []
    embedded.json("skill", "accept", "tidy-up", "--force")
    assert names(embedded, "--session", session) == ["tidy-up"]
    assert embedded.fails("skill", "list", "--session", session, "--state", "deleted").code == "usage"


@pytest.mark.req("TNT-4")
@EVERY_TEXT
@pytest.mark.sampled(every=3)
def test_no_text_of_a_skill_moves_the_cursor_or_breaks_a_table(embedded: Runlore, name: str) -> None:
    text = HOSTILE[name]
    document = SkillDocument(
        name="tidy-up",
        description=text[:900],
        body=text,
        topics=(text[:64],),
        actions=(text[:64],),
        author=text[:1_000],
        license=text[:1_000],
        metadata={text[:40]: text[:3_000]},
    )
    skill = Skill(
        skill_id=SkillId("skl_1"),
        document=document,
        origin=SkillOrigin.IMPORTED,
        provenance=Provenance(untrusted=True, needs_review=True, sources=(text[:200],)),
        created_at=START,
        updated_at=START,
    )
    store_skill(embedded, skill)

    for columns in FRAMES:
        for words in (("list",), ("view", "tidy-up"), ("accept", "tidy-up")):
            shown = embedded.run("skill", *words, columns=columns)
            assert "tidy-up" in shown.out
            assert_harmless(shown.out)
            assert_harmless(shown.err)


def store_skill(runlore: Runlore, skill: Skill) -> None:
    """A skill as it stands in the store."""
    runlore.json("status")
    store = open_store(database_url=runlore.database_url, state_root=str(runlore.home))
    with closing(store), store.transaction() as tx:
        tx.skills.insert(skill)
