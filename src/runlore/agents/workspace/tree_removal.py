"""Removes a folder with all that is in it, whatever was put there: no link is followed, nothing is too deep.

A folder inside is first moved up to the top, so that neither the depth of a tree nor the number of open files
limits what can be removed. What its owner made unwritable is made writable again.
"""

import os
import secrets
import stat
from contextlib import suppress

from runlore.agents.workspace.safe_paths import FOLDER_FLAGS

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
        _open_up(above, name)
    return os.open(name, FOLDER_FLAGS, dir_fd=above)


def _open_up(above: int, name: str) -> None:
    """Let the owner in again, through no link."""
    if os.chmod in os.supports_follow_symlinks:
        os.chmod(name, _OWNER, dir_fd=above, follow_symlinks=False)
        return
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=above)
    try:
        os.chmod(f"/proc/self/fd/{handle}", _OWNER)
    finally:
        os.close(handle)
