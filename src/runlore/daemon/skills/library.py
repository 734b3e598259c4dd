"""The library of skills of one Runlore: their rows, their files, and which of them fit a turn."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from runlore.daemon.search.saved_files import delete_file
from runlore.daemon.skills.file_fingerprints import (
    FileFingerprints,
    FileProblem,
    RefreshReport,
    load_seen,
    mark_of,
    save_seen,
    skipped_document,
)
from runlore.domain.errors import Refused, RunloreError, Unavailable
from runlore.domain.lazy import LazyModule, dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence

    from runlore.daemon.search.embedding_backend import Backend, BackendState
    from runlore.daemon.skills import choice, file_differences, file_sync, skill_cache, skill_vectors
    from runlore.daemon.skills.choice import SkillQuery
    from runlore.daemon.skills.file_differences import Differing
    from runlore.daemon.skills.skill_cache import ActiveSkills, SkillEngine
    from runlore.domain import skill as skills
    from runlore.domain.record import JsonValue
    from runlore.domain.records.audit import Act
    from runlore.domain.session import SessionId
    from runlore.domain.skill import Skill
    from runlore.flow.skills import library as skill_rows
    from runlore.flow.skills import promoted_use
    from runlore.ports import skill_files
    from runlore.ports.clock import Clock
    from runlore.ports.ids import Ids
    from runlore.ports.index import SkillSearch
    from runlore.ports.operations.library import FittingSkills
    from runlore.ports.skill_files import ReadSkill
    from runlore.ports.store import Collections, Store
    from runlore.skill_files.root import SkillRoot
else:
    choice = LazyModule("runlore.daemon.skills.choice")
    file_differences = LazyModule("runlore.daemon.skills.file_differences")
    file_sync = LazyModule("runlore.daemon.skills.file_sync")
    skill_cache = LazyModule("runlore.daemon.skills.skill_cache")
    skill_vectors = LazyModule("runlore.daemon.skills.skill_vectors")
    skills = LazyModule("runlore.domain.skill")
    promoted_use = LazyModule("runlore.flow.skills.promoted_use")
    skill_rows = LazyModule("runlore.flow.skills.library")
    skill_files = LazyModule("runlore.ports.skill_files")

SEEN_NAME = "skills.seen.json"
VECTORS_NAME = "skills.vectors"
_PROBLEMS_SHOWN = 20
_WRITABLE = "make the folder writable, then: runlore doctor --repair; the next start does it too"
# How old the last look at the files may be for a match: edits of files are no part of a turn.
_LOOKED_S = 2.0
# How long files are read and written before something is shown; what is left is done by the next who asks.
_FRESH_S = 2.0
_MATCHED_S = 0.2
# How long a command without a daemon makes vectors before it ends.
_EMBEDDED_LAST_S = 2.0


@dataclass(frozen=True, kw_only=True)
class LibraryParts:
    """What a library is made of. Without an embedding backend words decide alone."""

    store: Store
    files: SkillRoot
    engine: SkillEngine
    clock: Clock
    ids: Ids
    folder: str
    backend: Backend | None = None


class SkillLibrary:
    """Skills as rows and as files. Many threads may ask it; nothing that files do is ever fatal."""

    def __init__(self, parts: LibraryParts) -> None:
        self._parts = parts
        self._store = parts.store
        self._files = parts.files
        self._clock = parts.clock
        self._vectors_path = os.path.join(parts.folder, VECTORS_NAME)
        self._making = threading.Lock()
        # Made with their first use: many starts need neither.
        self._cache: skill_cache.SkillCache | None = None
        self._sync: file_sync.FileSync | None = None
        self._vectors: skill_vectors.SkillVectors | None = None
        if parts.backend is not None:
            self._vectors = skill_vectors.SkillVectors(
                parts.backend, parts.engine, self._vectors_path, store=parts.store, clock=parts.clock
            )
        self._seen_path = os.path.join(parts.folder, SEEN_NAME)
        self._seen: FileFingerprints | None = None
        self._problems: tuple[FileProblem, ...] = ()
        self._looked_at: float | None = None
        # The stamp of the rows that the files were last compared with.
        self._followed: int | None = None
        # One thread at a time compares files with rows; the others go on with what there is.
        self._looking = threading.Lock()
        self._was_asked = False

    @property
    def _shelves(self) -> skill_cache.SkillCache:
        with self._making:
            if self._cache is None:
                self._cache = skill_cache.SkillCache(self._parts.engine)
            return self._cache

    @property
    def _refreshing(self) -> file_sync.FileSync:
        with self._making:
            if self._sync is None:
                self._sync = file_sync.FileSync(
                    self._store,
                    self._files,
                    clock=self._clock,
                    ids=self._parts.ids,
                    active=lambda collections: self._shelves.current(collections).active,
                )
            return self._sync

    def begin(self, *, within_s: float) -> None:
        """Refresh at a start. Files of another store wait until somebody asks for skills where this one never
        had any: a backup may be about to be read in, and that needs an empty store."""
        if not self._awaits_its_rows():
            self.refresh(within_s=within_s)

    def refresh(self, *, within_s: float | None = None) -> RefreshReport:
        """Bring files and rows into agreement, in both directions; cheap where neither has changed since."""
        with self._looking:
            report = self._refresh_now(within_s)
            remarks = self.mirror_skips() if self._compare_skips(self._seen) else ()
        unlisted = (FileProblem(name=skill_files.SKIPPED_NAME, told=remark) for remark in remarks)
        return replace(report, problems=(*report.problems, *unlisted))

    def keep_fresh(self, *, age_s: float = 0.0, within_s: float = _FRESH_S) -> None:
        """Refresh where the last look is older than that, and nobody else is at it, as far as it goes in a
        time."""
        looked_at = self._looked_at
        if looked_at is not None and time.monotonic() - looked_at < age_s:
            return
        if self._looking.acquire(blocking=False):
            try:
                self._refresh_now(within_s)
            finally:
                self._looking.release()

    def warm(self) -> None:
        """Look at the files, and have the index ready before a turn asks for it."""
        if self._awaits_its_rows():
            return
        self.keep_fresh()
        with self._store.snapshot() as snapshot:
            shelf = self._shelves.current(snapshot)
        if shelf.usable:
            self._shelves.index(shelf)

    def look(self) -> tuple[Differing, ...]:
        """Where files and rows differ, without a change to either."""
        return (*self._refreshing.look(), *self._compare_skips())

    def project(self, skills: Iterable[Skill]) -> tuple[str, ...]:
        """Have the files of these follow their rows, after a transaction; what could not be done is told, and
        done by the next refresh."""
        changed = tuple(skills)
        problems = self._refreshing.project(changed)
        if self._vectors is not None and not all(skill.is_usable for skill in changed):
            self.let_go()
        self._problems = (*self._problems, *problems)
        return tuple(f"{problem.told}; {problem.hint}" for problem in problems)

    def keep_mirrored(self) -> tuple[str, ...]:
        """Write that list where it is not what is skipped by now; what could not be done is told."""
        return self.mirror_skips() if self._compare_skips() else ()

    def mirror_skips(self) -> tuple[str, ...]:
        """Write the list of skipped suggestions for people to read; what could not be done is told."""
        try:
            with self._store.snapshot() as snapshot:
                document = skipped_document(snapshot)
            self._files.mirror_skips(document)
        except RunloreError as error:
            return (f"{error.sentence}; {error.hint}",)
        return ()

    def read(self, text: str) -> ReadSkill:
        return self._files.read(text)

    def shelf(self, collections: Collections) -> ActiveSkills:
        return self._shelves.current(collections)

    def index(self) -> SkillSearch:
        with self._store.snapshot() as snapshot:
            shelf = self._shelves.current(snapshot)
        return self._shelves.index(shelf)

    @property
    def sends_elsewhere(self) -> bool:
        """Whether anything of a match leaves this machine."""
        return self._vectors is not None and not self._vectors.stays_here

    def match(self, turn: Callable[[Collections], SkillQuery]) -> FittingSkills:
        """The skills that fit a turn, which is read from the same snapshot as they are."""
        self.keep_fresh(age_s=_LOOKED_S, within_s=_MATCHED_S)
        with self._store.snapshot() as snapshot:
            asked = turn(snapshot)
            shelf = self._shelves.current(snapshot)
        self._was_asked = True
        found = choice.SkillChooser(self._shelves, self._vectors).fitting(asked, shelf)
        return self._as_stored(found, asked.session_id)

    def embed_some(self, *, within_s: float | None = None) -> bool:
        """Make some vectors that are missing; whether there are more to make."""
        if self._vectors is None:
            return False
        with self._store.snapshot() as snapshot:
            shelf = self._shelves.current(snapshot)
        if within_s is None:
            return self._vectors.make_some(shelf)
        return self._vectors.make_some(shelf, within_s=within_s)

    def embed_on_leaving(self) -> None:
        """What a command without a daemon does last, where it has matched: vectors for the next one."""
        until = time.monotonic() + _EMBEDDED_LAST_S
        while self._was_asked and (left := until - time.monotonic()) > 0:
            if not self.embed_some(within_s=left):
                return

    def save_on_leaving(self) -> None:
        """What a command without a daemon does last: what it has read of skills is kept for the next one."""
        if self._cache is not None:
            self._cache.save()

    def discard_saved(self) -> None:
        """Delete what is saved of words and vectors, before something that they were made of is forgotten."""
        self._shelves.discard()
        if self._vectors is not None:
            self._vectors.discard()
        else:
            # A backend that is set no more has left them.
            delete_file(self._vectors_path)

    def let_go(self) -> None:
        """Keep nothing of what was read: rows are others by now, or gone. Their vectors are erased."""
        self._shelves.let_go()
        if self._vectors is not None:
            with self._store.snapshot() as snapshot:
                shelf = self._shelves.current(snapshot)
            self._vectors.erase_all_but(shelf)

    def stamp(self) -> int:
        """Where the rows stand: another number after any change to them."""
        with self._store.snapshot() as snapshot:
            return snapshot.skills.stamp()

    def forget(self, *, since: int) -> None:
        """Let go of what was forgotten: where rows have changed since a stamp their files follow, and the
        list of what is skipped does. Unavailable says that one had to stay, for somebody wanted its words
        gone."""
        self.let_go()
        has_moved = self.stamp() != since
        unread = {problem.name for problem in self._problems if problem.is_stored}
        if has_moved:
            # What is told of problems with files may name what is forgotten.
            self._drop_seen()
        behind = _holding_old_words(self.look() if has_moved else self._compare_skips(), unread)
        # Another may change a skill and write its file meanwhile: whatever is behind is looked at twice.
        for _ in range(2):
            if not behind:
                return
            self.refresh()
            names = {each.name for each in behind}
            behind = [each for each in _holding_old_words(self.look(), unread) if each.name in names]
        if behind:
            raise Unavailable(
                f"the content is erased, and {behind[0].message}",
                code="skill.file-left",
                hint=behind[0].hint if behind[0].difference in file_differences.LEFT_ALONE else _WRITABLE,
            )

    def check_file(self, skill: Skill) -> None:
        """Have the file of a promoted skill say what its record says, whoever has changed it (ROL-9); Refused
        (`skill.file-foreign`) where something stands there that is not ours to change. A file that is missing
        and cannot be written binds nobody to anything."""
        if self._refreshing.says(skill):
            return
        self.project([skill])
        if not self._refreshing.says(skill, or_nothing=True):
            raise Refused(
                f"the folder of skill {skill.name} holds something else than the skill",
                code="skill.file-foreign",
                hint="`runlore doctor` tells what; move it away, and the skill is written there again",
            )

    def check_place(self, name: str) -> None:
        """Refuse a name whose folder holds what nobody of us has written, before a skill is mounted there."""
        found = self._files.find(name)
        if found is not None and (found.read is None or found.standing is skill_files.FileStanding.FOREIGN):
            raise Refused(
                f"the folder {name} in the skill root is somebody else's"
                + (f": {found.problem}" if found.problem else ""),
                code="skill.file-foreign",
                hint="move it away, or promote the procedure under another name",
            )

    def catch_up(self) -> None:
        """Have files follow where rows have changed since the last look, if there was one."""
        if self._followed is not None and self._followed != self.stamp():
            self.keep_fresh()

    def settle(self, name: str, act: Act, *, keep_file: bool) -> None:
        """End a doubt about the file of a skill as somebody says; see `FileSync.settle`."""
        self._refreshing.settle(name, act, keep_file=keep_file)
        self.refresh()

    def add_remarks(self, skills: Iterable[Skill]) -> Iterator[Skill]:
        """The skills, each with what was wrong with its file at the last look, and what to do about it."""
        wrong = {problem.name: f"{problem.told}; {problem.hint}" for problem in self._problems}
        for skill in skills:
            remark = wrong.get(skill.name, "") if skill.is_there else ""
            yield replace(skill, file_remark=remark) if remark else skill

    def problems(self) -> Sequence[FileProblem]:
        """What was wrong with files at the last look."""
        return self._problems

    def trouble(self) -> BackendState | None:
        """How the embedding backend fails; None where there is none, or where it works."""
        state = None if self._vectors is None else self._vectors.state()
        return None if state is None or state.is_working else state

    def describe(self, collections: Collections) -> dict[str, JsonValue]:
        counted = collections.skills.count()
        shelf = self._shelves.current(collections)
        problems = self._problems
        return {
            "active": len(shelf.active),
            "usable": len(shelf.usable),
            "needs_review": shelf.waiting,
            "by_state": {
                state.value: sum(number for (_, each), number in counted.items() if each is state)
                for state in skills.SkillState
            },
            "by_origin": {
                origin.value: counted.get((origin, skills.SkillState.ACTIVE), 0)
                for origin in skills.SkillOrigin
            },
            "files": {
                "problems": [problem.told for problem in problems[:_PROBLEMS_SHOWN]],
                "problem_count": len(problems),
            },
            "embedding": {"configured": False} if self._vectors is None else self._vectors.describe(shelf),
        }

    def close(self) -> None:
        """Let the embedding backend go, and save its vectors."""
        if self._vectors is not None:
            self._vectors.close()

    def _refresh_now(self, within_s: float | None) -> RefreshReport:
        until = None if within_s is None else time.monotonic() + within_s
        self._followed = self.stamp()
        now = self._seen_now()
        before = self._seen or load_seen(self._seen_path)
        self._looked_at = time.monotonic()
        if now is not None and before is not None and before.is_same(now):
            self._seen, self._problems = before, before.problems
            return RefreshReport(problems=before.problems)
        report = self._refreshing.refresh(until=until)
        self._problems = report.problems
        with suppress(Unavailable):
            self._drop_seen()
        if now is not None and report.has_settled and not report.has_changed:
            # Taken before the look: what somebody changed since is seen by the next one.
            self._seen = FileFingerprints(
                store=now.store, rows=now.rows, files=now.files, problems=report.problems
            )
            save_seen(self._seen_path, self._seen)
        return report

    def _awaits_its_rows(self) -> bool:
        """Whether there are files of another store, and this one never had a skill."""
        with self._store.snapshot() as snapshot:
            store, stamp = snapshot.records.position().store_id, snapshot.skills.stamp()
        if stamp:
            return False
        try:
            stores = {each.stored.store for each in self._files.scan() if each.stored is not None}
        except RunloreError:
            return False
        return bool(stores - {store})

    def _compare_skips(self, seen: FileFingerprints | None = None) -> tuple[Differing, ...]:
        """Whether the list of skipped suggestions is not what is stored; for none it need not be there. It is
        not opened where nothing has changed since it was `seen`."""
        with self._store.snapshot() as snapshot:
            document = skipped_document(snapshot)
        mark = mark_of(document)
        if seen is not None and seen.skipped == mark:
            return ()
        try:
            listed = self._files.read_mirrored_skips()
        except RunloreError:
            # Whoever looks at the files tells why.
            return ()
        if document != listed and (listed is not None or document["skipped"]):
            unlisted = file_differences.FileDifference.UNLISTED
            return (file_differences.Differing(name=skill_files.SKIPPED_NAME, difference=unlisted),)
        if seen is not None:
            self._seen = replace(seen, skipped=mark)
            save_seen(self._seen_path, self._seen)
        return ()

    def _drop_seen(self) -> None:
        self._seen = None
        delete_file(self._seen_path)

    def _seen_now(self) -> FileFingerprints | None:
        """Where files and rows stand, without a look into them; None where that cannot be told."""
        try:
            files = self._files.stamp()
            with self._store.snapshot() as snapshot:
                store, rows = snapshot.records.position().store_id, snapshot.skills.stamp()
        except RunloreError:
            return None
        return FileFingerprints(store=store, rows=rows, files=files) if files else None

    def _as_stored(self, found: FittingSkills, session_id: SessionId | None) -> FittingSkills:
        """The answer with the skills as they are by now; what became unusable meanwhile is left out."""
        with self._store.snapshot() as snapshot:
            now = self._clock.now()
            seen = [
                (item, skill)
                for item in found.items
                if (skill := promoted_use.as_seen(snapshot, item.skill, session_id=session_id, now=now))
            ]
            told = skill_rows.add_doubts(snapshot, [skill for _, skill in seen])
            items = (replace(item, skill=skill) for (item, _), skill in zip(seen, told, strict=True))
            return replace(found, items=tuple(items))


def _holding_old_words(differing: Iterable[Differing], unread: Container[str]) -> list[Differing]:
    """What may still say what was forgotten: a file that was not written anew yet, and one that nobody can
    read by what somebody made of it, where its skill is gone."""
    kinds = file_differences.FileDifference
    old = (kinds.STALE, kinds.LEFT_OVER, kinds.UNLISTED)
    return [
        each
        for each in differing
        if each.difference in old
        or (each.difference is kinds.REFUSED and each.row is None and each.name in unread)
    ]
