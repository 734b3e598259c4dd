"""The text as the rules see it: one character, one byte, and the way back to the original.

Full-width and other compatibility letters become plain ones, and characters that show nothing
are dropped, so that neither hides a secret. Characters outside Latin-1 stay what they are in
`text` and become one filler byte in `data`: positions agree in both, and RE2 reads plain bytes.
"""

import codecs
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, lru_cache
from typing import overload

from runlore.domain.lazy import dataclass

FILLER = "\xff"
EFFORT_MIN = 64_000
CHARS_A_STEP = 1
# A text of a megabyte costs no more than a second.
LONG_EFFORT_MIN = 280_000
LONG_CHARS_A_STEP = 16
ALLOWANCE = 120_000
ALLOWED_STEPS_A_CHAR = 0.4
NO_BOUND = 1 << 60
LETTERS_AND_DIGITS = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")

# Characters of other categories than "format" that are drawn as nothing at all.
INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_ASCII = bytes(range(0x80))
# A few characters are replaced faster one after the other.
_REPLACED_MAX = 32
LINE_ENDS = frozenset("\x85\u2028\u2029")
QUOTATION_MARKS = frozenset("\xab\xbb\u201c\u201d\u201e\u2039\u203a\u300c\u300d\u300e\u300f")


def _fill_unencodable(error: UnicodeError) -> tuple[bytes, int]:
    """One filler for each of the characters that have no byte."""
    assert isinstance(error, UnicodeEncodeError), "it is named below for encoding only"
    return FILLER.encode("latin-1") * (error.end - error.start), error.end


_FILLED = "runlore.filled"
codecs.register_error(_FILLED, _fill_unencodable)


class CharacterOrigins(Sequence[int]):
    """Where characters came from, worked out when it is asked for: most texts have nothing to be found."""

    def __init__(self, work_out: Callable[[], Sequence[int]]) -> None:
        self._work_out = work_out

    @cached_property
    def _places(self) -> Sequence[int]:
        return self._work_out()

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, at: int, /) -> int: ...
    @overload
    def __getitem__(self, at: slice, /) -> Sequence[int]: ...
    def __getitem__(self, at: int | slice, /) -> int | Sequence[int]:
        return self._places[at]


class Allowance:
    """What is spent on all texts of one body. Each brings a little more, so that many that people wrote are
    read, and many that are made to be judged are read as far as one long text of them is."""

    __slots__ = ("_brought", "_last", "_spent")

    def __init__(self) -> None:
        self._brought, self._spent = ALLOWANCE, 0
        self._last: Effort | None = None

    @property
    def spent(self) -> int:
        return self._spent + (self._last.spent if self._last else 0)

    @property
    def is_used_up(self) -> bool:
        return self.spent >= self._brought

    def charge(self, steps: int) -> None:
        self._spent += steps

    def open(self, effort: "Effort", chars: int) -> int:
        """What is left for a text that is read now: texts are read one after the other."""
        self._spent, self._last = self.spent, effort
        self._brought += int(chars * ALLOWED_STEPS_A_CHAR)
        return max(self._brought - self._spent, 0)


_ALLOWED: ContextVar[Allowance | None] = ContextVar("runlore.domain.guard.allowed", default=None)


@contextmanager
def one_allowance() -> Iterator[Allowance]:
    """All texts that are read inside are one body, and a part of the body that is read already."""
    allowance = _ALLOWED.get() or Allowance()
    token = _ALLOWED.set(allowance)
    try:
        yield allowance
    finally:
        _ALLOWED.reset(token)


@contextmanager
def apart() -> Iterator[None]:
    """What is found out inside is right for any body, so that it can be remembered: it is read whole, and
    charged to the body that asks."""
    outer, inner = _ALLOWED.get(), Allowance()
    token = _ALLOWED.set(inner)
    try:
        yield
    finally:
        _ALLOWED.reset(token)
        if outer is not None:
            outer.charge(inner.spent)


def is_used_up() -> bool:
    """Whether this body may cost no more."""
    allowance = _ALLOWED.get()
    return allowance is not None and allowance.is_used_up


