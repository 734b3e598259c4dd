"""Plain copies of a folder, for a child agent where there is no repository, and what was changed in one.

Copied are files, folders, and links that lead to a place in the folder. Other links, pipes, sockets and
devices are left out and told, and so are git's own files and the copies of other agents. Texts are compared
in bounded time: where two have less in common than that, what lies between their equal ends is told as
replaced.

Removes a folder with all that is in it, whatever was put there: no link is followed, nothing is too deep.

A folder inside is first moved up to the top, so that neither the depth of a tree nor the number of open files
limits what can be removed. What its owner made unwritable is made writable again.
"""

import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

from runlore.agents.workspace.safe_paths import FILE_FLAGS, FOLDER_FLAGS, NEW_FLAGS, WORKTREES, folder_below
from runlore.domain import limits
from runlore.domain.errors import Refused
from runlore.domain.text.safe_text import escape

_LEFT_OUT = frozenset({".git", WORKTREES})
_READ_BYTES = 1024**2
_COMPARED_BYTES_MAX = 1024**2
_COMPARED_FILES_MAX = 2 * limits.WORKTREE_COPY_FILES_MAX
_DEPTH_MAX = 200


@dataclass(kw_only=True)
class Copied:
    """What a copy was made of: what each file was right after it was copied, and what is not there.

    `top` is the path of the original, for links that name it."""

    top: str
    files_max: int
    bytes_max: int
    files: dict[str, tuple[int, ...]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    folders: int = 0
    bytes: int = 0


def copy_tree(source: int, target: int, copied: Copied) -> None:
    """Copy what is in one opened folder into another, empty one. OSError; Refused (`worktree.large`)."""
    _copy_folder(source, target, (), copied)


def changes(copied: Copied, *, source: int, target: int) -> Iterator[str]:
    """The lines of a diff from the original to the copy, for what was changed in the copy."""
    now: dict[str, tuple[int, ...]] = {}
    _walk(target, (), now)
    for path in sorted(copied.files.keys() | now.keys()):
        if copied.files.get(path) == now.get(path):
            continue
        before = _content(source, path) if path in copied.files else None
        after = _content(target, path) if path in now else None
        yield from _file_diff(path, before, after)


def _copy_folder(source: int, target: int, at: tuple[str, ...], copied: Copied) -> None:
    with os.scandir(source) as entries:
        found = (entry.name for entry in entries if entry.name not in _LEFT_OUT)
        names = sorted(islice(found, copied.files_max + 1))
    for name in names:
        place = (*at, name)
        status = os.stat(name, dir_fd=source, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode) and len(at) < _DEPTH_MAX:
            os.mkdir(name, 0o700, dir_fd=target)
            copied.folders += 1
            with folder_below(source, (name,)) as from_, folder_below(target, (name,)) as to:
                _copy_folder(from_, to, place, copied)
                os.fchmod(to, stat.S_IMODE(os.fstat(from_).st_mode) & 0o777 | stat.S_IRWXU)
        elif stat.S_ISREG(status.st_mode):
            _copy_file(source, target, place, copied)
        elif stat.S_ISLNK(status.st_mode) and (link := _inside(source, place, copied.top)):
            os.symlink(link, name, dir_fd=target)
            copied.files["/".join(place)] = _stamp(os.stat(name, dir_fd=target, follow_symlinks=False))
        else:
            copied.left_out.append(escape("/".join(place)))
        if len(copied.files) + len(copied.left_out) + copied.folders > copied.files_max:
            raise _too_large(f"more than {copied.files_max:,} files and folders")


def _copy_file(source: int, target: int, place: tuple[str, ...], copied: Copied) -> None:
    file = os.open(place[-1], FILE_FLAGS, dir_fd=source)
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            copied.left_out.append(escape("/".join(place)))
            return
        _check_bytes(copied, status.st_size)
        new = os.open(place[-1], NEW_FLAGS, 0o600, dir_fd=target)
        try:
            while piece := os.read(file, _READ_BYTES):
                # It may grow while it is read.
                _check_bytes(copied, len(piece))
                copied.bytes += len(piece)
                left = memoryview(piece)
                while left:
                    left = left[os.write(new, left) :]
            os.fchmod(new, stat.S_IMODE(status.st_mode) & 0o777)
            copied.files["/".join(place)] = _stamp(os.fstat(new))
        finally:
            os.close(new)
    finally:
        os.close(file)


def _check_bytes(copied: Copied, more: int) -> None:
    if copied.bytes + more > copied.bytes_max:
        raise _too_large(f"more than {copied.bytes_max:,} bytes")


def _inside(source: int, place: tuple[str, ...], top: str) -> str:
    """Where a link leads, told from the link itself, where that is surely in the folder; else nothing.

    Upwards only at its beginning: behind another link, `..` would lead who knows where."""
    *at, name = place
    leads = os.readlink(name, dir_fd=source)
    if os.path.isabs(leads):
        if not leads.startswith(f"{top}/"):
            return ""
        leads = os.path.relpath(leads, os.path.join(top, *at)) if ".." not in leads.split("/") else ""
    parts = [part for part in leads.split("/") if part not in ("", ".")]
    up = 0
    while up < len(parts) and parts[up] == "..":
        up += 1
    is_inside = up <= len(at) and ".." not in parts[up:]
    return leads if parts and is_inside else ""


def _walk(folder: int, at: tuple[str, ...], found: dict[str, tuple[int, ...]]) -> None:
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in islice(entries, _COMPARED_FILES_MAX))
    for name in names:
        if name in _LEFT_OUT or len(found) > _COMPARED_FILES_MAX:
            continue
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode):
            found["/".join((*at, name))] = _stamp(status)
        elif len(at) < _DEPTH_MAX:
            with folder_below(folder, (name,)) as below:
                _walk(below, (*at, name), found)


