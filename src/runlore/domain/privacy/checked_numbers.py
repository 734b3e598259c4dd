"""Numbers that their shape and check digits tell apart from others: cards, IBANs, national ids.

A card has a known issuer and a length that it uses, an IBAN a known country and its length.

| where | shape | what is checked |
| --- | --- | --- |
| Belgium | `85.07.30-033.28` | date, mod 97 |
| Brazil | `529.982.247-25` | two check digits |
| China | 18 signs | birthday, ISO 7064 |
| Finland | `131052-308T` | day and month, check sign |
| France | 15 digits, grouped or not | month, key |
| Germany | `12 345 678 911` | one digit repeated, ISO 7064 |
| Italy | 16 letters and digits | shape, check letter |
| Korea | `900101-1234567` | birthday, sex and century |
| Mexico | 18 letters and digits | shape, check digit |
| Spain | `12345678Z`, `X1234567L` | check letter |
| Switzerland | `756.9217.0769.85` | check digit |
| United Kingdom | `AB 12 34 56 C` | letters that are given out |
| United States | `123-45-6789` | numbers that are given out |

Brazil's, Germany's and the United States' without signs between the digits count only behind their name (CPF,
Steuer-ID, SSN): so written they are plain numbers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from runlore.domain.guard.patterns import compile_pattern
from runlore.domain.privacy.view import PersonalFinding, PersonalView


def luhn(digits: bytes) -> bool:
    total = 0
    for index, byte in enumerate(reversed(digits)):
        value = byte - 0x30
        if index % 2:
            value = value * 2 - 9 if value > 4 else value * 2
        total += value
    return total % 10 == 0


def mod_97(text: str) -> int:
    """What is left of a number of digits and letters (A is 10) divided by 97."""
    rest = 0
    for character in text:
        value = int(character, 36)
        rest = (rest * (100 if value > 9 else 10) + value) % 97
    return rest


def weighted_sum(digits: str, weights: Sequence[int]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=True))


def mod_11_10(digits: str) -> bool:
    """ISO 7064, MOD 11,10, with the check digit last."""
    product = 10
    for digit in digits[:-1]:
        total = (int(digit) + product) % 10 or 10
        product = total * 2 % 11
    return (11 - product) % 10 == int(digits[-1])


_CARD_START = rb"\b[2-6]\d{3}(?:\d{9}|[ -]\d{4})"
_NUMBER = rb"\d{13,19}|\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{1,4}(?:[ -]\d{3})?|\d{4}[ -]\d{6}[ -]\d{4,5}"
_CHARS_MAX = 24

# From, to, and the lengths: the first digits are compared as a text.
ISSUERS: tuple[tuple[str, str, frozenset[int]], ...] = (
    ("2200", "2204", frozenset({16, 17, 18, 19})),
    ("2221", "2720", frozenset({16})),
    ("300", "305", frozenset({14, 16})),
    ("309", "309", frozenset({14, 16})),
    ("34", "34", frozenset({15})),
    ("3528", "3589", frozenset({16, 17, 18, 19})),
    ("36", "36", frozenset({14, 16})),
    ("37", "37", frozenset({15})),
    ("38", "39", frozenset({14, 16})),
    ("4", "4", frozenset({13, 16, 19})),
    ("50", "50", frozenset(range(13, 20))),
    ("51", "55", frozenset({16})),
    ("56", "58", frozenset(range(13, 20))),
    ("60", "69", frozenset(range(13, 20))),
)


def find_cards(view: PersonalView) -> Iterator[PersonalFinding]:
    at = 0
    search = compile_pattern(_CARD_START).search
    while (start := search(view.data, at)) is not None:
        begin = start.start()
        at = begin + 1
        # With a plus before it, it is somebody's phone number.
        if not view.begins_alone(begin) or view.data[max(0, begin - 1) : begin] == b"+":
            continue
        number = compile_pattern(_NUMBER).match(view.data, begin, begin + _CHARS_MAX)
        if number is None:
            continue
        end = number.end()
        if is_card(view.data[begin:end]) and view.ends_alone(end):
            yield PersonalFinding("card", begin, end)
            at = end


def is_card(written: bytes) -> bool:
    """Whether the digits, written with one kind of sign between them or none, are a card's number."""
    if b" " in written and b"-" in written:
        return False
    digits = written.replace(b" ", b"").replace(b"-", b"")
    text = digits.decode("ascii")
    issued = any(
        first <= text[: len(first)] <= last and len(text) in lengths for first, last, lengths in ISSUERS
    )
    return issued and luhn(digits) and len(set(text)) > 1


