"""Managed copies of skills in folders where agents look for them; `mount_plan` says what is done with each.

What people put beside a copy stays. Folders that were made for the copies go with the last of them, if
nothing else is in them. No link is followed: neither the folder nor the one that it is in may be one.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from hashlib import sha256

from runlore.domain import limits
from runlore.domain.errors import Invalid, NotFound, Refused, Unavailable
from runlore.domain.suggesting.naming import is_reserved, is_valid_name
from runlore.ports.skill_files import Mounted
from runlore.skill_files.disk import Disk
from runlore.skill_files.folder import Folder, errors_of
from runlore.skill_files.manifest import Manifest, digest_of
from runlore.skill_files.mount_lists import MountLists
from runlore.skill_files.mount_plan import FILE, MountStep, WantedCopies, edited_name, plan_steps
from runlore.skill_files.seal import Seal

_OPEN_ATTEMPTS = 8


class FolderMounts:
    """`ports.skill_files.SkillMounts` in the folders of this machine, for one state root."""

    def __init__(self, lists: MountLists, *, disk: Disk | None = None) -> None:
        self._lists = lists
        self._disk = disk or Disk()

    def sync(self, folder: str, skills: Mapping[str, str], *, dry_run: bool = False) -> tuple[Mounted, ...]:
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
        return self.sync(folder, {}, dry_run=dry_run)

    def stamp(self, folder: str) -> str:
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
            _check_name(name)
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


def _check_name(name: str) -> None:
    if not is_valid_name(name) or is_reserved(name):
        raise Invalid(
            f"a skill cannot be called {name!r:.80}",
            code="skill.name",
            hint="use 1 to 64 small letters a-z, digits and single hyphens between them",
        )


def _no_folder(path: str) -> NotFound:
    return NotFound(
        f"there is no folder {path}", code="skill.mount-folder", hint="make it, or choose another"
    )
