"""Managed copies of skills in folders where agents look for them; `plan_steps` says what is done with each.

What people put beside a copy stays. Folders that were made for the copies go with the last of them, if
nothing else is in them. No link is followed: neither the folder nor the one that it is in may be one.

What is to be done with each managed copy in a folder where an agent looks for skills.

A copy is ours where the list that the state root keeps of the folder (`mount_lists`) has it as it is, or
where the seal inside it is ours (`seal`): a list that is lost, or a project that is moved, gives nothing
away. What stands there decides:

| what stands in a wanted skill's folder | what is done |
| --- | --- |
| nothing | written; called a repair where the list has it |
| a copy of ours, as it was written | left as it is, or written anew where the skill has changed |
| a copy of ours that was changed and still bears the mark | put back; the changed text is kept beside it |
| a copy of ours that was changed and lost the mark | left: it is hand-written now |
| a copy of another state root | left |
| a skill that is not ours | left |
| a link, a pipe, a device | left |

A copy that is no longer wanted goes by the same rules, and so does one whose skill cannot be copied any more.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from hashlib import sha256

from runlore.domain import limits
from runlore.domain.errors import Invalid, NotFound, Refused, Unavailable
from runlore.domain.lazy import dataclass
from runlore.domain.suggesting.naming import is_reserved, is_valid_name
from runlore.domain.text.safe_text import escape
from runlore.ports.skill_files import Mounted, MountState
from runlore.skill_files.disk import Disk
from runlore.skill_files.folder import Folder, errors_of
from runlore.skill_files.manifest import Manifest, digest_of
from runlore.skill_files.mount_lists import Mark, MountLists, Seal

FILE = "SKILL.md"
_EDITED_OPENING = "SKILL.edited-"
_CHANGES = frozenset({MountState.WRITTEN, MountState.REPAIRED, MountState.REMOVED})
_NOT_OURS = "a skill of this name is there that Runlore did not write"
_NOT_OURS_ANY_MORE = "it was changed by hand and is no longer marked as managed: it is hand-written now"
_ANOTHERS = "the Runlore of another state root put a skill of this name there"
_BESIDE_NAMED = 3
# What a write that did not end leaves behind goes with the copy.
_ASIDE = f".{FILE}.new"


@dataclass(frozen=True, kw_only=True)
class WantedCopies:
    """The copies that shall be in a folder, as bytes; the skills that cannot be copied, with the reason; and
    what tells our copies from those of others."""

    seal: Seal
    copies: Mapping[str, bytes]
    refused: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class MountStep:
    """What is to be done with one skill: what stands there, what is wanted, and if somebody changed it."""

    mounted: Mounted
    there: bytes | None = None
    wanted: bytes | None = None
    is_edited: bool = False

    @property
    def is_change(self) -> bool:
        return self.mounted.state in _CHANGES


def plan_steps(
    target: Folder | None, path: str, wanted: WantedCopies, listed: Manifest
) -> tuple[MountStep, ...]:
    """The steps that make the copies in a folder the wanted ones, by name."""
    ours = () if target is None else _find_marked(target, wanted.seal)
    plan = _Plan(target, path, wanted, listed)
    steps = map(plan.step, sorted({*wanted.copies, *wanted.refused, *listed.written, *ours}))
    return tuple(step for step in steps if step is not None)


def edited_name(content: bytes) -> str:
    """Where the text of a copy is kept that somebody changed."""
    return f"{_EDITED_OPENING}{digest_of(content)[:8]}.md"


class _Plan:
    """What is wanted in one folder, against what stands there."""

    def __init__(self, target: Folder | None, path: str, wanted: WantedCopies, listed: Manifest) -> None:
        self._target, self._path = target, path
        self._wanted, self._listed = wanted, listed

    def step(self, name: str) -> MountStep | None:
        """What is to be done with one skill; None where there is nothing to say."""
        there = _looked_at(self._target, name)
        wanted = self._wanted.copies.get(name)
        refused = self._wanted.refused.get(name, "")
        if isinstance(there, str):
            return self._make_step(name, MountState.LEFT, there)
        if there is None:
            if wanted is None:
                return self._make_step(name, MountState.LEFT, refused) if refused else None
            is_missed = name in self._listed.written
            return self._make_step(
                name, MountState.REPAIRED if is_missed else MountState.WRITTEN, wanted=wanted
            )
        if there == wanted:
            return self._make_step(name, MountState.UNCHANGED, there=there, wanted=wanted)
        mark = self._wanted.seal.mark_of(name, there)
        is_as_written = mark is Mark.INTACT or self._listed.knows(name, there)
        is_edited = not is_as_written and mark is Mark.CHANGED and name in self._listed.written
        if not is_as_written and not is_edited:
            return self._not_ours(name, mark)
        reasons = [refused] if refused else []
        if is_edited:
            reasons.append(f"it was changed; the changed text is kept as {edited_name(there)}")
        if wanted is None:
            state = MountState.REMOVED
            reasons.extend(_beside(self._target, name))
        else:
            state = MountState.REPAIRED if is_edited else MountState.WRITTEN
        step = self._make_step(name, state, "; ".join(reasons), there=there, wanted=wanted)
        keeps_text = is_edited or any(_EDITED_OPENING in reason for reason in reasons)
        return replace(step, mounted=replace(step.mounted, keeps_text=keeps_text), is_edited=is_edited)

    def _not_ours(self, name: str, mark: Mark) -> MountStep:
        was_ours = mark is not Mark.ANOTHERS and name in self._listed.written
        never_ours = _ANOTHERS if mark is Mark.ANOTHERS else _NOT_OURS
        step = self._make_step(name, MountState.LEFT, _NOT_OURS_ANY_MORE if was_ours else never_ours)
        return replace(step, mounted=replace(step.mounted, keeps_text=was_ours))

    def _make_step(
        self,
        name: str,
        state: MountState,
        reason: str = "",
        *,
        there: bytes | None = None,
        wanted: bytes | None = None,
    ) -> MountStep:
        mounted = Mounted(name=name, folder=self._path, state=state, reason=reason)
        return MountStep(mounted=mounted, there=there, wanted=wanted)


def _find_marked(target: Folder, seal: Seal) -> Iterator[str]:
    """The copies that say themselves that they are ours, whatever the list says."""
    for name in target.names(limits.SKILL_FOLDERS_MAX):
        there = _looked_at(target, name) if is_valid_name(name) else None
        if isinstance(there, bytes) and seal.mark_of(name, there) is Mark.INTACT:
            yield name


def _looked_at(target: Folder | None, name: str) -> bytes | str | None:
    """What stands in a skill's folder; None where nothing does; a sentence where it is not to be touched."""
    if target is None:
        return None
    try:
        with target.child(name) as folder:
            if folder is not None:
                return folder.read(FILE, limits.SKILL_FILE_BYTES_MAX)
            return None if target.status(name) is None else "something that is no folder has its name"
    except (Invalid, Refused) as error:
        return error.sentence
    except PermissionError:
        return "what stands there cannot be read"


