"""Addresses in arguments and commands: which there are, which of them are the user's own machine, and how
they are named as a source without what must not be kept."""

import re
from collections.abc import Iterator
from typing import Self

from runlore.domain.guard import first_secret
from runlore.domain.taint_sources.kinds import Brings, Outside, OutsideKind, Reading
from runlore.domain.text.excerpt import ELLIPSIS
from runlore.domain.text.safe_text import escape

SOURCE_CHARS_MAX = 300
# How much of a text is searched for addresses.
SEARCHED_CHARS_MAX = 65_536

_ADDRESS = re.compile(
    r"\b(?:https?|ftps?|sftp|ssh|git|wss?|s3|gs|rsync|ipfs|postgres(?:ql)?|mysql|mongodb(?:\+srv)?|rediss?|amqps?"
    r"|runlore)://[^\s\"'`<>|;]+",
    re.IGNORECASE,
)
# An address without a scheme that a program text is given: some endings files have as well, bare.
_BARE_ADDRESS = re.compile(
    r"(?:[a-z0-9-]{1,63}\.){1,6}(?:(?:com|org|net|edu|gov|xyz|info|example)|(?:io|dev|app|ai|co)(?=[:/]))"
    r"(?::\d{1,5})?(?:/\S*)?",
    re.IGNORECASE,
)
_HOST = re.compile(r"^[a-z][a-z0-9+.-]*://(?:[^/?#]*@)?(?P<host>\[[^\]]*\]|[^/?#:@\\]*)", re.IGNORECASE)
_SCP = re.compile(r"^(?:[\w.-]+@)[\w.-]+:(?!//)\S+$")
_LOOPBACK = re.compile(
    r"^(?:localhost|(?:[a-z0-9-]+\.)*localhost|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[::1\]|\[0(?::0){6}:1\])\.?$",
    re.IGNORECASE,
)
_CREDENTIALS = re.compile(r"(?<=://)[^/?#\s]*@")
# Where a secret stood. To a shell the mark would be two redirects, and to an address its end.
_GAP = re.compile(r"<redacted:([a-z0-9-]{1,60})>")
_GAP_AS_WORD = re.compile(r"redacted__([a-z0-9-]{1,60})__")
_TRAILING = ".,;:!?)]}'\""


def addresses_in(text: str) -> Iterator[str]:
    for found in _ADDRESS.finditer(text[:SEARCHED_CHARS_MAX]) if "://" in text else ():
        yield found[0].rstrip(_TRAILING)


def with_gaps_as_words(command: str) -> str:
    """A command whose gaps are words to a shell: what stands around them is then read as it was called."""
    return _GAP.sub(r"redacted__\1__", command) if "<redacted:" in command else command


def is_address(word: str) -> bool:
    """Whether a word is an address as a whole, `git@host:path` included."""
    if "://" in word and _ADDRESS.match(word) is not None:
        return True
    return "@" in word and _SCP.match(word) is not None


def bare_address(word: str) -> str:
    """The address that a word is without a scheme, or that stands so behind an option; else nothing."""
    told = word.partition("=")[2] if word.startswith("-") else word
    return told if _BARE_ADDRESS.fullmatch(told) else ""


def last_part(address: str) -> str:
    return address.partition("?")[0].rstrip("/").rpartition("/")[2].removesuffix(".git")


def is_own_machine(address: str) -> bool:
    """Whether an address names this machine by one of its fixed names, and nothing that only looks like it.

    A user part before the host is refused: in `http://localhost@example.org` the host is another one.
    """
    if "\\" in address or _CREDENTIALS.search(address):
        return False
    found = _HOST.match(address)
    return found is not None and _LOOPBACK.match(found["host"]) is not None


def source_name(name: str) -> str:
    """A source as it may be kept: one line, bounded, nothing hidden, and never a secret or its gap.

    A record with a gap in it is refused, so what looks like a secret is left out together with what is
    around it: first an address's query, then its path; in the end only the kind of thing is told.
    """
    text = _CREDENTIALS.sub("", _GAP_AS_WORD.sub(r"<redacted:\1>", escape(name.strip())))
    found = _HOST.match(text)
    shorter = [text, re.split(r"[?#]", text)[0]]
    if found:
        shorter += ["/".join(text.split("/")[:4]), found[0]]
    for each in shorter:
        bounded = each if len(each) <= SOURCE_CHARS_MAX else each[: SOURCE_CHARS_MAX - 1] + ELLIPSIS
        if bounded.strip() and first_secret(bounded) is None:
            return bounded
    return "an address that looks like it holds a secret" if found else "a name that looks like a secret"


# One is about a microsecond's work.
CALL_WORK_MAX = 262_144
RUN_WORK_MAX = 1_048_576
_COMMAND = 64
_WORD = 2
_TEXT = 4

MORE_THAN_IS_READ: Reading = (
    "more than is read",
    Outside(kind=OutsideKind.UNKNOWN_TOOL, brings=Brings.TEXT, why="it is too long to be read to its end"),
)


class ReadingBudget:
    """What may still be read. Once something did not fit, it is spent."""

    def __init__(self, work: int) -> None:
        self._all = work
        self._left = work

    @classmethod
    def of_call(cls) -> Self:
        return cls(CALL_WORK_MAX)

    @classmethod
    def of_run(cls) -> Self:
        """What all calls of a run may cost."""
        return cls(RUN_WORK_MAX)

    @property
    def used(self) -> int:
        return self._all - self._left

    @property
    def is_spent(self) -> bool:
        return self._left <= 0

    def spend(self, work: int) -> bool:
        """Take so much; whether there was as much."""
        self._left -= work
        return self._left >= 0

    def spend_chars(self, chars: int) -> bool:
        return self.spend(chars)

    def spend_command(self, words: int) -> bool:
        return self.spend(_COMMAND + _WORD * words)

    def spend_text(self) -> bool:
        """A text that is looked at and not parsed."""
        return self.spend(_TEXT)
