"""Times as the outside writes them: RFC 3339, UTC, milliseconds. Inside they are aware `datetime`s."""

from datetime import UTC, datetime, timedelta

from runlore.domain.errors import Invalid

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def to_milliseconds(moment: datetime) -> int:
    """Whole milliseconds since 1970, rounded down, with no floating point in between."""
    return (moment - _EPOCH) // _MILLISECOND


def from_milliseconds(milliseconds: int) -> datetime:
    return _EPOCH + milliseconds * _MILLISECOND


def truncate(moment: datetime) -> datetime:
    """The moment without what is finer than a millisecond, so that stored and live values are equal."""
    if moment.tzinfo is UTC and not moment.microsecond % 1_000:
        return moment
    return from_milliseconds(to_milliseconds(moment))


def format_time(moment: datetime) -> str:
    """`2026-11-15T08:30:00.000Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_time(text: str) -> datetime:
    """Read RFC 3339 (a date alone means its first moment, no zone means UTC)."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise Invalid(
            f"{text!r} is not a time",
            code="time.format",
            hint="write it as 2026-11-15T08:30:00Z or 2026-11-15",
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        return truncate(moment if moment.tzinfo is UTC else moment.astimezone(UTC))
    except OverflowError:
        raise Invalid(
            f"{text!r} is outside the years that can be stored",
            code="time.format",
            hint="use a year between 1 and 9999",
        ) from None