def _content(folder: int, path: str) -> str | bytes | None:
    """A file's text; where a link leads, as text; None where it is gone; no bytes where it is no text."""
    parts = tuple(path.split("/"))
    try:
        with folder_below(folder, parts[:-1]) as handle:
            status = os.stat(parts[-1], dir_fd=handle, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                return os.readlink(parts[-1], dir_fd=handle)
            if not stat.S_ISREG(status.st_mode) or status.st_size > _COMPARED_BYTES_MAX:
                return b""
            file = os.open(parts[-1], FILE_FLAGS, dir_fd=handle)
            try:
                content = os.read(file, _COMPARED_BYTES_MAX + 1)
            finally:
                os.close(file)
        text = content.decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError):
        return b""
    return b"" if "\0" in text else text


def _file_diff(path: str, before: str | bytes | None, after: str | bytes | None) -> Iterator[str]:
    shown = escape(path)
    old_name = "/dev/null" if before is None else f"a/{shown}"
    new_name = "/dev/null" if after is None else f"b/{shown}"
    if isinstance(before, bytes) or isinstance(after, bytes):
        yield f"Binary files {old_name} and {new_name} differ\n"
    elif before is None or after is None or before != after:
        yield f"diff --git a/{shown} b/{shown}\n"
        if before is None or after is None:
            yield "new file\n" if before is None else "deleted file\n"
        yield from unified_diff(before or "", after or "", old_name=old_name, new_name=new_name)


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _too_large(why: str) -> Refused:
    return Refused(
        f"the working folder holds {why}, and it is no repository that git can make a worktree of",
        code="worktree.large",
        hint="make it a git repository with a commit, or work in a smaller folder",
    )


_EDITS_MAX = 400
_CONTEXT = 3
_NO_END = "\\ No newline at end of file\n"


def unified_diff(old: str, new: str, *, old_name: str, new_name: str) -> Iterator[str]:
    """The lines of a unified diff; none where the texts are equal."""
    if old == new:
        return
    yield f"--- {old_name}\n"
    yield f"+++ {new_name}\n"
    before, after = _lines(old), _lines(new)
    for hunk in _hunks(edits(before, after)):
        old_lines = sum(sign != "+" for sign, _, _ in hunk)
        new_lines = sum(sign != "-" for sign, _, _ in hunk)
        _, old_at, new_at = hunk[0]
        yield f"@@ -{_range(old_at, old_lines)} +{_range(new_at, new_lines)} @@\n"
        for sign, old_at, new_at in hunk:
            line = after[new_at] if sign == "+" else before[old_at]
            yield sign + line if line.endswith("\n") else f"{sign}{line}\n{_NO_END}"


def edits(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, int, int]]:
    """What leads from one to the other: a sign (` `, `-`, `+`) for each line, and where it is in both."""
    head = _equal(before, after)
    tail = _equal(before[head:][::-1], after[head:][::-1])
    old_end, new_end = len(before) - tail, len(after) - tail
    middle = _path(before[head:old_end], after[head:new_end])
    lines = [(" ", at, at) for at in range(head)]
    if middle is None:
        lines += [("-", at, head) for at in range(head, old_end)]
        lines += [("+", old_end, at) for at in range(head, new_end)]
    else:
        lines += [(sign, old_at + head, new_at + head) for sign, old_at, new_at in middle]
    return lines + [(" ", old_end + at, new_end + at) for at in range(tail)]