_IBAN_START = rb"\b[A-Za-z]{2}\d{2}[ -]?[A-Za-z0-9]{2}"
_GROUP = 4

LENGTHS: Mapping[str, int] = {
    **dict.fromkeys(("NO",), 15),
    **dict.fromkeys(("BE", "BI"), 16),
    **dict.fromkeys(("DK", "FI", "FO", "GL", "NL", "SD", "FK"), 18),
    **dict.fromkeys(("MK", "SI"), 19),
    **dict.fromkeys(("AT", "BA", "EE", "KZ", "LT", "LU", "XK", "MN"), 20),
    **dict.fromkeys(("CH", "HR", "LI", "LV"), 21),
    **dict.fromkeys(("BG", "BH", "CR", "DE", "GB", "GE", "IE", "ME", "RS", "VA"), 22),
    **dict.fromkeys(("AE", "GI", "IL", "IQ", "OM", "SO", "TL"), 23),
    **dict.fromkeys(("AD", "CZ", "ES", "MD", "PK", "RO", "SA", "SE", "SK", "TN", "VG"), 24),
    **dict.fromkeys(("LY", "PT", "ST"), 25),
    **dict.fromkeys(("IS", "TR"), 26),
    **dict.fromkeys(("BF", "FR", "GR", "IT", "MC", "MR", "SM", "DJ"), 27),
    **dict.fromkeys(("AL", "AZ", "BY", "CI", "CY", "DO", "GT", "HN", "HU", "LB", "NI", "PL", "SN", "SV"), 28),
    **dict.fromkeys(("BR", "EG", "PS", "QA", "UA"), 29),
    **dict.fromkeys(("JO", "KW", "MU", "YE"), 30),
    **dict.fromkeys(("MT", "SC"), 31),
    "LC": 32,
    "RU": 33,
}


def find_ibans(view: PersonalView) -> Iterator[PersonalFinding]:
    at = 0
    search = compile_pattern(_IBAN_START).search
    while (start := search(view.data, at)) is not None:
        begin = start.start()
        end = _iban_end(view.data, begin) if view.begins_alone(begin) else 0
        at = end or begin + 1
        if end and view.ends_alone(end):
            yield PersonalFinding("iban", begin, end)


def _iban_end(data: bytes, start: int) -> int:
    """Where the IBAN that begins here ends; 0 when none does."""
    wanted = LENGTHS.get(data[start : start + 2].decode("latin-1").upper(), 0)
    signs = bytearray()
    at = start
    while len(signs) < wanted:
        sign = data[at : at + 1]
        if sign.isalnum() and sign.isascii():
            signs += sign
        # A sign between is one between groups of four.
        elif sign not in (b" ", b"-") or len(signs) % _GROUP or data[at - 1 : at] == sign:
            return 0
        at += 1
    text = signs.decode("ascii").upper()
    return at if wanted and mod_97(text[_GROUP:] + text[:_GROUP]) == 1 else 0


_NAME_CHARS_MAX = 32
_NAMES: Mapping[str, tuple[str, ...]] = {
    "br": ("cpf",),
    "de": ("steuer-id", "steuerid", "idnr", "identifikationsnummer", "steuer-idnr", "steueridentnummer"),
    "us": ("ssn", "social security", "social security number", "social security no"),
    "es": ("dni", "nif", "documento"),
}

