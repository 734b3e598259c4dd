"""Curations: what each one did and how everything was before, kept byte for byte until it is forgotten."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlore.domain.errors import Conflict, Corrupt, Invalid, NotFound, RunloreError
from runlore.domain.serialization.codec import serialize
from runlore.domain.skill import Skill, SkillId
from runlore.domain.skills.skill_curation import Curation, CurationAction, CurationId, CurationKind, without
from runlore.ports.store import Store
from runlore.storage.sql.texts import replace_statements
from tests.examples import scaled
from tests.storage.kept_skills import curated, documented, kept, skills
from tests.storage.places import Place
from tests.storage.run_values import at, moments, texts

pytestmark = pytest.mark.req("SKL-9", "OPS-4")

COLUMNS_OF_SKILLS = (
    *("skill_id", "origin", "state", "state_actor", "merged_into", "suggestion_id", "source_run_id"),
    *("usage", "created_at", "updated_at", "revision"),
)
IDS = tuple(SkillId(f"skl_{number:02}") for number in range(4))
_ids = st.sampled_from(IDS)
curations = st.builds(
    Curation,
    curation_id=st.integers(0, 5).map(lambda number: CurationId(f"cur_{number}")),
    at=moments,
    actor=texts,
    actions=st.lists(
        st.builds(
            CurationAction,
            kind=st.sampled_from(CurationKind),
            gone=_ids,
            gone_name=texts,
            kept=st.none() | _ids,
            kept_name=texts,
            reason=texts,
        ),
        max_size=3,
    ).map(tuple),
    before=st.lists(skills, max_size=3, unique_by=lambda skill: skill.skill_id).map(tuple),
    revisions=st.lists(st.tuples(_ids, st.integers(1, 9)), max_size=3).map(tuple),
    comment=texts,
    contents=st.dictionaries(_ids, texts, max_size=2),
)


def outcome(act: Callable[[], object]) -> str:
    """The code of what an act is refused with."""
    try:
        act()
    except RunloreError as error:
        return error.code
    return ""


def insert(store: Store, *new: Curation) -> None:
    """Write new ones in a transaction of their own."""
    with store.transaction() as tx:
        for each in new:
            tx.curations.insert(each)


def test_after_any_acts_every_question_is_answered_as_by_brute_force(store: Store) -> None:
    model: dict[CurationId, Curation] = {}

    @settings(max_examples=scaled(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        new=st.lists(curations, max_size=2),
        undoing=st.none() | st.integers(0, 6).map(lambda number: CurationId(f"cur_{number}")),
        forgotten=st.just(frozenset[SkillId]()) | st.frozensets(_ids, max_size=1),
        limit=st.integers(-1, 4),
    )
    def holds(
        new: list[Curation], undoing: CurationId | None, forgotten: frozenset[SkillId], limit: int
    ) -> None:
        for each in new:
            ended = outcome(lambda each=each: insert(store, each))  # type: ignore[misc]
            assert ended == ("curation.exists" if each.curation_id in model else "")
            model.setdefault(each.curation_id, each)
        if undoing is not None:
            assert outcome(lambda: _undo(store, undoing)) == _undone(model, undoing)
        with store.transaction() as tx:
            tx.curations.forget([*forgotten, SkillId("\0")])
        for curation_id, each in model.items():
            if any(skill.skill_id in forgotten for skill in each.before):
                model[curation_id] = without(each, forgotten)
        newest = sorted(model.values(), key=lambda each: (each.at, each.curation_id), reverse=True)
        with store.snapshot() as snapshot:
            found = [snapshot.curations.get(each.curation_id) for each in newest]
            assert found == newest
            assert [each.contents for each in found] == [each.contents for each in newest]
            # What was forgotten stands in the way of nothing.
            waiting = [each for each in newest if each.undone_at is None and each.before]
            assert snapshot.curations.latest() == (waiting[0] if waiting else None)
            undone = [each for each in newest if each.undone_at is not None]
            assert list(snapshot.curations.list_undone(limit=limit)) == undone[: max(limit, 0)]
            assert list(snapshot.curations.page(limit=limit)) == newest[: max(limit, 0)]
            if newest:
                after = newest[len(newest) // 2].curation_id
                page = snapshot.curations.page(limit=9, after=after)
                assert list(page) == newest[len(newest) // 2 + 1 :]

    holds()
    assert store.problems() == ()


def _undo(store: Store, curation_id: CurationId) -> None:
    with store.transaction() as tx:
        tx.curations.mark_undone(curation_id, actor="ada", at=at(9))


def _undone(model: dict[CurationId, Curation], curation_id: CurationId) -> str:
    if curation_id not in model:
        return "curation.not-found"
    if model[curation_id].undone_at is not None:
        return "curation.undone"
    model[curation_id] = replace(model[curation_id], undone_at=at(9), undone_by="ada")
    return ""


def test_what_is_not_there_is_not_found(store: Store) -> None:
    insert(store, curated(1))
    with store.snapshot() as snapshot:
        for name in ("nobody", "\0"):
            with pytest.raises(NotFound) as refused:
                snapshot.curations.get(CurationId(name))
            assert refused.value.code == "curation.not-found"
        assert snapshot.curations.page(limit=9, after=CurationId("nobody")) == ()


def test_what_no_database_holds_is_refused(store: Store) -> None:
    wrong: Skill = kept(2, documented(body="\0"))
    for each in (
        curated(1, actor="\0"),
        curated(1, comment="\0"),
        curated(1, kept(1), wrong),
        curated(1, curation_id=CurationId("\0")),
    ):
        with pytest.raises(Invalid):
            insert(store, each)
    with store.snapshot() as snapshot:
        assert snapshot.curations.latest() is None


@pytest.mark.req("LRN-12")
def test_nothing_of_what_was_forgotten_stays_in_any_curation(store: Store, place: Place) -> None:
    words = kept(1, documented("zebra", body="zebra", description="zebra"), pattern="zebra")
    insert(store, curated(1, words, kept(2)), curated(2, kept(2), words), curated(3, kept(2), kept(3)))
    with store.transaction() as tx:
        tx.curations.forget([words.skill_id])

    tables = ("curations", "curation_skills", "texts")
    assert "zebra" not in str([place.sql(f"SELECT * FROM {table}") for table in tables])
    with store.snapshot() as snapshot:
        assert snapshot.curations.get(CurationId("cur_03")) == curated(3, kept(2), kept(3))
        assert snapshot.curations.get(CurationId("cur_01")).before == (kept(2),)
    assert store.problems() == ()


def test_a_row_of_the_first_form_is_read_as_the_same_curation(store: Store) -> None:
    curation = curated(1, contents={"skl_01": "digest"})
    insert(store, curation)
    now = serialize(curation)
    first: Any = {
        **{name: now[name] for name in ("actions", "comment")},
        "before": [
            {**serialize(skill.words), **{name: serialize(skill)[name] for name in COLUMNS_OF_SKILLS}}
            for skill in curation.before
        ],
        "revisions": [[skill_id, revision] for skill_id, revision in curation.revisions],
        "contents": dict(curation.contents),
    }
    with store.transaction() as tx:
        session: Any = vars(tx.curations)["_session"]
        revision, statements = replace_statements(session, "curation:cur_01", first)
        session.run(statements)
        session.rows(f"UPDATE curations SET text_revision = {revision} RETURNING 1", ())

    with store.snapshot() as snapshot:
        read = snapshot.curations.get(CurationId("cur_01"))
    assert (revision, read, read.contents) == (2, curation, curation.contents)


@pytest.mark.parametrize("damage", ["text_revision = 9", "curation_id = 'cur_x'"])
def test_a_damaged_row_is_told(store: Store, place: Place, damage: str) -> None:
    insert(store, curated(1))
    place.sql("DELETE FROM curation_skills")
    place.sql(f"UPDATE curations SET {damage}")

    with pytest.raises(Corrupt), store.snapshot() as snapshot:
        snapshot.curations.latest()
    assert any("cur_" in sentence for sentence in store.problems())


def test_undoing_twice_is_a_conflict_that_changes_nothing(store: Store) -> None:
    insert(store, curated(1))
    _undo(store, CurationId("cur_01"))
    with pytest.raises(Conflict) as refused, store.transaction() as tx:
        tx.curations.mark_undone(CurationId("cur_01"), actor="eve", at=at(10))
    assert refused.value.code == "curation.undone"
    assert refused.value.hint
    with store.snapshot() as snapshot:
        assert snapshot.curations.get(CurationId("cur_01")).undone_by == "ada"