def _path(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, int, int]] | None:
    """The shortest way from one to the other; None where it is too long to look for."""
    furthest = {1: 0}
    steps: list[dict[int, int]] = []
    for length in range(min(len(before) + len(after), _EDITS_MAX) + 1):
        steps.append(dict(furthest))
        for diagonal in range(-length, length + 1, 2):
            goes_down = diagonal == -length or (
                diagonal != length and furthest.get(diagonal - 1, -1) < furthest.get(diagonal + 1, -1)
            )
            old_at = furthest[diagonal + 1] if goes_down else furthest[diagonal - 1] + 1
            new_at = old_at - diagonal
            while old_at < len(before) and new_at < len(after) and before[old_at] == after[new_at]:
                old_at, new_at = old_at + 1, new_at + 1
            furthest[diagonal] = old_at
            if old_at >= len(before) and new_at >= len(after):
                return _walk_back(steps, len(before), len(after))
    return None


def _walk_back(steps: list[dict[int, int]], old_at: int, new_at: int) -> list[tuple[str, int, int]]:
    path: list[tuple[str, int, int]] = []
    for length in range(len(steps) - 1, -1, -1):
        furthest, diagonal = steps[length], old_at - new_at
        goes_down = diagonal == -length or (
            diagonal != length and furthest.get(diagonal - 1, -1) < furthest.get(diagonal + 1, -1)
        )
        old_from = furthest[diagonal + 1] if goes_down else furthest[diagonal - 1] + 1
        new_from = old_from - diagonal
        while old_at > old_from and new_at > new_from:
            old_at, new_at = old_at - 1, new_at - 1
            path.append((" ", old_at, new_at))
        if length:
            old_at, new_at = (old_at, new_at - 1) if goes_down else (old_at - 1, new_at)
            path.append(("+" if goes_down else "-", old_at, new_at))
    return path[::-1]


def _hunks(lines: list[tuple[str, int, int]]) -> Iterator[list[tuple[str, int, int]]]:
    """Changes with the lines around them; those that are near each other together."""
    start = end = -1
    for at, (sign, _, _) in enumerate(lines):
        if sign == " ":
            continue
        if start >= 0 and at - _CONTEXT > end:
            yield lines[start:end]
            start = -1
        if start < 0:
            start = max(0, at - _CONTEXT)
        end = min(len(lines), at + _CONTEXT + 1)
    if start >= 0:
        yield lines[start:end]


def _equal(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _lines(text: str) -> list[str]:
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _range(at: int, lines: int) -> str:
    if lines == 0:
        return f"{at},0"
    return str(at + 1) if lines == 1 else f"{at + 1},{lines}"


_OWNER = 0o700


def remove_tree(above: int, name: str) -> None:
    """Remove what a name in an opened folder stands for; nothing where there is nothing. OSError."""
    top = _open_writable(above, name)
    if top is None:
        return
    try:
        waiting = [""]
        while waiting:
            one = waiting.pop()
            folder = _open_writable(top, one) if one else os.dup(top)
            if folder is None:
                continue
            try:
                waiting += _empty(folder, top, is_top=not one)
            finally:
                os.close(folder)
            if one:
                os.rmdir(one, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(name, dir_fd=above)


def _empty(folder: int, top: int, *, is_top: bool) -> list[str]:
    """Remove the files of a folder, and move its folders up; the names that they have there."""
    moved: list[str] = []
    with os.scandir(folder) as entries:
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in found:
        if not is_folder:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
        elif is_top:
            moved.append(name)
        else:
            # A folder that its owner may not write cannot be moved either.
            below = _open_writable(folder, name)
            if below is not None:
                os.close(below)
                moved.append(secrets.token_hex(12))
                os.rename(name, moved[-1], src_dir_fd=folder, dst_dir_fd=top)
    return moved


def _open_writable(above: int, name: str) -> int | None:
    """A folder, made writable for its owner; what is none is removed instead."""
    try:
        status = os.stat(name, dir_fd=above, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISDIR(status.st_mode):
        os.unlink(name, dir_fd=above)
        return None
    if status.st_mode & _OWNER != _OWNER:
        open_up(above, name)
    return os.open(name, FOLDER_FLAGS, dir_fd=above)


def open_up(above: int, name: str) -> None:
    """Let the owner in again, through no link."""
    if os.chmod in os.supports_follow_symlinks:
        os.chmod(name, _OWNER, dir_fd=above, follow_symlinks=False)
        return
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=above)
    try:
        os.chmod(f"/proc/self/fd/{handle}", _OWNER)
    finally:
        os.close(handle)