_US = rb"\d{3}[- ]?\d{2}[- ]?\d{4}"
# In capitals alone: in small letters this, and the Spanish one, could be the beginning of a hash.
_GB = rb"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]"
_FR = rb"[12] ?\d{2} ?\d{2} ?(?:\d{2}|2[ABab]) ?\d{3} ?\d{3} ?\d{2}"
_DE = rb"[1-9]\d ?\d{3} ?\d{3} ?\d{3}"
_ES = rb"(?:\d{8}|[XYZ]-?\d{7})-?[A-Z]"
# Where two people would have the same one, letters take the place of digits.
_IT_DIGIT = rb"[0-9LMNP-Vlmnp-v]"
_IT = rb"[A-Za-z]{6}%s{2}[A-EHLMPR-Ta-ehlmpr-t]%s{2}[A-Za-z]%s{3}[A-Za-z]" % ((_IT_DIGIT,) * 3)
_BR = rb"\d{3}\.?\d{3}\.?\d{3}-?\d{2}"
_BE = rb"\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}"
_CH = rb"756\.?\d{4}\.?\d{4}\.?\d{2}"
_CN = rb"[1-9]\d{5}(?:19|20)\d{9}[0-9Xx]"
_FI = rb"\d{6}[-+ABCDEFYXWVU]\d{3}[0-9A-Ya-y]"
_KR = rb"\d{6}-[1-8]\d{6}"
_MX = rb"[A-Z][AEIOUX][A-Z]{2}\d{6}[HMX][A-Z]{5}[A-Z0-9]\d"

_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
_HETU_SIGNS = "0123456789ABCDEFHJKLMNPRSTUVWXY"
_CURP_SIGNS = "0123456789ABCDEFGHIJKLMNÑOPQRSTUVWXYZ"
_ODD_VALUES = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
_NINO_NOT_GIVEN = frozenset({"BG", "GB", "KN", "NK", "NT", "TN", "ZZ"})
_CN_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_DAYS_MAX, _MONTHS_MAX = 31, 12


def find_national_ids(view: PersonalView) -> Iterator[PersonalFinding]:
    at = 0
    search = compile_pattern(_ANY).search
    while (start := search(view.data, at)) is not None:
        begin = start.start()
        end = _end(view, begin)
        at = end or begin + 1
        if end:
            yield PersonalFinding("national-id", begin, end)


def _end(view: PersonalView, start: int) -> int:
    """Where the id that begins here ends; 0 when none does."""
    if not view.begins_alone(start):
        return 0
    for pattern, check in _RULES:
        match = compile_pattern(pattern).match(view.data, start)
        if match is None or not view.ends_alone(match.end()):
            continue
        written = view.data[start : match.end()].decode("latin-1").upper()
        if check(written, _Told(view, start)):
            return match.end()
    return 0


class _Told:
    """Whether the words before a number say what it is."""

    def __init__(self, view: PersonalView, start: int) -> None:
        self._view, self._start = view, start

    def as_of(self, country: str) -> bool:
        before = self._view.text[max(0, self._start - _NAME_CHARS_MAX) : self._start].lower()
        return before.rstrip(" :=#.\t\"'(").removesuffix(" is").endswith(_NAMES[country])


def _is_us(written: str, told: _Told) -> bool:
    digits = _digits(written)
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    if area in ("000", "666") or area[0] == "9" or group == "00" or serial == "0000":
        return False
    return (written[3] == "-" and written[6] == "-") or told.as_of("us")


def _is_gb(written: str, _told: _Told) -> bool:
    return written[:2] not in _NINO_NOT_GIVEN


def _is_fr(written: str, _told: _Told) -> bool:
    signs = written.replace(" ", "")
    # 20 and from 30 on stand for a month that is not known.
    month = int(signs[3:5])
    if not (1 <= month <= _MONTHS_MAX or month == 20 or 30 <= month <= 42 or month >= 50):
        return False
    number = signs[:13].replace("2A", "19").replace("2B", "18") if signs[5:7] in ("2A", "2B") else signs[:13]
    return number.isdigit() and 97 - int(number) % 97 == int(signs[13:])


