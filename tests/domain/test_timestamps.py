"""Times as the outside writes them, exact to the millisecond."""

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runlore.domain.errors import Invalid
from runlore.domain.timestamps import (
    format_time,
    from_milliseconds,
    parse_time,
    to_milliseconds,
    truncate,
)
from tests.domain.random_records import moments

WRITTEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
any_moments = st.datetimes(timezones=st.just(UTC))
zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


def read(text: str) -> datetime | Invalid:
    try:
        return parse_time(text)
    except Invalid as refusal:
        return refusal


@pytest.mark.req("REC-7")
@given(moments)
def test_a_written_time_is_read_as_it_was(moment: datetime) -> None:
    text = format_time(moment)

    assert WRITTEN.fullmatch(text)
    assert parse_time(text) == moment


@pytest.mark.req("LRN-11")
@given(any_moments)
def test_what_is_finer_than_a_millisecond_is_cut_off_and_never_rounded_up(moment: datetime) -> None:
    cut = moment.replace(microsecond=moment.microsecond // 1000 * 1000)

    assert truncate(moment) == cut
    assert parse_time(format_time(moment)) == cut
    assert from_milliseconds(to_milliseconds(moment)) == cut


@pytest.mark.req("REC-7")
@given(any_moments)
def test_milliseconds_are_counted_without_floating_point(moment: datetime) -> None:
    days = moment.toordinal() - datetime(1970, 1, 1).toordinal()
    seconds = moment.hour * 3600 + moment.minute * 60 + moment.second

    assert to_milliseconds(moment) == (days * 86_400 + seconds) * 1000 + moment.microsecond // 1000


@pytest.mark.req("REC-9")
@given(moments, moments)
def test_written_times_sort_as_the_moments_do(one: datetime, other: datetime) -> None:
    assert (format_time(one) < format_time(other)) == (one < other)


@pytest.mark.req("REC-9")
@given(st.datetimes(datetime(1000, 1, 1), datetime(9000, 1, 1), timezones=zones))
def test_the_zone_in_which_a_time_is_given_does_not_matter(moment: datetime) -> None:
    here = parse_time(moment.isoformat())

    assert here == parse_time(moment.astimezone(UTC).isoformat())
    assert here.utcoffset() == timedelta(0)
    assert format_time(moment) == format_time(here)


@pytest.mark.req("REC-9")
def test_a_date_alone_is_its_first_moment_and_no_zone_is_utc() -> None:
    assert format_time(parse_time("2026-11-15")) == "2026-11-15T00:00:00.000Z"
    assert format_time(parse_time(" 2026-11-15T08:30:00.1239 ")) == "2026-11-15T08:30:00.123Z"
    assert format_time(parse_time("2026-11-15T08:30:00+05:30")) == "2026-11-15T03:00:00.000Z"


@pytest.mark.req("REC-9")
@given(st.text() | st.text(alphabet="0123456789-:.TZ+ ", max_size=30))
@example("\ud800")
@example("0001-01-01T00:00:00+14:00")
@example("9999-12-31T23:59:59-14:00")
@example("2026-02-30")
@example("yesterday")
@example("")
def test_any_text_is_a_time_or_refused_with_an_example(text: str) -> None:
    answer = read(text)

    if isinstance(answer, Invalid):
        assert answer.code == "time.format"
        assert "2026-11-15" in answer.hint or "between 1 and 9999" in answer.hint
    else:
        assert answer.utcoffset() == timedelta(0)
        assert answer.microsecond % 1000 == 0


@pytest.mark.req("REC-9")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "2026-13-01",
        "2026-11-15T25:00:00Z",
        "0001-01-01T00:00:00+14:00",
        "1763195400",
        "15.11.2026",
    ],
)
def test_what_is_not_a_time_is_named_in_the_refusal(text: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_time(text)

    assert repr(text) in refusal.value.sentence
