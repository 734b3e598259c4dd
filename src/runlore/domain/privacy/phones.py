"""Phone numbers: international ones, and the national forms that are not plain numbers.

| form | example |
| --- | --- |
| a known country code behind a plus or 00 | `+4915112345678`, `+1 (212) 555-0123`, `0044 20 7946 0958` |
| North America, three signs alike | `212-555-0123`, `(212) 555-0123`, `1.212.555.0123` |
| a zero and 8 to 11 digits more, in groups | `06 12 34 56 78`, `030/1234567`, `020 7946 0958` |
| an area in brackets | `(11) 91234-5678`, `8 (912) 345-67-89` |
| a Chinese mobile number in groups | `138 1234 5678` |
| any in groups behind a word for it | `tel. 612 345 678`, `電話 5555 1234` |

A run of digits without signs between them is a number, unless a plus stands before it. Dates are none, nor is
a row of numbers, or a counted list.

Dates written with digits, which are no phone numbers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from runlore.domain.guard.patterns import compile_pattern
from runlore.domain.privacy.view import PersonalFinding, PersonalView

_YEAR, _MONTH, _DAY = rb"(?:19|20)\d{2}", rb"(?:0?[1-9]|1[0-2])", rb"(?:0?[1-9]|[12]\d|3[01])"
_SIGN = rb"[-./ ]"
_WHOLE = (
    rb"(?:" + _YEAR + _SIGN + _MONTH + _SIGN + _DAY + rb"|" + _DAY + _SIGN + _MONTH + _SIGN + _YEAR + rb"|"
    rb"" + _MONTH + _SIGN + _DAY + _SIGN + _YEAR + rb")\b"
)
_SHORT = (
    rb"(?:" + _DAY + _SIGN + _MONTH + rb"|" + _MONTH + _SIGN + _DAY + rb"|\d{2}" + _SIGN + _MONTH + rb")"
    rb"" + _SIGN + rb"\d{2}\b"
)
_START = rb"\+ ?\(?[1-9]|\(\+?\d{1,5}\) ?\d|\b\d{1,7}(?:[./-]| - | / | ?\(| )\d"
_RUN = rb"\d+(?:(?:\) ?|[ ./-]|\)[./-]| [-/] | ?\()\(?\d+)*"
_RUN_CHARS_MAX = 48
_NATIONAL_DIGITS, _TRUNK_DIGITS, _ANY_DIGITS = 10, range(9, 13), range(7, 16)
_SHORTEST, _LONGEST = 8, 15
_WORD_CHARS_MAX = 24
_COUNTED_MIN = 4
_GROUPS_MAX = 8
_ZIP_CODE = (5, 4)
_MAC_ADDRESS = (2,) * 6

# Country codes with the most digits that a number has, code included, where that is well known.
_DIGITS_MAX: Mapping[str, int] = {
    "1": 11, "7": 11, "30": 12, "31": 11, "32": 11, "33": 11, "34": 11, "36": 11, "40": 11, "41": 11,
    "44": 12, "45": 10, "46": 12, "47": 10, "48": 11, "61": 11, "64": 12, "65": 10, "81": 12, "82": 12,
    "86": 13, "90": 12, "91": 12, "351": 12, "353": 12, "358": 13, "380": 12, "420": 12, "972": 12,
}  # fmt: skip
_CODES_OF_ONE = frozenset("17")
# The first digit of codes of two, with the second ones; every other pair begins a code of three.
_CODES_OF_TWO: Mapping[str, str] = {
    "2": "07", "3": "0123469", "4": "013456789", "5": "12345678", "6": "0123456", "8": "1246", "9": "0123458",
}  # fmt: skip
_CODES_OF_THREE: Mapping[str, str] = {
    "2": "1234569", "3": "578", "4": "2", "5": "09", "6": "789", "8": "0578", "9": "679",
}  # fmt: skip
_WORDS = (
    *("tel", "tél", "phone", "phone number", "phone no", "telephone", "mobile", "cell", "fax", "whatsapp"),
    *("téléphone", "portable", "telefon", "handy", "mobil", "telefono", "teléfono", "cellulare", "celular"),
    *("móvil", "movil", "telefone", "telemóvel", "telefoon", "puhelin", "тел", "телефон", "τηλ", "τηλέφωνο"),
    *("هاتف", "电话", "手机", "電話", "携帯", "전화", "โทร", "फ़ोन", "फोन"),
)


def date_end(data: bytes, at: int) -> int:
    """Where a date that begins here ends; 0 when none does.

    Two digits for the year are enough only where nothing follows: `06.12.34.56.78` is no date.
    """
    whole = compile_pattern(_WHOLE).match(data, at)
    if whole:
        return whole.end()
    short = compile_pattern(_SHORT).match(data, at)
    if short is None:
        return 0
    end = short.end()
    goes_on = data[end : end + 1] == data[end - 3 : end - 2] and data[end + 1 : end + 2].isdigit()
    return 0 if goes_on else end


def find_phones(view: PersonalView) -> Iterator[PersonalFinding]:
    at = 0
    search = compile_pattern(_START).search
    while (start := search(view.data, at)) is not None:
        begin = start.start()
        end = 0
        if view.begins_alone(begin) and not _is_in_row(view, begin):
            if dated := date_end(view.data, begin):
                at = dated
                continue
            end = _end(view, begin)
        at = end or _behind_digits(view, begin)
        if end:
            yield PersonalFinding("phone", begin, end)


@dataclass(frozen=True, kw_only=True)
class _Run:
    """Groups of digits with the signs between them."""

    groups: tuple[str, ...]
    signs: tuple[str, ...]
    ends: tuple[int, ...]

    @property
    def digits(self) -> str:
        return "".join(self.groups)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(group) for group in self.groups)

    def first(self, count: int) -> "_Run":
        return _Run(groups=self.groups[:count], signs=self.signs[: count - 1], ends=self.ends[:count])


def _end(view: PersonalView, start: int) -> int:
    """Where the number that begins here ends; 0 when none does."""
    prefix = start
    while view.data[prefix : prefix + 1] in (b"+", b"(", b" "):
        prefix += 1
    run = _run(view, prefix)
    has_plus = b"+" in view.data[start:prefix]
    if has_plus:
        end = _international_end(run, run.digits)
    elif run.groups[0].startswith("00") and len(run.groups) > 1 and run.signs != (".",):
        end = _international_end(run, run.digits[2:], extra=2)
    else:
        end = _national_end(view, start, run)
    return end if end and view.ends_alone(end) else 0


def _run(view: PersonalView, start: int) -> _Run:
    """The groups from here to the end of the run, or to a date or a time in it."""
    match = compile_pattern(_RUN).match(view.data, start, min(len(view.data), start + _RUN_CHARS_MAX))
    assert match is not None, "a start has a digit"
    groups: list[str] = []
    signs: list[str] = []
    ends: list[int] = []
    at, done = start, start
    while at < match.end() and len(groups) <= _GROUPS_MAX:
        end = _behind_digits(view, at)
        is_apart = view.data[at - 1 : at] == b" "
        if groups and is_apart and (view.data[end : end + 1] == b":" or date_end(view.data, at)):
            break
        if groups:
            signs.append(view.text[done:at])
        groups.append(view.text[at:end])
        ends.append(end)
        done = at = end
        while at < match.end() and not view.is_digit(at):
            at += 1
    return _Run(groups=tuple(groups), signs=tuple(signs), ends=tuple(ends))


def _behind_digits(view: PersonalView, at: int) -> int:
    while at < len(view.data) and not view.is_digit(at):
        at += 1
    while view.is_digit(at):
        at += 1
    return at


def _international_end(run: _Run, digits: str, extra: int = 0) -> int:
    code = _country_code(digits)
    if code is None:
        return 0
    # `+49 (0)151 ...`: the zero is not dialled from abroad.
    most = _DIGITS_MAX.get(code, _LONGEST) + extra + (1 if "0" in run.groups else 0)
    count, total = 0, 0
    for group in run.groups:
        if total + len(group) > most:
            break
        count, total = count + 1, total + len(group)
    if total - extra < (_DIGITS_MAX["1"] if code == "1" else _SHORTEST):
        return 0
    if code == "1" and digits[1] in "01":
        return 0
    return run.ends[count - 1]


def _country_code(digits: str) -> str | None:
    if digits[:1] in _CODES_OF_ONE:
        return digits[:1]
    if digits[1:2] in _CODES_OF_TWO.get(digits[:1], ""):
        return digits[:2]
    return digits[:3] if digits[1:2] in _CODES_OF_THREE.get(digits[:1], "") else None


def _national_end(view: PersonalView, start: int, run: _Run) -> int:
    if len(run.groups) < 2:
        return 0
    if _is_told(view, start) and len(run.digits) in _ANY_DIGITS:
        return run.ends[-1]
    if end := _north_american_end(run):
        return end
    if _is_in_brackets(view, start, run) or _is_trunk(run) or _is_chinese(run):
        return run.ends[-1]
    return 0


def _north_american_end(run: _Run) -> int:
    lead = 1 if run.groups[0] == "1" else 0
    count = lead + 3
    wanted = run.first(count)
    if (
        wanted.shape[lead:] != (3, 3, 4)
        or wanted.groups[lead][0] in "01"
        or wanted.groups[lead + 1][0] in "01"
    ):
        return 0
    signs = [sign.strip(") (") or " " for sign in wanted.signs[lead:]]
    bracketed = ")" in wanted.signs[lead]
    alike = signs[0] == signs[1] and signs[0] in ("-", ".", " ")
    if not alike and not bracketed:
        return 0
    ends_there = len(run.groups) == count or (signs[1] != " " and run.signs[count - 1] == " ")
    return wanted.ends[-1] if ends_there else 0


def _is_in_brackets(view: PersonalView, start: int, run: _Run) -> bool:
    groups = run.groups
    if view.data[start : start + 1] != b"(":
        # The trunk digit of Russia and its neighbours: 8 (912) 345-67-89.
        return groups[0] == "8" and run.shape[1:] in ((3, 3, 2, 2), (3, 3, 4)) and "(" in run.signs[0]
    if ")" not in run.signs[0] or any(len(group) < 2 for group in groups):
        return False
    total = len(run.digits)
    if groups[0][0] == "0":
        return total in _TRUNK_DIGITS
    if len(groups[0]) == 2:
        return total in (_NATIONAL_DIGITS, _NATIONAL_DIGITS + 1) and len(groups) > 2
    return len(groups[0]) == 3 and total == _NATIONAL_DIGITS and len(groups) > 2


def _is_trunk(run: _Run) -> bool:
    first, *rest = run.groups
    if first[0] != "0" or not 2 <= len(first) <= 6 or first[1] == "0":
        return False
    if len(run.digits) not in _TRUNK_DIGITS or any(len(group) < 2 for group in rest):
        return False
    if (run.shape == _ZIP_CODE and run.signs == ("-",)) or run.shape == _MAC_ADDRESS:
        return False
    return len({sign.strip() for sign in run.signs[1:]}) <= 1 and not _is_counted(run.groups)


def _is_chinese(run: _Run) -> bool:
    first = run.groups[0]
    return (
        run.shape == (3, 4, 4)
        and first[0] == "1"
        and first[1] in "3456789"
        and set(run.signs) in ({" "}, {"-"})
    )


def _is_counted(groups: tuple[str, ...]) -> bool:
    """Whether it is a list such as 01 02 03 04 05."""
    numbers = [int(group) for group in groups]
    steps = {later - earlier for earlier, later in pairwise(numbers)}
    return len(groups) >= _COUNTED_MIN and len(steps) == 1


def _is_in_row(view: PersonalView, start: int) -> bool:
    """Whether a plain number stands before it, with a space between: a row of numbers is no phone number."""
    if view.data[max(0, start - 1) : start] != b" " or not view.is_digit(start - 2):
        return False
    at = start - 2
    while view.is_digit(at):
        at -= 1
    return at < 0 or not (view.is_word(at) or view.data[at] in b":-./>")


def _is_told(view: PersonalView, start: int) -> bool:
    before = view.text[max(0, start - _WORD_CHARS_MAX) : start].lower().rstrip(" :=#.\t\"'(")
    return before.endswith(_WORDS)
