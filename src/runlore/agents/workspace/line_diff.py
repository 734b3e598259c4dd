"""The difference of two texts, line by line, in bounded time: Myers' shortest edit, up to a number of edits.

Where two texts have less in common than that, what lies between their equal ends is told as replaced.
"""

from collections.abc import Iterator, Sequence

_EDITS_MAX = 400
_CONTEXT = 3
_NO_END = "\\ No newline at end of file\n"


def unified_diff(old: str, new: str, *, old_name: str, new_name: str) -> Iterator[str]:
    """The lines of a unified diff; none where the texts are equal."""
    if old == new:
        return
    yield f"--- {old_name}\n"
    yield f"+++ {new_name}\n"
    before, after = _lines(old), _lines(new)
    for hunk in _hunks(edits(before, after)):
        old_lines = sum(sign != "+" for sign, _, _ in hunk)
        new_lines = sum(sign != "-" for sign, _, _ in hunk)
        _, old_at, new_at = hunk[0]
        yield f"@@ -{_range(old_at, old_lines)} +{_range(new_at, new_lines)} @@\n"
        for sign, old_at, new_at in hunk:
            line = after[new_at] if sign == "+" else before[old_at]
            yield sign + line if line.endswith("\n") else f"{sign}{line}\n{_NO_END}"


def edits(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, int, int]]:
    """What leads from one to the other: a sign (` `, `-`, `+`) for each line, and where it is in both."""
    head = _equal(before, after)
    tail = _equal(before[head:][::-1], after[head:][::-1])
    old_end, new_end = len(before) - tail, len(after) - tail
    middle = _path(before[head:old_end], after[head:new_end])
    told = [(" ", at, at) for at in range(head)]
    if middle is None:
        told += [("-", at, head) for at in range(head, old_end)]
        told += [("+", old_end, at) for at in range(head, new_end)]
    else:
        told += [(sign, old_at + head, new_at + head) for sign, old_at, new_at in middle]
    return told + [(" ", old_end + at, new_end + at) for at in range(tail)]


def _path(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, int, int]] | None:
    """The shortest way from one to the other; None where it is too long to look for."""
    furthest = {1: 0}
    steps: list[dict[int, int]] = []
    for length in range(min(len(before) + len(after), _EDITS_MAX) + 1):
        steps.append(dict(furthest))
        for diagonal in range(-length, length + 1, 2):
            goes_down = diagonal == -length or (
                diagonal != length and furthest.get(diagonal - 1, -1) < furthest.get(diagonal + 1, -1)
            )
            old_at = furthest[diagonal + 1] if goes_down else furthest[diagonal - 1] + 1
            new_at = old_at - diagonal
            while old_at < len(before) and new_at < len(after) and before[old_at] == after[new_at]:
                old_at, new_at = old_at + 1, new_at + 1
            furthest[diagonal] = old_at
            if old_at >= len(before) and new_at >= len(after):
                return _walk_back(steps, len(before), len(after))
    return None


def _walk_back(steps: list[dict[int, int]], old_at: int, new_at: int) -> list[tuple[str, int, int]]:
    told: list[tuple[str, int, int]] = []
    for length in range(len(steps) - 1, -1, -1):
        furthest, diagonal = steps[length], old_at - new_at
        goes_down = diagonal == -length or (
            diagonal != length and furthest.get(diagonal - 1, -1) < furthest.get(diagonal + 1, -1)
        )
        old_from = furthest[diagonal + 1] if goes_down else furthest[diagonal - 1] + 1
        new_from = old_from - diagonal
        while old_at > old_from and new_at > new_from:
            old_at, new_at = old_at - 1, new_at - 1
            told.append((" ", old_at, new_at))
        if length:
            old_at, new_at = (old_at, new_at - 1) if goes_down else (old_at - 1, new_at)
            told.append(("+" if goes_down else "-", old_at, new_at))
    return told[::-1]


def _hunks(told: list[tuple[str, int, int]]) -> Iterator[list[tuple[str, int, int]]]:
    """Changes with the lines around them; those that are near each other together."""
    start = end = -1
    for at, (sign, _, _) in enumerate(told):
        if sign == " ":
            continue
        if start >= 0 and at - _CONTEXT > end:
            yield told[start:end]
            start = -1
        if start < 0:
            start = max(0, at - _CONTEXT)
        end = min(len(told), at + _CONTEXT + 1)
    if start >= 0:
        yield told[start:end]


def _equal(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _lines(text: str) -> list[str]:
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _range(at: int, lines: int) -> str:
    if lines == 0:
        return f"{at},0"
    return str(at + 1) if lines == 1 else f"{at + 1},{lines}"
