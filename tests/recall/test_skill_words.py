"""What was read of skills is kept in a file for the next process: whole, by the same rules, or not at all."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlore.config.settings import Settings
from runlore.daemon.wiring import WORDS_NAME, open_embedded
from runlore.domain.errors import Unavailable
from runlore.domain.record import RecordId
from runlore.domain.skill import SkillDocument
from runlore.domain.skill_matching import best_matches
from runlore.ports import operations as ops
from runlore.recall import skills
from runlore.recall.skills import SkillIndex, load_skill_words
from tests.domain.skill_matching.skill_documents import SHELF, numbered, shelves, skill, texts
from tests.storage.kept_skills import documented, kept
from tests.world import World

pytestmark = pytest.mark.req("SKL-10")

ASKED = ops.MatchRequest(query="build the xylophone")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=shelves, new=shelves, query=texts)
def test_what_is_read_back_changes_no_match(
    old: list[SkillDocument], new: list[SkillDocument], query: str, tmp_path: Path
) -> None:
    path = str(tmp_path / "index" / "skills.words")
    before = SkillIndex(numbered(old))
    before.save(path)
    skills = numbered([*new, *old])
    after = SkillIndex(skills, before=load_skill_words(path))
    assert after.match(query, limit=9) == best_matches(skills, query, limit=9)
    assert after.read_anew == SkillIndex(skills, before=before).read_anew <= len(new)


@given(place=st.integers(0, 10**6), flipped=st.integers(1, 255), cut=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_that_is_not_whole_is_absent(place: int, flipped: int, cut: bool, tmp_path: Path) -> None:
    path = tmp_path / "skills.words"
    SkillIndex(numbered(SHELF)).save(str(path))
    content = bytearray(path.read_bytes())
    at = place % len(content)
    content[at] ^= flipped
    path.write_bytes(bytes(content[:at] if cut else content))
    assert load_skill_words(str(path)) is None
    assert load_skill_words(str(tmp_path / "nothing")) is None


def test_a_file_of_other_rules_is_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "skills.words")
    with monkeypatch.context() as other:
        other.setattr(skills, "_rules", lambda: "other rules")
        SkillIndex(numbered(SHELF)).save(path)
        assert load_skill_words(path) is not None
    assert load_skill_words(path) is None


def test_where_it_cannot_be_written_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("no folder")
    with pytest.raises(Unavailable) as refused:
        SkillIndex(numbered([skill("one")])).save(str(tmp_path / "index" / "skills.words"))
    assert (refused.value.code, bool(refused.value.hint)) == ("index.save", True)


def test_a_command_keeps_what_it_read_and_forgetting_deletes_it(tmp_path: Path) -> None:
    settings = Settings(state_root=str(tmp_path / "home"))
    world = World(settings)
    run = world.finished("Build the xylophone")
    with world.parts.store.transaction() as tx:
        for number in range(10):
            tx.skills.insert(kept(number, documented(f"xylophone-{number}")))
    world.close()
    words = tmp_path / "home" / WORDS_NAME

    with open_embedded(settings) as operations:
        first = operations.match_skills(ASKED)
    assert b"xylophon" in words.read_bytes()
    written = words.stat().st_mtime_ns
    with open_embedded(settings) as operations:
        assert operations.match_skills(ASKED) == first
    assert words.stat().st_mtime_ns == written

    with open_embedded(settings) as operations:
        operations.forget(ops.Decision(record_id=RecordId(run.run_id)))
    assert not words.exists()
