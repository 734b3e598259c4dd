"""Times as people type them: a time, a day, or how far from now one lies, such as 90d."""

import re
from datetime import UTC, datetime, timedelta

from runlore.cli.options import shorten_text
from runlore.domain.errors import Invalid
from runlore.domain.timestamps import parse_time

_DURATION = re.compile(r"([0-9]{1,6})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24}


def parse_duration(text: str) -> timedelta:
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise Invalid(
            f"{shorten_text(text)!r} is not a duration",
            code="time.duration",
            hint="give hours, days or weeks, such as 12h, 90d or 4w",
        )
    return timedelta(hours=int(found[1]) * _HOURS[found[2]])


def past_time(text: str) -> datetime:
    """A time, or how long ago."""
    return _parse_moment(text, sign=-1)


def future_time(text: str) -> datetime:
    """A time, or how far ahead."""
    return _parse_moment(text, sign=1)


def _parse_moment(text: str, *, sign: int) -> datetime:
    try:
        if _DURATION.fullmatch(text.strip()):
            return datetime.now(UTC) + sign * parse_duration(text)
        return parse_time(text.removesuffix(" UTC"))
    except (Invalid, OverflowError):
        raise Invalid(
            f"{shorten_text(text)!r} is neither a time nor so far from now",
            code="time.format",
            hint="write it as 7d, 24h, 2026-11-15 or 2026-11-15T08:30:00Z",
        ) from None