def _is_de(written: str, told: _Told) -> bool:
    digits = _digits(written)
    counts = sorted(digits[:10].count(digit) for digit in set(digits[:10]))
    if counts[-1] not in (2, 3) or counts[-2:] in ([2, 2], [3, 3], [2, 3]):
        return False
    grouped = [len(group) for group in written.split(" ")] == [2, 3, 3, 3]
    return mod_11_10(digits) and (grouped or told.as_of("de"))


def _is_es(written: str, told: _Told) -> bool:
    body = written[:-1].rstrip("-").replace("-", "")
    number = int(body.translate(str.maketrans("XYZ", "012")))
    if _DNI_LETTERS[number % 23] != written[-1]:
        return False
    # A number with a B behind it is mostly one of bytes.
    return written[-1] != "B" or not body.isdigit() or "-" in written or told.as_of("es")


def _is_it(written: str, _told: _Told) -> bool:
    values = [ord(sign) - 0x41 if sign.isalpha() else int(sign) for sign in written]
    total = sum(_ODD_VALUES[value] if index % 2 == 0 else value for index, value in enumerate(values[:15]))
    return total % 26 == values[15]


def _is_br(written: str, told: _Told) -> bool:
    digits = _digits(written)
    if len(set(digits)) == 1:
        return False
    first = weighted_sum(digits[:9], range(10, 1, -1)) * 10 % 11 % 10
    second = weighted_sum(digits[:10], range(11, 1, -1)) * 10 % 11 % 10
    signed = written[3:4] == "." and "-" in written
    return digits[9:] == f"{first}{second}" and (signed or told.as_of("br"))


def _is_be(written: str, _told: _Told) -> bool:
    digits = _digits(written)
    number, key = digits[:9], int(digits[9:])
    return 97 - int(number) % 97 == key or 97 - int(f"2{number}") % 97 == key


def _is_ch(written: str, _told: _Told) -> bool:
    digits = _digits(written)
    return weighted_sum(digits, (1, 3) * 6 + (1,)) % 10 == 0 and written.count(".") in (0, 3)


def _is_cn(written: str, _told: _Told) -> bool:
    return (
        _is_day(written[10:12], written[12:14])
        and "10X98765432"[weighted_sum(written[:17], _CN_WEIGHTS) % 11] == written[17]
    )


def _is_fi(written: str, _told: _Told) -> bool:
    number = int(written[:6] + written[7:10])
    return _is_day(written[2:4], written[:2]) and _HETU_SIGNS[number % 31] == written[10]


def _is_kr(written: str, _told: _Told) -> bool:
    return _is_day(written[2:4], written[4:6])


def _is_mx(written: str, _told: _Told) -> bool:
    total = sum(_CURP_SIGNS.index(sign) * (18 - index) for index, sign in enumerate(written[:17]))
    return _is_day(written[6:8], written[8:10]) and (10 - total % 10) % 10 == int(written[17])


def _is_day(month: str, day: str) -> bool:
    return 1 <= int(month) <= _MONTHS_MAX and 1 <= int(day) <= _DAYS_MAX


def _digits(written: str) -> str:
    return "".join(sign for sign in written if sign.isdigit())


_RULES: tuple[tuple[bytes, Callable[[str, _Told], bool]], ...] = (
    (_CN, _is_cn),
    (_MX, _is_mx),
    (_IT, _is_it),
    (_FR, _is_fr),
    (_BE, _is_be),
    (_CH, _is_ch),
    (_KR, _is_kr),
    (_BR, _is_br),
    (_DE, _is_de),
    (_FI, _is_fi),
    (_ES, _is_es),
    (_GB, _is_gb),
    (_US, _is_us),
)
_ANY = rb"\b(?:" + b"|".join(pattern for pattern, _ in _RULES) + rb")\b"
