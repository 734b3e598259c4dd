"""Skills, in SQL that both databases run.

What a learned skill says is taken from what was said in runs, its name too: it stands among the texts that
can be emptied, and the rows that are looked for hold digests. Usage is counted in the row, and is no change
of the skill: whoever writes one anew leaves it as it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from runlore.domain.errors import Conflict, NotFound
from runlore.domain.run import RunId
from runlore.domain.serialization.codec import deserialize, serialize
from runlore.domain.skill import (
    Skill,
    SkillEvent,
    SkillId,
    SkillOrigin,
    SkillState,
    SkillUse,
    SkillWords,
    SuggestionId,
    Usage,
    UseOutcome,
)
from runlore.domain.text.safe_text import make_storable
from runlore.storage.sql import columns, skill_log, skill_uses, texts
from runlore.storage.sql.curations import SqlCurations
from runlore.storage.sql.filters import Condition
from runlore.storage.sql.record_rows import digest
from runlore.storage.sql.session import Row, SqlCollection, SqlValue, id_chunks, writing

TABLE = texts.TextTable(
    "skills",
    "skill",
    "skill_id name origin state state_actor merged_into suggestion_id source_run_id"
    " created_at_ms updated_at_ms revision times_used last_used_at_ms succeeded failed",
)
_STANDING, _USAGE = TABLE.columns[2:-4], TABLE.columns[-4:]
_ACTIVE = f"{TABLE.select} WHERE s.state = 'active'"
_MERGED = (
    f"{TABLE.select} WHERE s.state = 'merged' AND s.name = ?"
    " ORDER BY s.updated_at_ms DESC, s.skill_id DESC LIMIT 1"
)
_OF_SUGGESTIONS = (
    f"{TABLE.select} WHERE s.skill_id IN"
    " (SELECT skill_id FROM skill_suggestions WHERE suggestion_id IN ({ids})) ORDER BY s.skill_id"
)
_NAMED = "SELECT 1 FROM skills WHERE state = 'active' AND name = ? AND skill_id <> ?"
_UPDATE = (
    f"UPDATE skills SET {', '.join(f'{column} = ?' for column in TABLE.columns[1:-4])} WHERE skill_id = ?"
)
_ADD_SOURCE = "INSERT INTO skill_suggestions (suggestion_id, skill_id) VALUES (?, ?) ON CONFLICT DO NOTHING"
_DELETE_SOURCES = "DELETE FROM skill_suggestions WHERE skill_id = ?"


class SqlSkills(SqlCollection):
    """The skills, learned, imported, hand-written and promoted, in one namespace."""

    def get(self, skill_id: SkillId) -> Skill:
        row = self._first(f"{TABLE.select} WHERE s.skill_id = ?", skill_id)
        if row is None:
            raise not_found(skill_id)
        return _read(row)

    def find(self, name: str) -> Skill | None:
        return self._read_first(_read, f"{_ACTIVE} AND s.name = ?", digest(make_storable(name)))

    def find_merged(self, name: str) -> Skill | None:
        """The latest skill of a name that was merged into another."""
        return self._read_first(_read, _MERGED, digest(make_storable(name)))

    def active(self) -> tuple[Skill, ...]:
        return tuple(sorted(map(_read, self._session.stream(_ACTIVE)), key=lambda skill: skill.name))

    def page(
        self, *, limit: int, after: SkillId | None = None, states: frozenset[SkillState] | None = None
    ) -> tuple[Skill, ...]:
        if limit <= 0:
            return ()
        asked = Condition().among("s.state", states).narrow("s.skill_id > ?", after)
        sql = f"{TABLE.select} WHERE {asked.sql} ORDER BY s.skill_id LIMIT ?"
        return tuple(map(_read, self._session.rows(sql, (*asked.parameters, limit))))

    def names(self) -> frozenset[str]:
        return frozenset(map(_name, self._session.stream(_ACTIVE)))

    def of_suggestions(self, suggestion_ids: Sequence[SuggestionId]) -> tuple[Skill, ...]:
        """The skills in which words of any of these stand, whatever their state, by id."""
        found = {
            skill.skill_id: skill for skill in map(_read, self._rows_of(_OF_SUGGESTIONS, suggestion_ids))
        }
        return tuple(found[skill_id] for skill_id in sorted(found))

    def count(self) -> dict[tuple[SkillOrigin, SkillState], int]:
        rows = self._session.rows("SELECT origin, state, count(*) FROM skills GROUP BY origin, state")
        return {(SkillOrigin(origin), SkillState(state)): number for origin, state, number in rows}

    def stamp(self) -> int:
        """A number that is another one after any change to any skill but its usage."""
        return skill_log.numbers(self._session)[0]

    def check(self, skill_id: SkillId) -> None:
        """Raise Corrupt when it cannot be read, when forgetting would not find it by what it was learned
        from, or when its uses are not those that were counted."""
        skill = self.get(skill_id)
        sql = "SELECT suggestion_id FROM skill_suggestions WHERE skill_id = ?"
        known = {row[0] for row in self._session.rows(sql, (skill_id,))}
        counted = skill_uses.count_usage(self._session, skill_id)
        if known != {each.suggestion_id for each in skill.learned_from} or counted != skill.usage:
            raise columns.damage_error(f"skill {skill_id}")

    @writing
    def insert(self, skill: Skill) -> None:
        """Write a new one; Conflict (`skill.exists`) when its id or its name is taken."""
        _check(skill)
        self._session.make_room(freeing=False)
        row = (skill.skill_id, *_values(skill), *_usage(skill.usage))
        if self._run(skill_log.STAMPED, (TABLE.insert, [(*row, 0)]))[1] != 1:
            raise _exists(skill.name)
        self._write_text(skill)

    @writing
    def update(self, skill: Skill, *, expected_revision: int) -> None:
        """Write its new state; Conflict (`skill.moved`) when it has moved, NotFound when it is gone, Conflict
        (`skill.exists`) when it is active under a name that is taken."""
        _check(skill)
        self._session.make_room(freeing=False)
        # Whoever takes the same name at once waits here, and sees it taken.
        self._run(skill_log.STAMPED)
        locked = self._lock(TABLE.lock, skill.skill_id)
        if locked is None:
            raise not_found(skill.skill_id)
        columns.check_revision(skill.skill_id, locked[0], expected=expected_revision, code="skill.moved")
        if skill.state is SkillState.ACTIVE and self._rows(_NAMED, digest(skill.name), skill.skill_id):
            raise _exists(skill.name)
        self._execute(_UPDATE, (*_values(skill), skill.skill_id))
        self._write_text(skill)

    @writing
    def delete(self, skill_ids: Sequence[SkillId]) -> None:
        """Delete skills whose evidence was forgotten, with their texts, their uses, their log's words, and
        what curations keep of them."""
        self._session.make_room(freeing=True)
        self._run(skill_log.STAMPED)
        SqlCurations(self._session).forget(skill_ids)
        for chunk in id_chunks(skill_ids):
            rows = [(skill_id,) for skill_id in chunk]
            # Whoever writes one of them has ended when its row is gone, and what it wrote is seen.
            self._execute(TABLE.delete, *rows)
            emptied = texts.erase_statement(self._session, map(TABLE.owner, chunk))
            unsaid = skill_log.erase_statement(self._session, skill_ids=chunk)
            unused = skill_uses.delete_statement(chunk)
            self._run((_DELETE_SOURCES, rows), unused, emptied, unsaid)

    @writing
    def use(self, use: SkillUse) -> bool:
        """Count a run that used a skill; False where it was counted before."""
        columns.check_storable(use.skill_id, use.run_id)
        self._session.make_room(freeing=False)
        if self._lock(TABLE.lock, use.skill_id) is None:
            raise not_found(use.skill_id)
        return skill_uses.count(self._session, use)

    def uses_of(self, run_ids: Sequence[RunId]) -> tuple[SkillUse, ...]:
        return skill_uses.of_runs(self._session, run_ids)

    @writing
    def settle_uses(self, run_id: RunId, outcome: UseOutcome) -> None:
        skill_uses.settle(self._session, run_id, outcome)

    @writing
    def forget_uses(self, run_ids: Sequence[RunId]) -> None:
        """Take back what forgotten runs used: what is counted of a skill is what the others used."""
        skill_uses.forget(self._session, run_ids)

    @writing
    def log(self, event: SkillEvent) -> SkillEvent:
        self._session.make_room(freeing=False)
        return replace(event, number=skill_log.add(self._session, event))

    def events(
        self, *, limit: int, before: int | None = None, skill_id: SkillId | None = None
    ) -> tuple[SkillEvent, ...]:
        return skill_log.page(self._session, limit=limit, before=before, skill_id=skill_id)

    @writing
    def forget_log(
        self, *, skill_ids: Sequence[SkillId] = (), suggestion_ids: Sequence[SuggestionId] = ()
    ) -> None:
        """Empty the names and reasons in the log's lines about these: words of what was forgotten."""
        statement = skill_log.erase_statement(
            self._session, skill_ids=skill_ids, suggestion_ids=suggestion_ids
        )
        self._run(statement)

    def _write_text(self, skill: Skill) -> None:
        """Write what it says, and what it was learned from. The id may have been another one's before."""
        owner = TABLE.owner(skill.skill_id)
        revision, statements = texts.replace_statements(self._session, owner, serialize(skill.words))
        sources = [(each.suggestion_id, skill.skill_id) for each in skill.learned_from]
        self._run(
            *statements,
            (TABLE.place, [(revision, skill.skill_id)]),
            (_DELETE_SOURCES, [(skill.skill_id,)]),
            (_ADD_SOURCE, sources),
        )