def _beside(target: Folder | None, name: str) -> Iterator[str]:
    """What stays in a skill's folder when the copy goes: changed texts that were kept, and others' files."""
    if target is None:
        return
    with target.child(name) as folder:
        names = [] if folder is None else folder.names(limits.SKILL_FOLDERS_MAX)
    others = [escape(f"{name}/{each}") for each in names if each not in (FILE, _ASIDE)]
    changed = [each for each in others if each.startswith(f"{name}/{_EDITED_OPENING}")]
    if changed:
        yield f"left {_join(changed)}, which somebody changed"
    if len(others) > len(changed):
        yield f"left {_join([each for each in others if each not in changed])}, which Runlore did not write"


def _join(names: list[str]) -> str:
    more = len(names) - _BESIDE_NAMED
    return f"{', '.join(names[:_BESIDE_NAMED])}{f' and {more:,} more' if more > 0 else ''}"


_OPEN_ATTEMPTS = 8


class FolderMounts:
    """Managed copies in folders of this machine where agents look for skills. What Runlore
    did not write is never touched."""

    def __init__(self, lists: MountLists, *, disk: Disk | None = None) -> None:
        self._lists = lists
        self._disk = disk or Disk()

    def sync(self, folder: str, skills: Mapping[str, str], *, dry_run: bool = False) -> tuple[Mounted, ...]:
        """Make the managed copies in a folder exactly these (name to file text): new ones written, drifted
        ones repaired, those that are no longer wanted removed, hand-written ones of the same name left."""
        path = _check_folder(folder)
        wanted = self._make_copies(skills, make=bool(skills) and not dry_run)
        with errors_of(path):
            if dry_run or not wanted.copies:
                return self._without_making(path, wanted, dry_run=dry_run)
            with self._open_target(path, make=True) as (_, target, made):
                if target is None:
                    raise _no_folder(os.path.dirname(path))
                return self._apply_plan(target, path, wanted, made)

    def clear(self, folder: str, *, dry_run: bool = False) -> tuple[Mounted, ...]:
        """Remove every managed copy from a folder, and the folder itself where it was made for them."""
        return self.sync(folder, {}, dry_run=dry_run)

    def stamp(self, folder: str) -> str:
        """A text that is another one after any change to a copy, without a look into the files."""
        path = _check_folder(folder)
        seen = sha256()
        with errors_of(path), self._open_target(path, make=False, shared=True) as (_, target, _made):
            for name in () if target is None else target.names(limits.SKILL_FOLDERS_MAX):
                for inner in (name, os.path.join(name, FILE)):
                    seen.update(f"{inner!r}{_seen_of(target, inner)}\n".encode())
        return seen.hexdigest()

    def _make_copies(self, skills: Mapping[str, str], *, make: bool) -> WantedCopies:
        """The copies as they shall be. What is wrong with one skill keeps no other from coming or going."""
        seal = Seal(self._lists.key(make=make))
        copies: dict[str, bytes] = {}
        refused: dict[str, str] = {}
        for name, text in skills.items():
            if not is_valid_name(name) or is_reserved(name):
                raise Invalid(
                    f"a skill cannot be called {name!r:.80}",
                    code="skill.name",
                    hint="use 1 to 64 small letters a-z, digits and single hyphens between them",
                )
            try:
                copies[name] = seal.copy(name, text)
            except Invalid as error:
                refused[name] = error.sentence
        return WantedCopies(seal=seal, copies=copies, refused=refused)

    def _without_making(self, path: str, wanted: WantedCopies, *, dry_run: bool) -> tuple[Mounted, ...]:
        with self._open_target(path, make=False, shared=dry_run) as (parent, target, _):
            listed = self._lists.read(path)
            if dry_run or target is None:
                if not dry_run:
                    self._lists.remove(path)
                return tuple(step.mounted for step in plan_steps(target, path, wanted, listed))
            mounted = self._apply_plan(target, path, wanted, ())
            if parent is not None and not self._lists.read(path).written:
                self._remove_made(path, parent, listed.made)
                self._lists.remove(path)
            return mounted

    def _apply_plan(
        self, target: Folder, path: str, wanted: WantedCopies, made: tuple[str, ...]
    ) -> tuple[Mounted, ...]:
        """Plan and do it. The list is written before the first file and after the last one."""
        listed = self._lists.read(path)
        steps = plan_steps(target, path, wanted, listed)
        changes = [step for step in steps if step.is_change]
        after = Manifest(
            written={
                step.mounted.name: (digest_of(step.wanted),) for step in steps if step.wanted is not None
            },
            made=tuple(dict.fromkeys((*listed.made, *made))),
        )
        if changes:
            self._lists.write(path, _pending(after, listed, changes))
        for step in changes:
            _apply(target, step)
        for name in set(listed.written) - {step.mounted.name for step in steps}:
            # It has no file: somebody removed it, or we died before the file was there or the folder was not.
            with target.child(name) as folder:
                if folder is not None:
                    folder.remove_aside(FILE)
            target.remove_empty(name)
        if changes or after != listed:
            self._lists.write(path, after)
        return tuple(step.mounted for step in steps)

    def _remove_made(self, path: str, parent: Folder, made: tuple[str, ...]) -> None:
        outer, inner = os.path.split(os.path.dirname(path))[1], os.path.basename(path)
        if inner in made and parent.remove_empty(inner) and outer in made:
            with self._base(path) as base:
                base.remove_empty(outer)

    @contextmanager
    def _open_target(
        self, path: str, *, make: bool, shared: bool = False
    ) -> Iterator[tuple[Folder | None, Folder | None, tuple[str, ...]]]:
        """The folder that holds the target, the target, locked, and which of the two were made for it."""
        outer, inner = os.path.split(os.path.dirname(path))[1], os.path.basename(path)
        made: list[str] = []
        for _ in range(_OPEN_ATTEMPTS):
            with ExitStack() as held:
                base = held.enter_context(self._base(path))
                parent = _enter(held, base, outer, made if make else None)
                target = None if parent is None else _enter(held, parent, inner, made if make else None)
                _refuse_what_is_no_folder(parent, target, base, (outer, inner))
                if target is not None and parent is not None:
                    target.lock(shared=shared)
                    is_reached = _is_there(parent, inner, target)
                else:
                    is_reached = not make
                if is_reached:
                    yield parent, target, tuple(dict.fromkeys(made))
                    return
                # Another process removed the folder between our making, our opening and our locking it.
        raise Unavailable(
            f"{path} is made and removed by another process all the time",
            code="skill.folder-locked",
            hint="try again when it is done",
        )

    @contextmanager
    def _base(self, path: str) -> Iterator[Folder]:
        """The home or the project, reached as its owner reaches it."""
        base = os.path.dirname(os.path.dirname(path))
        try:
            handle = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise _no_folder(base) from None
        try:
            yield Folder(self._disk, handle, base)
        finally:
            os.close(handle)


