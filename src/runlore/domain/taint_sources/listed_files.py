"""Files that are shown because a text names them, and not because they are there: any may be named.

`xargs cat < list`, `for f in $(cat list); do cat $f; done`, `while read f; do cat $f; done < list`. Names
that a search or git tells are those of the folder.
"""

import re
from collections.abc import Iterator

from runlore.domain.shell import ShellCommand, script_of
from runlore.domain.taint_sources.call_files import files_printed
from runlore.domain.taint_sources.kinds import Reading
from runlore.domain.taint_sources.programs import SEARCHING, SHOWING
from runlore.domain.taint_sources.tools import UNKNOWN

# What takes the names of files from what it is given.
_LISTING = frozenset({"xargs", "parallel"})
_SHOWING = SHOWING | SEARCHING
_READING: Reading = ("files that a list names", UNKNOWN)
_INNER = re.compile(r"\$\(([^()]{1,2000})\)|`([^`]{1,2000})`")
_LOOP_OF_FILE = re.compile(r"\bdone\b[^\n;|&<]*<[ \t]*[^\s(<;|&]")
_ARRAY_OF_FILE = re.compile(r"\b(?:mapfile|readarray)\b[^\n;|&<]*<[ \t]*[^\s(<;|&]")
_FED_LOOP = re.compile(r"\|[ \t]*(?:while|mapfile|readarray)\b")


def outside_of_listed(command: ShellCommand, before: ShellCommand | None, text: str) -> Iterator[Reading]:
    """The reading of a command that shows files a text names; `text` is the script it stands in."""
    if command.program not in _SHOWING:
        return
    if not _LISTING.isdisjoint(command.wrappers):
        is_fed = before is not None and is_fed_by(command, before) and before.place == 0
        if command.reads or (is_fed and before is not None and _shows_a_file(before)):
            yield _READING
    elif any("$" in word or "`" in word for word in files_printed(command)) and _names_from_text(text):
        yield _READING


def is_fed_by(command: ShellCommand, before: ShellCommand) -> bool:
    return (before.pipeline, before.place + 1) == (command.pipeline, command.place)


def _names_from_text(text: str) -> bool:
    """Whether a script takes words from a file that it shows to itself alone."""
    if _LOOP_OF_FILE.search(text) or _ARRAY_OF_FILE.search(text):
        return True
    inner = [one or other for one, other in _INNER.findall(text)]
    inner += [text[: found.start()].rpartition("\n")[2] for found in _FED_LOOP.finditer(text)]
    return any(_shows_a_file(command) for each in inner for command in script_of(each).commands[-2:])


def _shows_a_file(command: ShellCommand) -> bool:
    return command.program in SHOWING and bool(files_printed(command))
