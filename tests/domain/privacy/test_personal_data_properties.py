"""Personal data in any surroundings: valid numbers are found at every place, dates and versions never."""

from datetime import datetime
from ipaddress import IPv4Address, IPv6Address
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runlore.domain.privacy.checked_numbers import ISSUERS, LENGTHS
from runlore.domain.privacy.personal_data import redact_personal_data
from tests.domain.privacy.test_personal_data import FOUND, LEFT

pytestmark = pytest.mark.req("RUN-3")

# Prose of several scripts, without digits and without anything that could belong to a number.
prose = st.text("abc déïß жщ 漢字 ไทย …!?;\n\t", max_size=30)
gaps = st.sampled_from([" ", "\n", "\t", ", ", "; ", "! ", "。 ", " “"])
# What numbers and addresses are made of, to make neighbours that were never thought of.
pieces = st.sampled_from([text for _, text in FOUND] + list(LEFT)) | st.text(
    "0123456789 +-./()@:%<>=,#[]_\n\u200b٣éAbcdefXZ", max_size=12
)
any_text = st.lists(pieces, max_size=8).map("".join) | st.text(max_size=60)
DATE_FORMATS = (
    *(
        "%Y-%m-%d",
        "%Y/%m/%d",
        "%Y.%m.%d",
        "%d.%m.%Y",
        "%d/%m/%Y",
        "%m/%d/%Y",
        "%d-%m-%Y",
        "%d.%m.%y",
        "%m/%d/%y",
    ),
    *("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S+02:00", "%Y%m%d"),
    *(
        "%Y%m%dT%H%M%S",
        "%Y-%m-%d_%H-%M-%S",
        "%d %m %Y",
        "%Y %m %d",
        "%d %b %Y %H:%M",
        "%A, %d %B %Y",
        "%Y-W%W-%w",
    ),
    *(
        "%H:%M",
        "%H:%M:%S",
        "%H:%M:%S.%f",
        "%d/%b/%Y:%H:%M:%S +0000",
        "%d.%m.%Y, %H:%M",
        "%Y-%j",
        "%H.%M",
        "%s",
    ),
    *("%d.%m.%Y - %d.%m.%Y", "%Y-%m-%d/%Y-%m-%d", "%d-%m-%Y %H-%M-%S", "%m/%d/%Y %I:%M %p", "%Y %m %d %H %M"),
)


@given(text=any_text)
@example("212-555-0123-a@b.co-10.1.2.3-4111111111111111")
def test_doing_it_twice_changes_nothing_more(text: str) -> None:
    clean, count = redact_personal_data(text)

    assert redact_personal_data(clean) == (clean, 0)
    assert (count > 0) is (clean != text)


@given(before=any_text, behind=any_text, rule=st.sampled_from(["jwt", "aws-key", "email", "private-key"]))
def test_a_marker_that_is_there_stays(before: str, behind: str, rule: str) -> None:
    marker = f"<redacted:{rule}>"
    clean, _ = redact_personal_data(before + marker + behind)

    assert clean.count(marker) >= (before + marker + behind).count(marker)


def _luhn_digit(body: str) -> str:
    total = sum(int(d) if i % 2 else sum(divmod(2 * int(d), 10)) for i, d in enumerate(reversed(body)))
    return str(-total % 10)


@st.composite
def card_numbers(draw: st.DrawFn) -> str:
    first, last, lengths = draw(st.sampled_from(ISSUERS))
    prefix = f"{draw(st.integers(int(first), int(last))):0{len(first)}}"
    length = draw(st.sampled_from(sorted(lengths)))
    body = prefix + draw(
        st.text("0123456789", min_size=length - len(prefix) - 1, max_size=length - len(prefix) - 1)
    )
    digits = body + _luhn_digit(body)
    sign = draw(st.sampled_from(["", " ", "-"]))
    cuts = [0, 4, 10, length] if length in (14, 15) else [*range(0, min(length, 17), 4), length]
    if length not in (14, 15, 16, 19):
        return digits
    return sign.join(digits[start:end] for start, end in pairwise(cuts) if start < end)