def _enter(held: ExitStack, within: Folder, name: str, made: list[str] | None) -> Folder | None:
    """A folder, held open; made where it is missing and there is a list to note that."""
    try:
        if made is not None and within.make(name):
            made.append(name)
    except FileNotFoundError:
        return None
    return held.enter_context(within.child(name))


def _pending(after: Manifest, listed: Manifest, changes: list[MountStep]) -> Manifest:
    """The list while files are being moved: each may still be what it was. What somebody changed is not ours
    meanwhile, or a crash would have it taken for ours."""
    written = {**listed.written, **after.written}
    for step in changes:
        ours = (None if step.is_edited else step.there, step.wanted)
        digests = tuple(dict.fromkeys(digest_of(content) for content in ours if content is not None))
        written[step.mounted.name] = digests or listed.written.get(step.mounted.name, ())
    return Manifest(written=written, made=after.made)


def _apply(target: Folder, step: MountStep) -> None:
    name = step.mounted.name
    if step.wanted is not None:
        target.make(name)
    with target.child(name) as folder:
        if folder is None:
            return

        def check_unchanged() -> None:
            if folder.read(FILE, limits.SKILL_FILE_BYTES_MAX) != step.there:
                raise Unavailable(
                    f"{folder.path} was changed by somebody at this moment",
                    code="skill.folder-moved",
                    hint="nothing was lost: try again",
                )

        if step.is_edited and step.there is not None:
            folder.write(edited_name(step.there), step.there)
        if step.wanted is not None:
            folder.write(FILE, step.wanted, checked=check_unchanged)
            return
        check_unchanged()
        folder.remove(FILE)
        folder.remove_aside(FILE)
    target.remove_empty(name)


