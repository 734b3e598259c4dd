"""How much may stand in what is told of a run beside its events, and in a position.

Readers keep to it. Whoever else sends runs is told which field is too long.
"""

from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.guard.refusing import without_secret
from runlore.domain.transcript import Position, ToldRun

_CHARS_MAX = {
    "source_session": limits.PATH_CHARS_MAX,
    "folder": limits.PATH_CHARS_MAX,
    "branch": limits.TITLE_CHARS_MAX,
    "model": limits.MODEL_CHARS_MAX,
    "agent_version": limits.ID_CHARS_MAX,
    "title": limits.TITLE_CHARS_MAX,
    "project": limits.PATH_CHARS_MAX,
    "project_name": limits.PATH_CHARS_MAX,
    "project_folder": limits.PATH_CHARS_MAX,
    "parent_session": limits.PATH_CHARS_MAX,
}


def check_told(run: ToldRun) -> None:
    """Refuse a run that tells more than is kept; Invalid (`transcript.field`) names the field."""
    for field, chars_max in _CHARS_MAX.items():
        _check_length(field, getattr(run, field), chars_max)
    check_position("after", run.after)


def check_position(name: str, position: Position) -> None:
    """Refuse a position that holds more than one can; Invalid (`transcript.field`) names the field."""
    _check_length(f"{name}.fingerprint", position.fingerprint, limits.ID_CHARS_MAX)
    without_secret(f"{name}.fingerprint", position.fingerprint)
    if len(position.carried) > limits.POSITION_CARRIED_MAX:
        raise _beyond(f"{name}.carried", f"more than {limits.POSITION_CARRIED_MAX:,} things")
    for key, value in position.carried.items():
        # A key names a session, and tells what is kept of it.
        _check_length(f"a name in {name}.carried", key, 2 * limits.PATH_CHARS_MAX)
        if isinstance(value, str):
            _check_length(f"a text in {name}.carried", value, limits.POSITION_TEXT_CHARS_MAX)
        elif abs(value) > limits.NUMBER_MAX:
            raise _beyond(f"a number in {name}.carried", f"more than {limits.NUMBER_MAX}")


def _check_length(field: str, text: str, chars_max: int) -> None:
    if len(text) > chars_max:
        raise _beyond(field, f"more than {chars_max:,} characters")


def _beyond(field: str, what: str) -> Invalid:
    return Invalid(
        f"{field} has {what}",
        code="transcript.field",
        hint="shorten it, or leave it out",
    )