@st.composite
def ibans(draw: st.DrawFn) -> str:
    country = draw(st.sampled_from(sorted(LENGTHS)))
    size = LENGTHS[country] - 4
    account = draw(st.text("0123456789ABCXYZ", min_size=size, max_size=size))
    number = int("".join(str(int(sign, 36)) for sign in f"{account}{country}00"))
    written = f"{country}{98 - number % 97:02}{account}"
    grouped = " ".join(written[at : at + 4] for at in range(0, len(written), 4))
    return draw(st.sampled_from([written, grouped, grouped.replace(" ", "-"), grouped.lower()]))


v4 = (
    st.integers(1 << 24, (224 << 24) - 1)
    .map(IPv4Address)
    .filter(lambda one: one.packed[0] != 127 and (one.packed[0] == 10 or max(one.packed) > 31))
)
v6 = st.integers(0x2000 << 112, (0x4000 << 112) - 1).map(IPv6Address) | st.integers(
    0xFC00 << 112, (0xFE00 << 112) - 1
).map(IPv6Address)
PLACED = {
    "card": card_numbers(),
    "iban": ibans(),
    "ip": v4.map(str) | v6.map(str) | v6.map(lambda one: one.exploded),
}


@pytest.mark.parametrize("kind", sorted(PLACED))
@given(data=st.data(), before=prose, behind=prose, gap=gaps)
def test_a_valid_number_is_found_at_every_place_in_any_prose(
    kind: str, data: st.DataObject, before: str, behind: str, gap: str
) -> None:
    number = data.draw(PLACED[kind])

    clean, count = redact_personal_data(f"{before}{gap}{number}{gap}{behind}")

    assert count == 1, number
    assert clean in {f"{before}{gap}<redacted:{other}>{gap}{behind}" for other in (kind, "national-id")}


@given(
    moments=st.lists(st.datetimes(datetime(1900, 1, 1), datetime(2099, 12, 31)), min_size=1, max_size=3),
    form=st.sampled_from(DATE_FORMATS),
    gap=gaps,
)
def test_dates_and_times_stay_in_every_common_format(moments: list[datetime], form: str, gap: str) -> None:
    text = gap.join(moment.strftime(form) for moment in moments)

    assert redact_personal_data(text) == (text, 0)


part = st.integers(0, 9_999).map(str)
first_part = st.integers(0, 199).map(str)
label = st.text("0123456789abcxyz-", min_size=1, max_size=6).map(lambda text: f"r{text}")


@given(
    parts=st.tuples(first_part, part, part),
    pre=st.none() | label,
    build=st.none() | st.integers(0, 99_999_999).map(str) | label,
    frame=st.sampled_from(["{}", "v{}", "pkg@{}", "pkg=={}", "pkg-{}.tar.gz", "^{}", "image:{}", "see {}."]),
)
def test_semantic_versions_stay(
    parts: tuple[str, str, str], pre: str | None, build: str | None, frame: str
) -> None:
    version = ".".join(parts) + (f"-{pre}" if pre else "") + (f"+{build}" if build else "")
    text = frame.format(version)

    assert redact_personal_data(text) == (text, 0)


@given(
    number=st.integers(0, 10**12),
    frame=st.sampled_from(["{}", "#{}", "line {}", "{} bytes", "id={}", "{:,}", "{:_}"]),
)
def test_plain_numbers_of_any_size_up_to_twelve_digits_stay(number: int, frame: str) -> None:
    text = frame.format(number)

    assert redact_personal_data(text) == (text, 0)


@given(digest=st.text("0123456789abcdef", min_size=7, max_size=64).filter(lambda text: not text.isdigit()))
def test_hashes_stay(digest: str) -> None:
    text = f"commit {digest} of {digest[:7]}..{digest[-7:]}"

    assert redact_personal_data(text)[0].startswith(f"commit {digest} of")


HOSTILE = (
    *(
        "1 ",
        "12-",
        "1.",
        "012 345 678 ",
        ":",
        "ab:",
        "+1",
        "(",
        "@",
        "a@",
        "a@b.",
        "4111 ",
        "DE89 3704 ",
        "AB12",
    ),
    *("<redacted:", "\u200b", "1\u200b", "%40", "(1", "0 ", "+", "a.b@c-"),
)


@pytest.mark.parametrize("chars", [20_000, pytest.param(100_000, marks=pytest.mark.soak)])
def test_hostile_repetition_ends(chars: int) -> None:
    for unit in HOSTILE:
        text = unit * (chars // len(unit))
        clean, _ = redact_personal_data(text)

        assert redact_personal_data(clean) == (clean, 0), unit