def _seen_of(target: Folder | None, name: str) -> tuple[int, ...]:
    """What is told of a name without opening it."""
    try:
        status = None if target is None else target.status(name)
    except (NotADirectoryError, PermissionError):
        return ()
    if status is None:
        return ()
    return (status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _is_there(parent: Folder, name: str, target: Folder) -> bool:
    status = parent.status(name)
    return status is not None and os.path.samestat(status, os.fstat(target.handle))


def _refuse_what_is_no_folder(
    parent: Folder | None, target: Folder | None, base: Folder, names: tuple[str, str]
) -> None:
    """A file where a folder should be is not the same as nothing, or as a folder that was made just now."""
    outer, inner = names
    for within, name, opened in ((base, outer, parent), (parent, inner, target)):
        status = within.status(name) if within is not None and opened is None else None
        if within is not None and status is not None and not stat.S_ISDIR(status.st_mode):
            raise Refused(
                f"{os.path.join(within.path, name)} is not a folder",
                code="skill.mount-folder",
                hint="move it away, or choose another folder",
            )


def _check_folder(folder: str) -> str:
    parts = folder.split(os.sep)
    is_deep = len([part for part in parts if part]) > 1
    if not os.path.isabs(folder) or ".." in parts or "\0" in folder or not is_deep:
        raise Invalid(
            f"{folder!r:.200} is not the absolute path of a folder for skills",
            code="skill.mount-folder",
            hint="give the path of a folder such as `.agents/skills` in a home or a project",
        )
    return os.path.normpath(folder)


def _no_folder(path: str) -> NotFound:
    return NotFound(
        f"there is no folder {path}", code="skill.mount-folder", hint="make it, or choose another"
    )
