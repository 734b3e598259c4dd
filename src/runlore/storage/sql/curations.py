"""What curation did, in SQL that both databases run. The skills as they were stand among the texts that can
be emptied: what is forgotten is taken out of every curation that touched it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from runlore.domain.errors import Conflict, NotFound
from runlore.domain.record import JsonObject
from runlore.domain.serialization.codec import Plain, as_list, as_object, as_text, deserialize, serialize
from runlore.domain.skill import SkillId
from runlore.domain.skills.skill_curation import Curation, CurationId, without
from runlore.domain.text.safe_text import is_storable, make_storable
from runlore.domain.timestamps import format_time, from_milliseconds, to_milliseconds
from runlore.storage.sql import columns, texts
from runlore.storage.sql.session import Row, SqlCollection, writing

TABLE = texts.TextTable("curations", "curation", "curation_id at_ms actor undone_at_ms undone_by")
# What stands in the text; the rest are columns.
_IN_TEXT = ("actions", "before", "revisions", "comment")
_REVISION = ("skill_id", "revision")
_NEWEST = "ORDER BY c.at_ms DESC, c.curation_id DESC LIMIT ?"
_WAITING = "c.undone_at_ms IS NULL"
_AFTER = (
    "(c.at_ms < (SELECT at_ms FROM curations WHERE curation_id = ?)"
    " OR (c.at_ms = (SELECT at_ms FROM curations WHERE curation_id = ?) AND c.curation_id < ?))"
)
_ADD_SKILL = "INSERT INTO curation_skills (skill_id, curation_id) VALUES (?, ?) ON CONFLICT DO NOTHING"
_DELETE_SKILL = "DELETE FROM curation_skills WHERE skill_id = ?"
_OF_SKILLS = "SELECT DISTINCT curation_id FROM curation_skills WHERE skill_id IN ({ids}) ORDER BY curation_id"
_SKILLS = "SELECT skill_id FROM curation_skills WHERE curation_id = ?"
_LOCKED = "SELECT 1 FROM curations WHERE curation_id = ?"
_UNDONE = (
    "UPDATE curations SET undone_at_ms = ?, undone_by = ? WHERE curation_id = ? AND undone_at_ms IS NULL"
)


class SqlCurations(SqlCollection):
    """What curation did, kept so that each one can be undone."""

    def get(self, curation_id: CurationId) -> Curation:
        row = self._first(f"{TABLE.select} WHERE c.curation_id = ?", curation_id)
        if row is None:
            raise _not_found(curation_id)
        return _read(row)

    def latest(self) -> Curation | None:
        """The newest that was not undone, and of which anything is left that could be."""
        row = self._first(f"{TABLE.select} WHERE {_WAITING} {_NEWEST}", 1)
        while row is not None:
            found = _read(row)
            if found.before:
                return found
            after = (found.curation_id,) * 3
            row = self._first(f"{TABLE.select} WHERE {_WAITING} AND {_AFTER} {_NEWEST}", *after, 1)
        return None

    def list_undone(self, *, limit: int) -> tuple[Curation, ...]:
        """The newest of those that were undone."""
        sql = f"{TABLE.select} WHERE c.undone_at_ms IS NOT NULL {_NEWEST}"
        return tuple(map(_read, self._rows(sql, max(limit, 0))))

    def page(self, *, limit: int, after: CurationId | None = None) -> tuple[Curation, ...]:
        """The newest first, by when they were and by id."""
        if limit <= 0:
            return ()
        if after is None:
            return tuple(map(_read, self._session.rows(f"{TABLE.select} {_NEWEST}", (limit,))))
        last = make_storable(after)
        rows = self._session.rows(f"{TABLE.select} WHERE {_AFTER} {_NEWEST}", (last, last, last, limit))
        return tuple(map(_read, rows))

    def of_skills(self, skill_ids: Sequence[SkillId]) -> tuple[Curation, ...]:
        return tuple(map(self.get, self._touching(skill_ids)))

    def check(self, curation_id: CurationId) -> None:
        """Raise Corrupt when it cannot be read, or when forgetting would not find it by its skills."""
        touched = {skill.skill_id for skill in self.get(curation_id).before}
        if touched != {row[0] for row in self._session.rows(_SKILLS, (curation_id,))}:
            raise columns.damage_error(f"curation {curation_id}")

    @writing
    def insert(self, curation: Curation) -> None:
        ids = [skill.skill_id for skill in curation.before]
        columns.check_storable(curation.curation_id, curation.actor, curation.undone_by, *ids)
        self._session.make_room(freeing=False)
        if self._execute(TABLE.insert, (*columns.values_of(curation, TABLE.columns), 1)) != 1:
            raise Conflict(
                f"there is a curation {curation.curation_id} already",
                code="curation.exists",
                hint="look whether it is the one that was meant to be written",
            )
        skills = [(skill_id, curation.curation_id) for skill_id in ids]
        text = texts.insert_statement(TABLE.owner(curation.curation_id), 1, _text_of(curation))
        self._run((_ADD_SKILL, skills), text)

    @writing
    def mark_undone(self, curation_id: CurationId, *, actor: str, at: datetime) -> None:
        """Note that it was undone; Conflict (`curation.undone`) where it was before."""
        columns.check_storable(curation_id, actor)
        if self._execute(_UNDONE, (to_milliseconds(at), actor, curation_id)) == 1:
            return
        if not self._session.rows(_LOCKED, (curation_id,)):
            raise _not_found(curation_id)
        raise Conflict(
            f"curation {curation_id} was undone before",
            code="curation.undone",
            hint="`runlore skill curate` shows what would be done now",
        )

    @writing
    def forget(self, skill_ids: Sequence[SkillId]) -> None:
        """Take what is kept of forgotten skills out of every curation: that part cannot be undone then."""
        gone = frozenset(filter(is_storable, skill_ids))
        for curation_id in self._touching(gone):
            self._lock(_LOCKED, curation_id)
            left = without(self.get(curation_id), gone)
            owner = TABLE.owner(curation_id)
            revision, statements = texts.replace_statements(self._session, owner, _text_of(left))
            placed = (TABLE.place, [(revision, curation_id)])
            self._run(*statements, placed)
        self._execute(_DELETE_SKILL, *((skill_id,) for skill_id in sorted(gone)))

    def _touching(self, skill_ids: Iterable[SkillId]) -> list[CurationId]:
        return sorted({row[0] for row in self._rows_of(_OF_SKILLS, skill_ids)})


def _not_found(curation_id: str) -> NotFound:
    return columns.not_found(
        f"{curation_id!r:.80}", code="curation.not-found", hint="`runlore skill curations` shows them"
    )


def _read(row: Row) -> Curation:
    curation_id, at_ms, actor, undone_at_ms, undone_by = row[: len(TABLE.columns)]
    plain = texts.read(row)
    with columns.Readable(f"curation {curation_id}"):
        undone_at = columns.moment(undone_at_ms)
        read = deserialize(
            Curation,
            {
                **_in_present_form(plain),
                "curation_id": curation_id,
                "at": format_time(from_milliseconds(at_ms)),
                "actor": actor,
                "undone_at": None if undone_at is None else format_time(undone_at),
                "undone_by": undone_by,
            },
        )
        contents = as_object(plain["contents"])
        return replace(read, contents={key: as_text(digest) for key, digest in contents.items()})


def _text_of(curation: Curation) -> Plain:
    plain = serialize(curation)
    return {**{name: plain[name] for name in _IN_TEXT}, "contents": dict(curation.contents)}


def _in_present_form(plain: JsonObject) -> Plain:
    """What is kept; the first versions kept a skill's document whole, and revisions as pairs."""
    skills = map(as_object, as_list(plain["before"]))
    revisions = as_list(plain["revisions"])
    return {
        **plain,
        "before": [{**skill, **as_object(skill.get("document", {}))} for skill in skills],
        "revisions": [
            told if isinstance(told, Mapping) else dict(zip(_REVISION, as_list(told), strict=True))
            for told in revisions
        ],
    }