class Effort:
    """How much is still spent on a text: so much for any, and more the longer it is.

    A text whose every word has to be judged, as no person writes it, is read as far as that goes. So are
    many such texts in one body: their effort comes out of one allowance.
    """

    __slots__ = ("_allowed", "_chars", "_for_runs", "_given", "left")

    def __init__(self, chars: int, *, share: int = 1) -> None:
        more = chars // LONG_CHARS_A_STEP
        self.left = self._given = 0
        allowance = _ALLOWED.get()
        self._allowed = NO_BOUND if allowance is None else allowance.open(self, chars if share == 1 else 0)
        self.left = min(EFFORT_MIN + chars // CHARS_A_STEP, LONG_EFFORT_MIN + more) // share
        self.left = min(self.left, self._allowed)
        self._given = self.left
        self._for_runs = (EFFORT_MIN // 4 + more) // share
        self._chars = chars

    @property
    def spent(self) -> int:
        return self._given - self.left

    def turn_to_runs(self) -> None:
        """Go on to the long runs. What they take is set apart: many names leave none of them unread."""
        spent = self.spent
        self.left = min(max(self.left, 0) // 2 + self._for_runs, self._allowed - spent)
        self._given = self.left + spent
        self._for_runs //= 2

    def for_reading_again(self) -> "Effort":
        """Half as much, for all that is read again of the same text."""
        return Effort(self._chars, share=2)


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """A folded text. `origin` holds where each character began in the original, and the end."""

    text: str
    lower: str
    data: bytes
    effort: Effort
    origin: Sequence[int] | None = None

    def continues_word(self, at: int) -> bool:
        """Whether what begins here is the end of a longer word."""
        return at > 0 and self.data[at - 1] in LETTERS_AND_DIGITS and self.data[at] in LETTERS_AND_DIGITS

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """Where a span of the view stands in the original, with anything dropped at its end."""
        if self.origin is None or start >= end:
            return start, end
        return self.origin[start], max(self.origin[end - 1] + 1, self.origin[end])


def view_of(text: str, effort: Effort | None = None) -> View:
    """The folded view of a text; plain ASCII is taken as it is."""
    effort = effort or Effort(len(text))
    if text.isascii():
        return View(text=text, lower=text.lower(), data=text.encode("ascii"), effort=effort)
    changed = {char: new for char in beyond_ascii(text) if (new := fold_character(char)) != char}
    if not changed:
        return view_from(text, None, effort)
    folded_text = _replace_characters(text, changed)
    if all(len(new) == 1 for new in changed.values()):
        return view_from(folded_text, None, effort)
    return view_from(folded_text, CharacterOrigins(lambda: _origin(text, changed)), effort)


def beyond_ascii(text: str) -> frozenset[str]:
    """The characters of a text that are not ASCII: of a long text these are few."""
    return frozenset(_without_ascii(text).decode("utf-8", "surrogatepass"))


def _without_ascii(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass").translate(None, _ASCII)


def _replace_characters(text: str, changed: Mapping[str, str]) -> str:
    if len(changed) > _REPLACED_MAX or not all(new.isascii() for new in changed.values()):
        return text.translate({ord(char): new for char, new in changed.items()})
    # Nothing that is put in is replaced again.
    for char, new in changed.items():
        text = text.replace(char, new)
    return text


def _origin(text: str, changed: Mapping[str, str]) -> list[int]:
    return [*(at for at, char in enumerate(text) for _ in changed.get(char, char)), len(text)]


def view_from(text: str, origin: Sequence[int] | None = None, effort: Effort | None = None) -> View:
    """A view of a text that is folded already; `origin` says where its characters came from."""
    lower = text.lower()
    if len(lower) != len(text):
        lower = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    return View(
        text=text, lower=lower, data=_one_byte_each(text), origin=origin, effort=effort or Effort(len(text))
    )


def _one_byte_each(text: str) -> bytes:
    # In a text that is mostly of such characters they stand in long rows.
    is_mostly = len(_without_ascii(text)) > len(text)
    others = () if is_mostly else [char for char in beyond_ascii(text) if char > FILLER]
    if is_mostly or len(others) > _REPLACED_MAX:
        return text.encode("latin-1", _FILLED)
    for char in others:
        text = text.replace(char, FILLER)
    return text.encode("latin-1")


@lru_cache(maxsize=4096)
def fold_character(char: str) -> str:
    """The plain form of one character; empty when the character shows nothing."""
    if char <= "\x7f":
        return char
    if char in LINE_ENDS:
        return "\n"
    if char in QUOTATION_MARKS:
        return '"'
    if unicodedata.category(char) == "Cf" or char in INVISIBLE or _is_variation_selector(char):
        return ""
    plain = unicodedata.normalize("NFKC", char)
    # A spacing accent becomes a space and a mark: that would break a word in two.
    return char if " " in plain and plain != " " else plain


def _is_variation_selector(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"
