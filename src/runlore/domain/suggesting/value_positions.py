"""Where the values of a command stand in its text, and which flag each of them belongs to."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from runlore.domain.detectors.mined import StepCommand
from runlore.domain.suggesting.words import CommandWord, words_of

# A word longer than this, or of several lines, is a text and no value: a message, a script.
TEXT_CHARS_MIN = 160
_SETTING = re.compile(r"^([A-Za-z_]\w*)=(.+)$", re.DOTALL)


class Placed(NamedTuple):
    """A value, the flag that it is given to, and where it stands. `before` is what is joined to it."""

    value: str
    flag: str
    before: str
    start: int
    end: int


@lru_cache(maxsize=4_096)
def find_placed_values(command: StepCommand) -> tuple[Placed, ...]:
    """The values of a command in the order of its text; a value that cannot be found there is left out."""
    return tuple(_find_values(command))


def _find_values(command: StepCommand) -> Iterator[Placed]:
    told = set(command.form.split())
    values = iter(command.values)
    value = next(values, None)
    flag = ""
    for word in words_of(command.text):
        before = _flag_prefix(word, value)
        if value is not None and (word.text == value or before):
            own = before[:-1] if before else flag
            yield Placed(value=value, flag=own, before=before, start=word.start, end=word.end)
            value, flag = next(values, None), ""
        elif (setting := _SETTING.match(word.text)) and not flag:
            yield Placed(
                value=setting[2], flag=setting[1], before=f"{setting[1]}=", start=word.start, end=word.end
            )
        elif len(word.text) > TEXT_CHARS_MIN or "\n" in word.text:
            yield Placed(value=word.text, flag=flag, before="", start=word.start, end=word.end)
            flag = ""
        else:
            # A flag that the normal form keeps takes no value.
            flag = word.text if word.text.startswith("-") and word.text not in told else ""


def _flag_prefix(word: CommandWord, value: str | None) -> str:
    """The beginning of `--flag=value`, with the equals sign; empty where the word is no such pair."""
    if not value or not word.text.startswith("-") or not word.text.endswith(value):
        return ""
    before = word.text[: -len(value)]
    return before if before.endswith("=") else ""
