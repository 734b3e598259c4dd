"""IBANs: a known country, its length, and the check digits. In one piece or in groups of four."""

from collections.abc import Iterator, Mapping

from runlore.domain.guard.patterns import compile_pattern
from runlore.domain.privacy.check_digits import mod_97
from runlore.domain.privacy.view import PersonalFinding, PersonalView

KIND = "iban"
_START = rb"\b[A-Za-z]{2}\d{2}[ -]?[A-Za-z0-9]{2}"
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
    search = compile_pattern(_START).search
    while (start := search(view.data, at)) is not None:
        begin = start.start()
        end = _end(view.data, begin) if view.begins_alone(begin) else 0
        at = end or begin + 1
        if end and view.ends_alone(end):
            yield PersonalFinding(KIND, begin, end)


def _end(data: bytes, start: int) -> int:
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
