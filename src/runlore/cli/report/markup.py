"""HTML that is put together from elements, so that no text can become markup by mistake.

`Markup` is made here alone: of a text, by escaping it, or of an element around other markup. A text is shown
as `safe_text` shows it everywhere, with hidden and reordering characters written as their codes.
"""

import html
from collections.abc import Mapping
from typing import NewType, TypeAlias

from runlore.domain.text.safe_text import escape

Markup = NewType("Markup", str)
Attributes: TypeAlias = Mapping[str, str | int | float | bool | None]

NOTHING = Markup("")
_VOID = frozenset({"meta", "input", "hr", "br"})


def text(words: object) -> Markup:
    """A text, whatever it says, on one line."""
    return Markup(html.escape(escape(str(words)), quote=True))


def lines(words: str) -> Markup:
    """A text with its own lines, as a program printed them; a tab is shown as the space that it makes."""
    return Markup(html.escape(escape(words.expandtabs(4), keep_newlines=True), quote=True))


def join_markup(*parts: Markup) -> Markup:
    return Markup("".join(parts))


def element(name: str, /, *inside: Markup, **attributes: str | int | float | bool | None) -> Markup:
    """An element. `class_` and `for_` lose their underscore, others become hyphens; None leaves one out."""
    opening = f"<{name}{_attributes(attributes)}>"
    return Markup(opening if name in _VOID else f"{opening}{''.join(inside)}</{name}>")


def raw(inside: str, name: str) -> Markup:
    """A style or a script of ours, which is shipped with this package and is never a stranger's text."""
    return Markup(f"<{name}>{inside}</{name}>")


def _attributes(attributes: Attributes) -> str:
    written = []
    for name, value in attributes.items():
        spelled = name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        written.append(f" {spelled}" if value is True else f' {spelled}="{_value(value)}"')
    return "".join(written)


def _value(value: str | int | float) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return text(value)
