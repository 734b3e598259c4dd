"""Fingerprints of words: how a text from outside is known again wherever it turns up (TNT-5).

Four words in a row are hashed, and so are addresses and hosts. Of every three such rows one is kept, that of
the smallest hash (winnowing), so that six words in a row that two texts share leave a hash in both. Rows of
short and everyday words are passed over, and so are lines of code without a few plain words: they would be
found anywhere. Case and punctuation do not matter.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import datetime
from hashlib import blake2b
from itertools import islice
from posixpath import join, normpath

from runlore.domain.lazy import dataclass
from runlore.domain.text.analysis import is_stop_word

WINDOW = 3
# How many folders around a file are asked after.
FOLDERS_MAX = 8
ROW_CHARS_MIN, TELLING_WORDS_MIN, TELLING_CHARS_MIN = 19, 2, 4
# How many characters of one text are read, and how many fingerprints of one run are kept and asked after.
READ_CHARS_MAX, FINGERPRINTS_PER_RUN_MAX = 200_000, 20_000
# A result from inside is from outside when so many fingerprints are known, a fifth of all; of a short
# statement one is enough.
SHORT_FINGERPRINTS_MAX, SHARED_MIN, SHARED_PART = 12, 3, 5

# A row that tells nothing: it is larger than any hash.
_NOTHING = 2**63
# One such sign in so many characters is still prose.
CHARS_A_CODE_SIGN = 40
_PROSE, _PLAIN_TOO, _CODE_ALONE = range(3)
_CODE = re.compile(r"[{}()\[\];=<>_|\\$&%@#~^]|\w[./:]\w|\d{3}")
# A line with so many plain words says something, whatever signs stand around them.
PLAIN_WORDS_MIN = 6
_PLAIN = re.compile(r"(?<!\S)[^\w\s]*[^\W\d_]{2,}[^\w\s]*(?!\S)")
_WORD = re.compile(r"[^\W_]+")
# Without a scheme only endings count that neither files nor members of objects have: `build.sh`, `self.app`.
_ADDRESS = re.compile(
    r"(?:(?:https?://(?:www\.)?|\bwww\.)((?:[a-z0-9-]{1,63}\.){1,6}[a-z]{2,24}\b)"
    r"|\b((?:[a-z0-9-]{1,63}\.){1,6}(?:com|org|xyz)\b))(/[^\s\"'<>)\]},]{0,200})?"
)
# What every address has, as a line without any shows at once.
_ADDRESS_MARKS = ("http", "www.", ".com", ".org", ".xyz")
_SENTENCE = re.compile(r"words first seen in (.+) on \d{4}-\d{2}-\d{2}")
# Everybody names these: they tell nothing of where a text is from.
_COMMON_HOSTS = frozenset(
    {
        *("github.com", "api.github.com", "raw.githubusercontent.com", "gitlab.com", "stackoverflow.com"),
        *("google.com", "docs.python.org", "developer.mozilla.org", "schema.org"),
        *("anthropic.com", "noreply.anthropic.com", "claude.com", "openai.com", "example.com"),
        *("npmjs.com", "crates.io", "docker.com", "hub.docker.com", "docs.docker.com"),
    }
)


@dataclass(frozen=True, kw_only=True)
class FirstSeen:
    """Where and when words were first read from outside."""

    source: str
    at: datetime

    @property
    def sentence(self) -> str:
        return f"words first seen in {self.source} on {self.at:%Y-%m-%d}"


def origin_in(source: str) -> str:
    """What a source comes from: itself, or where its words were first seen."""
    found = _SENTENCE.fullmatch(source)
    return found[1] if found else source


def fingerprint_text(text: str, *, is_whole: bool = False) -> frozenset[int]:
    """The fingerprints of a text; with `is_whole` those of every row, as a short text is asked after."""
    folded = _fold(text)
    told = _fingerprint(_passages(_judge_lines(folded), _PLAIN_TOO), is_whole=is_whole)
    return told | {*_addresses(folded)}


def fingerprint_inside(text: str, *, is_own: bool) -> tuple[frozenset[int], frozenset[int]]:
    """What a result from inside is asked after, where neither code nor an address decides; where it `is_own`,
    what it is known by as well, read once for both."""
    folded = _fold(text)
    lines = [*_judge_lines(folded, has_plain=is_own)]
    prose = [*_passages(lines, _PROSE)]
    inside = _fingerprint(prose)
    if not is_own:
        return inside, frozenset()
    told = [*_passages(lines, _PLAIN_TOO)]
    return inside, (inside if told == prose else _fingerprint(told)) | {*_addresses(folded)}


def _fold(text: str) -> str:
    text = text[:READ_CHARS_MAX]
    return (text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold()


def _fingerprint(passages: Iterable[str], *, is_whole: bool = False) -> frozenset[int]:
    kept: set[int] = set()
    for passage in passages:
        hashes = [*_rows(_WORD.findall(passage))]
        kept.update(hashes if is_whole or len(hashes) < WINDOW else map(min, hashes, hashes[1:], hashes[2:]))
    kept.discard(_NOTHING)
    return frozenset(kept)


def fingerprint_path(path: str, folder: str) -> int:
    """The fingerprint of a file, by its path; a relative one is of the working folder."""
    return _hash(f"file {_whole_path(path, folder)}")


def fingerprint_place(path: str, folder: str) -> tuple[int, ...]:
    """The same of a file and the folders that it is in, as far as they are of the working folder."""
    whole = _whole_path(path, folder)
    parts = whole.split("/")
    depth = (
        folder.rstrip("/").count("/") + 1 if whole.startswith(folder.rstrip("/") + "/") else len(parts) - 1
    )
    ends = range(len(parts), max(depth, len(parts) - FOLDERS_MAX), -1)
    return tuple(_hash(f"file {'/'.join(parts[:end])}") for end in ends)


def _whole_path(path: str, folder: str) -> str:
    return normpath(join(folder, path.removeprefix("file://")))


def _judge_lines(folded: str, *, has_plain: bool = True) -> Iterator[tuple[int, str]]:
    """Each line: code, paths and tables, which are the same in many places, or prose, or plain words too."""
    for line in folded.splitlines():
        if _is_prose(line):
            yield _PROSE, line
        elif has_plain and len(line.split(None, PLAIN_WORDS_MIN)) >= PLAIN_WORDS_MIN:
            yield _PLAIN_TOO if len(_PLAIN.findall(line)) >= PLAIN_WORDS_MIN else _CODE_ALONE, line
        else:
            yield _CODE_ALONE, line


def _is_prose(line: str) -> bool:
    """Whether a line has few signs of code; it is given up at the one that is too many."""
    most = len(line) // CHARS_A_CODE_SIGN
    if not most:
        return _CODE.search(line) is None
    return next(islice(_CODE.finditer(line), most, None), None) is None


def _passages(lines: Iterable[tuple[int, str]], most: int) -> Iterator[str]:
    """The lines in a row that say something."""
    prose: list[str] = []
    for kind, line in lines:
        if kind <= most:
            prose.append(line)
        elif prose:
            yield " ".join(prose)
            prose = []
    if prose:
        yield " ".join(prose)


def is_from_outside(fingerprints: frozenset[int], shared: int, *, is_statement: bool = False) -> bool:
    """Whether so many known fingerprints make a text one from outside."""
    if is_statement and len(fingerprints) <= SHORT_FINGERPRINTS_MAX:
        return shared >= 1
    return shared >= max(SHARED_MIN, len(fingerprints) // SHARED_PART)


def _rows(words: list[str]) -> Iterator[int]:
    tells = {word: len(word) >= TELLING_CHARS_MIN and not is_stop_word(word) for word in set(words)}
    for one, two, three, four in zip(words, words[1:], words[2:], words[3:], strict=False):
        if tells[one] + tells[two] + tells[three] + tells[four] < TELLING_WORDS_MIN:
            yield _NOTHING
            continue
        row = f"{one} {two} {three} {four}"
        yield _hash(row) if len(row) >= ROW_CHARS_MIN else _NOTHING


def _addresses(folded: str) -> Iterator[int]:
    marked = [line for line in folded.splitlines() if any(mark in line for mark in _ADDRESS_MARKS)]
    for found in _ADDRESS.finditer("\n".join(marked)):
        host, path = found[1] or found[2], (found[3] or "").rstrip("/.,;:")
        if host not in _COMMON_HOSTS:
            yield _hash(host)
        if path:
            yield _hash(host + path)


_BLANK = blake2b(digest_size=8, person=b"origin")


def _hash(text: str) -> int:
    hashed = _BLANK.copy()
    hashed.update(text.encode())
    return int.from_bytes(hashed.digest(), signed=True)