def not_found(name: str) -> NotFound:
    hint = (
        "`runlore skill list` shows the names, `runlore skill list --state deleted` and"
        " `runlore skill list --state merged` those that are gone"
    )
    return columns.not_found(f"{name!r:.80}", code="skill.not-found", hint=hint)


def _exists(name: str) -> Conflict:
    return Conflict(
        f"there is a skill called {name!r:.80} already",
        code="skill.exists",
        hint="choose another name, or change the one that is there",
    )


def _check(skill: Skill) -> None:
    ids = (each.suggestion_id for each in skill.learned_from)
    columns.check_storable(
        skill.skill_id, skill.name, skill.state_actor, skill.merged_into, skill.source_run_id, *ids
    )


def _values(skill: Skill) -> tuple[SqlValue, ...]:
    return (digest(skill.name), *columns.values_of(skill, _STANDING))


def _usage(usage: Usage) -> tuple[SqlValue, ...]:
    return usage.times, columns.milliseconds(usage.last_used_at), usage.succeeded, usage.failed


def _name(row: Row) -> str:
    document = texts.read(row).get("document")
    name = document.get("name") if isinstance(document, Mapping) else None
    if not isinstance(name, str) or digest(name) != row[1]:
        raise columns.damage_error(f"skill {row[0]}")
    return name


def _read(row: Row) -> Skill:
    plain = texts.read(row)
    with columns.Readable(f"skill {row[0]}"):
        said = deserialize(SkillWords, plain)
        if digest(said.document.name) != row[1]:
            raise ValueError("the row and its text do not agree")
        times, last_used_at_ms, succeeded, failed = row[2 + len(_STANDING) : len(TABLE.columns)]
        last_used_at = columns.moment(last_used_at_ms)
        return Skill(
            skill_id=SkillId(row[0]),
            document=said.document,
            text=said.text,
            provenance=said.provenance,
            pattern=said.pattern,
            also_from=said.also_from,
            usage=Usage(times=times, last_used_at=last_used_at, succeeded=succeeded, failed=failed),
            **columns.fields_of(Skill, _STANDING, row[2:]),
        )
