"""Addresses in arguments and commands: which there are, which of them are the user's own machine, and how
they are named as a source without what must not be kept."""

import re
from collections.abc import Iterator

from runlore.domain.guard import first_secret
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
    """The addresses in a text, in order."""
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
