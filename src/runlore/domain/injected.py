"""What Runlore itself put into a prompt, and how it is taken out of a text that echoes it.

A rendered section stands between `<runlore:NAME>` and `</runlore:NAME>`, each on a line of its own. An agent
that reports its whole prompt as the request would otherwise make remembered text look like something a person
said (JRN-3, CAP-6).
"""

import re

NAME_CHARS_MAX = 40
# Taking a block out can bring the halves of another marker together; who builds such nests gets no further.
ROUNDS_MAX = 8
_OPENING, _CLOSING = "<runlore:", "</runlore:"
# One bounded class and no alternatives: this cannot run away.
_NAME = re.compile(rf"[a-z_]{{1,{NAME_CHARS_MAX}}}>")


def stripped(text: str) -> str:
    """The text without such blocks.

    A block ends at the first closing marker of its name, and takes the line ends around it along. A marker
    without its partner goes alone: what stands behind an opening marker that is never closed may be anything.
    """
    for _ in range(ROUNDS_MAX):
        once = _stripped_once(text)
        if once == text:
            break
        text = once
    return text


def _stripped_once(text: str) -> str:
    if _OPENING not in text and _CLOSING not in text:
        return text
    parts: list[str] = []
    done = 0
    never_closed: set[str] = set()
    while (mark := _next_marker(text, done)) is not None:
        start, name, end, is_opening = mark
        parts.append(text[done:start])
        done = end
        if is_opening and name not in never_closed:
            closing = f"{_CLOSING}{name}>"
            found = text.find(closing, end)
            if found < 0:
                never_closed.add(name)
            else:
                done = found + len(closing)
        done = _behind_line_end(text, start, done)
    return "".join([*parts, text[done:]])


def _next_marker(text: str, start: int) -> tuple[int, str, int, bool] | None:
    """The next opening or closing marker: where it begins, its name, where it ends, and which it is."""
    while True:
        found = text.find("runlore:", start)
        if found < 0:
            return None
        start = found + 1
        name = _NAME.match(text, found + len("runlore:"))
        if name is None:
            continue
        for sign, is_opening in ((_CLOSING, False), (_OPENING, True)):
            begin = found + len("runlore:") - len(sign)
            if begin >= 0 and text.startswith(sign, begin):
                return begin, name[0][:-1], name.end(), is_opening


def _behind_line_end(text: str, start: int, end: int) -> int:
    """Behind the line end too, where the marker began its line."""
    begins_line = start == 0 or text[start - 1] == "\n"
    return end + 1 if begins_line and text.startswith("\n", end) else end
