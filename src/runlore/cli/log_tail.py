"""The end of a log file, and what is added to it, also when it is rotated meanwhile."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_BLOCK_BYTES = 1 << 16
_TAIL_BYTES_MAX = 64 << 20
_POLL_S = 0.2


@dataclass(frozen=True, kw_only=True)
class LogPosition:
    """How far a file was read: which file it was, and the byte after the last whole line."""

    inode: int
    position: int


@dataclass(frozen=True, kw_only=True)
class Tail:
    """The last lines, and where they end."""

    lines: list[str]
    end: LogPosition


def last_lines(path: str, number: int) -> Tail:
    with open(path, "rb") as file:
        end = start = file.seek(0, os.SEEK_END)
        text = b""
        while start and text.count(b"\n") <= number and len(text) < _TAIL_BYTES_MAX:
            start = max(0, start - _BLOCK_BYTES)
            file.seek(start)
            text = file.read(min(_BLOCK_BYTES, end - start - len(text))) + text
        inode = os.fstat(file.fileno()).st_ino
    whole = text[: text.rfind(b"\n") + 1]
    lines = _lines(whole)
    position = end - len(text) + len(whole)
    return Tail(lines=lines[-number:] if number else [], end=LogPosition(inode=inode, position=position))


def follow(
    path: str, place: LogPosition, *, wait: Callable[[float], None] = time.sleep
) -> Iterator[list[str]]:
    """Lines as they are added, for ever. A file that was replaced or cut is read from its beginning."""
    while True:
        lines, place = _read_added(path, place)
        if lines:
            yield lines
        else:
            wait(_POLL_S)


def _read_added(path: str, place: LogPosition) -> tuple[list[str], LogPosition]:
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            same = status.st_ino == place.inode and status.st_size >= place.position
            position = place.position if same else 0
            file.seek(position)
            text = file.read(_BLOCK_BYTES)
    except FileNotFoundError:
        return [], place
    whole = text[: text.rfind(b"\n") + 1] or (text if len(text) == _BLOCK_BYTES else b"")
    after = LogPosition(inode=status.st_ino, position=position + len(whole))
    return _lines(whole), after


def _lines(text: bytes) -> list[str]:
    """Only a line feed ends a line of a log; a text in it may hold what Python takes for other ends."""
    return text.decode(errors="replace").removesuffix("\n").split("\n") if text else []
