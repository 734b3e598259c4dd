"""Files against rows, both ways: what people wrote is taken in, what the rows say is written.

The row comes first and the file follows. Whatever goes wrong with one file is told and stops no other, and
nothing here is ever fatal: the next look tries again. Files are written and taken some at a time: what a
process that dies has not noted by then is found equal to its row by the next one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING

from runlore.daemon.skills.file_differences import (
    FILE_FOLLOWS,
    LEFT_ALONE,
    ROW_FOLLOWS,
    FileDifference,
    Rows,
    differences,
    is_cut,
    stored_as,
)
from runlore.daemon.skills.file_fingerprints import FileProblem, RefreshReport
from runlore.domain.batches import into_batches
from runlore.domain.errors import Conflict, Invalid, NotFound, Refused, RunloreError, Unavailable
from runlore.domain.lazy import LazyModule, dataclass
from runlore.domain.records.audit import DAEMON, Act
from runlore.domain.skill import SkillId
from runlore.domain.taint import Provenance
from runlore.flow.skills.library import every_skill, find_latest_deleted, take_in, text_of
from runlore.flow.skills.suggestion_lock import suggestions_turn
from runlore.ports.skill_files import FileStanding, SkillFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from runlore.daemon.skills.file_differences import Differing
    from runlore.domain.skill import Skill
    from runlore.flow.skills import saving, skill_provenance
    from runlore.ports.clock import Clock
    from runlore.ports.ids import Ids
    from runlore.ports.skill_files import FoundSkillFile, ReadSkill
    from runlore.ports.store import Collections, Store
    from runlore.skill_files.root import SkillRoot
else:
    saving = LazyModule("runlore.flow.skills.saving")
    skill_provenance = LazyModule("runlore.flow.skills.skill_provenance")

# A folder that cannot be written fails for every skill alike: so many are tried.
_FAILURES_MAX = 3
# So many files are written at a time, and what was read in is noted after so long: who saves a file again
# meanwhile has edited what is not known yet to be stored.
_TOGETHER_MAX = 100
_NOTED_AFTER_S = 0.2


@dataclass
class _Doing:
    """What has been done so far. `suspects` are the skills that nobody has vouched for, by their words;
    `taken` are the files whose texts are stored, and not noted yet to be ours."""

    suspects: Mapping[str, Provenance] = field(default_factory=dict)
    taken_in: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    problems: list[FileProblem] = field(default_factory=list)
    taken: list[SkillFile] = field(default_factory=list)
    taken_since: float = 0.0
    failures: int = 0
    is_changed: bool = False

    def fail(self, name: str, error: RunloreError) -> None:
        self.failures += isinstance(error, Unavailable)
        # What a file says is wrong until somebody writes it anew.
        lasts = isinstance(error, Invalid)
        self.problems.append(FileProblem(name=name, told=error.sentence, hint=error.hint, lasts=lasts))

    def leave(self, differing: Differing, *, lasts: bool) -> None:
        """Tell of a file that is left as it is."""
        hint = "the next look reads it in" if differing.difference in ROW_FOLLOWS else differing.hint
        is_stored = differing.row is not None
        self.problems.append(
            FileProblem(
                name=differing.name, told=differing.message, hint=hint, lasts=lasts, is_stored=is_stored
            )
        )

    def report(self, *, is_whole: bool) -> RefreshReport:
        return RefreshReport(
            taken_in=tuple(self.taken_in),
            written=tuple(self.written),
            removed=tuple(self.removed),
            problems=tuple(self.problems),
            is_whole=is_whole,
            has_changed=self.is_changed,
        )


class FileSync:
    """The skill root of one daemon, kept beside the rows of its store."""

    def __init__(
        self,
        store: Store,
        files: SkillRoot,
        *,
        clock: Clock,
        ids: Ids,
        active: Callable[[Collections], Iterable[Skill]],
    ) -> None:
        self._store = store
        self._files = files
        self._clock = clock
        self._ids = ids
        self._active = active
        # A file follows its row as it is at that moment: two who write the same one do so in turn.
        self._writing = threading.Lock()

    def look(self) -> tuple[Differing, ...]:
        """Where files and rows differ; Unavailable or Refused where the root cannot be read."""
        found = self._files.scan()
        with self._store.snapshot() as snapshot:
            return _compare(snapshot, found, self._active(snapshot))

    def refresh(self, *, until: float | None = None) -> RefreshReport:
        """Make them agree, as far as that goes before the moment `until` (of `time.monotonic`)."""
        doing = _Doing()
        try:
            differing = self.look()
        except RunloreError as error:
            problem = FileProblem(name="", told=error.sentence, hint=error.hint)
            return RefreshReport(problems=(problem,), is_whole=False)
        if any(each.difference in ROW_FOLLOWS and each.row is None for each in differing):
            with self._store.snapshot() as snapshot:
                doing.suspects = skill_provenance.suspects_among(every_skill(snapshot))
        return doing.report(is_whole=self._settle_all(differing, doing, until))

    def project(self, skills: Iterable[Skill]) -> tuple[FileProblem, ...]:
        """Write or remove the files of these, as their rows are by now; what could not be done."""
        names = list(dict.fromkeys(skill.name for skill in skills))
        doing = _Doing()
        try:
            found = self._files.find_all(names)
            with self._store.snapshot() as snapshot:
                rows = [row for name in names if (row := snapshot.skills.find(name)) is not None]
                differing = _compare(snapshot, found, rows)
        except RunloreError as error:
            return tuple(FileProblem(name=name, told=error.sentence, hint=error.hint) for name in names)
        for each in differing:
            if each.difference in ROW_FOLLOWS:
                doing.leave(each, lasts=False)
        self._settle_all([each for each in differing if each.difference not in ROW_FOLLOWS], doing, None)
        return tuple(doing.problems)

    def settle(self, name: str, act: Act, *, keep_file: bool) -> None:
        """End a doubt about the file of a skill as somebody says: its text is the skill's from now on, or the
        stored text is written again. Where there is no doubt nothing is done."""
        found = self._files.find_all([name])
        with self._store.snapshot() as snapshot:
            row = snapshot.skills.find(name)
            compared = () if row is None else _compare(snapshot, found, (row,))
        doubtful = [each for each in compared if each.difference in LEFT_ALONE]
        if any(each.difference is FileDifference.TAKEN for each in doubtful):
            raise Refused(doubtful[0].message, code="skill.file-foreign", hint=doubtful[0].hint)
        if doubtful and keep_file:
            failed = self._keep_file(doubtful[0], act)
        else:
            with self._writing:
                # What stands there is ours to replace, whoever wrote it: somebody has said so.
                failed = self._files.take_all([SkillFile(name=each.name, text=None) for each in doubtful])
                files = [_file(name, each.row, each.store) for each in doubtful]
                failed = failed or self._files.put_all(files)
        for error in failed.values():
            raise error

    def _keep_file(self, differing: Differing, act: Act) -> Mapping[str, RunloreError]:
        if differing.read is None:
            raise Invalid(
                f"{differing.message}; it cannot become the skill",
                code="skill.file-refused",
                hint=differing.hint,
            )
        row = self._take_in(differing, differing.read, _Doing(), act)
        stored = stored_as(row, differing.store)
        return self._files.take_all([SkillFile(name=row.name, text=differing.read.text, stored=stored)])

    def says(self, skill: Skill, *, or_nothing: bool = False) -> bool:
        """Whether the file of a skill says what the skill does, `or_nothing` where there may be none."""
        found = self._files.find(skill.name)
        if found is None:
            return or_nothing
        is_listed = found.standing is FileStanding.OURS
        return is_listed and found.read is not None and found.read.text == text_of(skill)

    def _settle_all(self, differing: Sequence[Differing], doing: _Doing, until: float | None) -> bool:
        """Do something about each of them; whether that came to the end."""

        def is_over() -> bool:
            is_late = until is not None and time.monotonic() >= until
            return is_late or doing.failures >= _FAILURES_MAX

        following: list[Differing] = []
        # What people wrote comes first: a name that they took is theirs.
        for each in sorted(differing, key=lambda each: each.difference not in ROW_FOLLOWS):
            if is_over():
                self._note(doing)
                return False
            if each.difference in LEFT_ALONE:
                doing.leave(each, lasts=True)
            elif each.difference in FILE_FOLLOWS:
                following.append(each)
            else:
                self._take(each, doing)
        self._note(doing)
        for together in into_batches(following, _TOGETHER_MAX):
            if is_over():
                return False
            self._follow(together, doing)
        return True

    def _take(self, differing: Differing, doing: _Doing) -> None:
        read, row = differing.read, differing.row
        assert read is not None, "what cannot be read is left alone"
        try:
            if differing.difference in ROW_FOLLOWS:
                act = Act(actor=DAEMON, at=self._clock.now(), reason="somebody has written its file")
                row = self._take_in(differing, read, doing, act)
                doing.taken_in.append(differing.name)
                doing.is_changed = True
        except RunloreError as error:
            doing.fail(differing.name, error)
            return
        assert row is not None, "a file is ours where a row says the same"
        now = time.monotonic()
        doing.taken_since = doing.taken_since if doing.taken else now
        stored = stored_as(row, differing.store)
        doing.taken.append(SkillFile(name=differing.name, text=read.text, stored=stored))
        if now - doing.taken_since >= _NOTED_AFTER_S:
            self._note(doing)

    def _note(self, doing: _Doing) -> None:
        """Have files be ours whose texts are stored."""
        taken, doing.taken = doing.taken, []
        if taken:
            failed = self._files.take_all(taken)
            doing.is_changed |= len(failed) < len(taken)
            for name, error in failed.items():
                doing.fail(name, error)

    def _take_in(self, differing: Differing, read: ReadSkill, doing: _Doing, act: Act) -> Skill:
        """Make a file's text the row's, where that is still the one that the file was compared with."""
        with self._store.transaction() as tx:
            suggestions_turn(tx)
            known = tx.skills.find(differing.name)
            if _revision(known) != _revision(differing.row):
                raise Conflict(
                    f"skill {differing.name} was changed while its file was read",
                    code="skill.moved",
                    hint="the file is left as it is, and looked at again",
                )
            if known is None and differing.difference is FileDifference.EDITED:
                # What somebody edited was a skill that is gone by now: whose words it has is known.
                known = find_latest_deleted(tx, differing.name)
                if known is not None and is_cut(read, known):
                    raise Invalid(
                        f"the file of skill {differing.name} is the beginning of one that is gone",
                        code="skill.file-cut",
                        hint="remove it, or, where it is meant to end there, give it a last line of its own",
                    )
            taking = saving.Saving(ids=self._ids, act=act)
            return take_in(tx, read, taking, known=known, written=differing.written, suspects=doing.suspects)

    def _follow(self, differing: Sequence[Differing], doing: _Doing) -> None:
        """Have the files of names say what their rows say at this moment."""
        names = [each.name for each in differing]
        overridden = {each.name for each in differing if each.overrides}
        with self._writing:
            try:
                with self._store.snapshot() as snapshot:
                    store = _store_of(snapshot)
                    rows = {name: snapshot.skills.find(name) for name in names}
            except RunloreError as error:
                doing.fail(names[0], error)
                return
            files = [_file(name, row, store) for name, row in rows.items()]
            failed = self._files.put_all([replace(f, overrides=f.name in overridden) for f in files])
        for name, row in rows.items():
            if name in failed:
                doing.fail(name, failed[name])
            else:
                (doing.removed if row is None else doing.written).append(name)
                doing.is_changed = True


def _compare(
    collections: Collections, found: Sequence[FoundSkillFile], active: Iterable[Skill]
) -> tuple[Differing, ...]:
    rows = tuple(active)
    by_id: dict[str, Skill] = {row.skill_id: row for row in rows}

    def find_known(skill_id: str) -> Skill | None:
        with suppress(NotFound):
            return by_id.get(skill_id) or collections.skills.get(SkillId(skill_id))
        return None

    return tuple(
        differences(
            found,
            Rows(
                store=_store_of(collections),
                active={row.name: row for row in rows},
                known=find_known,
                promoted=collections.promotions.names(),
            ),
        )
    )


def _file(name: str, row: Skill | None, store: str) -> SkillFile:
    if row is None:
        return SkillFile(name=name, text=None)
    return SkillFile(name=name, text=text_of(row), stored=stored_as(row, store))


def _store_of(collections: Collections) -> str:
    return collections.records.position().store_id


def _revision(skill: Skill | None) -> tuple[str, int] | None:
    return None if skill is None else (skill.skill_id, skill.revision)
