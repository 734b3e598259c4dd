"""Dates written with digits, which are no phone numbers."""

from runlore.domain.guard.patterns import compiled

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


def date_end(data: bytes, at: int) -> int:
    """Where a date that begins here ends; 0 when none does.

    Two digits for the year are enough only where nothing follows: `06.12.34.56.78` is no date.
    """
    whole = compiled(_WHOLE).match(data, at)
    if whole:
        return whole.end()
    short = compiled(_SHORT).match(data, at)
    if short is None:
        return 0
    end = short.end()
    goes_on = data[end : end + 1] == data[end - 3 : end - 2] and data[end + 1 : end + 2].isdigit()
    return 0 if goes_on else end
