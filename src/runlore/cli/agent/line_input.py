"""What somebody types at a terminal: a line with the keys that edit one, and the lines before it at hand.

Those are kept in the memory of this process alone; no file has them. A text that is pasted is one, however
many lines it has, where the terminal and this Python can tell.
"""

import os
import sys
import termios
from contextlib import suppress
from functools import cache
from importlib import import_module
from types import ModuleType

from runlore.cli.terminal import say


def read_line(prompt: str, *, afresh: bool = False) -> str | None:
    """A line without its end; None at the end of the input. `afresh`: what was typed or pasted before it was
    asked for is thrown away."""
    while True:
        if afresh:
            with suppress(OSError, ValueError, termios.error):
                termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        try:
            line = _line(prompt)
            # What was no UTF-8 may be hidden in it, as halves of characters.
            line.encode()
            return line
        except UnicodeError:
            say("That was no text in UTF-8. Type it again.", "yellow")
        except EOFError:
            say("")
            return None
        except KeyboardInterrupt:
            say("")
            raise


def remember(text: str) -> None:
    """Have a text come back with the arrow keys."""
    editor = _editor()
    if editor is not None and editor.get_history_item(editor.get_current_history_length()) != text:
        editor.add_history(text)


def _line(prompt: str) -> str:
    # Lines are edited at the streams that the process began with, and at no others.
    if (sys.stdin, sys.stdout) == (sys.__stdin__, sys.__stdout__) and _editor() is not None:
        return input(prompt)
    sys.stdout.write(prompt)
    sys.stdout.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.removesuffix("\n")


@cache
def _editor() -> ModuleType | None:
    """What edits lines. It is loaded where somebody is asked, since loading it touches the terminal."""
    try:
        editor = import_module("readline")
    except ImportError:
        # Not every Python is built with it; then the terminal's own keys have to do.
        return None
    editor.set_auto_history(False)
    if os.environ.get("TERM", "dumb") != "dumb":
        editor.parse_and_bind("set enable-bracketed-paste on")
    return editor
