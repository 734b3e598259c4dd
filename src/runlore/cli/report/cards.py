"""One suggestion as a card: what it is, why it is suggested, how often it was seen, what to do with it."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from runlore.cli.report.markup import NOTHING, Markup, element, join_markup, lines, text
from runlore.cli.tables.table_cells import agent_title, plural, time_text
from runlore.daemon.mining.findings import Example
from runlore.domain.detectors.match import Heuristic
from runlore.domain.detectors.mined import Outcome, Step
from runlore.domain.suggestion import Suggestion
from runlore.domain.text.excerpt import excerpt
from runlore.domain.timestamps import format_time

_REQUEST_CHARS_MAX = 300
_EVIDENCE_SHOWN_MAX = 8
_PROJECTS_NAMED_MAX = 3
_NUMBERS_SHOWN_MAX = 24
_SEARCHED_CHARS_MAX = 2_000
KIND_WORDS = {
    Heuristic.MULTI_STEP: "several steps in a row",
    Heuristic.ERROR_RECOVERY: "the way out of an error",
    Heuristic.USER_CORRECTION: "corrected by you",
    Heuristic.REPEATED_ACTION: "done again and again",
    Heuristic.EXPLICIT_INSTRUCTION: "asked for by you",
    Heuristic.CROSS_SESSION: "done in several sessions",
}
_MARKS = {
    Outcome.SUCCEEDED: ("✓", "worked"),
    Outcome.FAILED: ("✕", "failed"),
    Outcome.REFUSED: ("⊘", "was refused"),
    Outcome.UNKNOWN: ("·", "ended in a way that is not told"),
}


def card(suggestion: Suggestion, example: Example | None, *, is_stored: bool) -> Markup:
    is_tainted = suggestion.provenance.tainted
    return element(
        "article",
        _head(suggestion),
        element("p", inline(suggestion.description), class_="description"),
        _taint(suggestion) if is_tainted else NOTHING,
        element(
            "div",
            element("div", _commands(suggestion), _parameters(suggestion), _body(suggestion)),
            element("div", _why(suggestion), _seen_section(suggestion)),
            class_="columns",
        ),
        _example(example) if example else NOTHING,
        _choice(suggestion, is_stored=is_stored),
        class_="card",
        id=anchor(suggestion),
        data_heuristic=suggestion.heuristic.value,
        data_taint="yes" if is_tainted else "no",
        data_words=_search_words(suggestion),
    )


def anchor(suggestion: Suggestion) -> str:
    return f"skill-{suggestion.name}"


def write_command(command: str) -> Markup:
    """A command to be copied: the script puts a button behind it, and without one a click takes all of it."""
    return element("code", text(command), class_="copied")


def _head(suggestion: Suggestion) -> Markup:
    points = suggestion.score.points
    ring = element(
        "svg",
        element("circle", cx=18, cy=18, r=15.5, class_="track"),
        element(
            "circle",
            cx=18,
            cy=18,
            r=15.5,
            pathLength=100,
            stroke_dasharray=f"{points} 100",
            class_="arc",
            transform="rotate(-90 18 18)",
        ),
        element("text", text(points), x=18, y=22, text_anchor="middle"),
        viewBox="0 0 36 36",
        class_="ring",
        role="img",
        aria_label=f"score {points} of 100",
    )
    badges = element(
        "p",
        element("span", text(KIND_WORDS[suggestion.heuristic]), class_="badge"),
        element("span", text("from outside"), class_="badge taint")
        if suggestion.provenance.tainted
        else NOTHING,
        class_="badges",
    )
    title = element("h3", element("a", text(suggestion.name), href=f"#{anchor(suggestion)}"))
    return element("header", element("div", title, badges), ring)


def _taint(suggestion: Suggestion) -> Markup:
    sources = suggestion.provenance.sources
    named = element("ul", *(element("li", element("code", text(source))) for source in sources))
    said = "The conversation had read text from outside by then. Read it with care before you keep it."
    return element("aside", element("p", text(said)), named if sources else NOTHING, class_="outside")


def _commands(suggestion: Suggestion) -> Markup:
    # What came from outside is read first, and not pasted into a shell by a click.
    kind = None if suggestion.provenance.tainted else "copied"
    steps = [
        element("li", element("pre", element("code", lines(command), class_=kind), tabindex=0))
        for command in suggestion.commands
    ]
    return (
        join_markup(element("h4", text("Commands")), element("ol", *steps, class_="commands"))
        if steps
        else NOTHING
    )


def _parameters(suggestion: Suggestion) -> Markup:
    if not suggestion.parameters:
        return NOTHING
    rows = [
        join_markup(
            element("dt", element("code", text(f"<{parameter.name}>"))),
            element("dd", text("such as "), _codes(parameter.examples))
            if parameter.examples
            else element("dd", text("differs each time")),
        )
        for parameter in suggestion.parameters
    ]
    return join_markup(element("h4", text("Parameters")), element("dl", *rows, class_="parameters"))


def _codes(texts: Sequence[str]) -> Markup:
    pieces = [element("code", text(each)) for each in texts]
    return join_markup(
        *(piece if not n else join_markup(text(", "), piece) for n, piece in enumerate(pieces))
    )


def _body(suggestion: Suggestion) -> Markup:
    summary = element("summary", text("The skill as it would be written"))
    return element("details", summary, element("div", prose(suggestion.body), class_="prose"))


def _why(suggestion: Suggestion) -> Markup:
    rows = [
        element(
            "li",
            element("b", text(f"{part.points:+d}"), class_="up" if part.points >= 0 else "down"),
            element("span", text(part.reason)),
        )
        for part in suggestion.score.parts
    ]
    title = element("h4", text(f"Why: {suggestion.score.points} of 100"))
    return join_markup(title, element("ul", *rows, class_="why"))


def _seen_section(suggestion: Suggestion) -> Markup:
    projects = {each.project: each.known_as for each in suggestion.evidence if each.project}
    named = sorted(set(projects.values()))
    often = f"{plural(suggestion.times, 'time')} in {plural(suggestion.sessions, 'session')}"
    where = f", in {plural(len(projects), 'project')}" if projects else ""
    if 0 < len(named) <= _PROJECTS_NAMED_MAX and all(named):
        where = f", in {', '.join(named)}"
    latest = list(reversed(suggestion.evidence))[:_EVIDENCE_SHOWN_MAX]
    rows = [
        element(
            "li",
            element("time", text(time_text(evidence.at)), datetime=format_time(evidence.at)),
            element("code", text(evidence.run_id)),
            element("span", text(f"events {_numbers(evidence.event_numbers)}")),
        )
        for evidence in latest
    ]
    return join_markup(
        element("h4", text("Seen")),
        element("p", element("b", text(often)), text(where)),
        element(
            "details",
            element("summary", text("The latest evidence")),
            element("ul", *rows, class_="evidence"),
        )
        if rows
        else NOTHING,
    )


def _numbers(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:_NUMBERS_SHOWN_MAX]))
    more = len(numbers) - _NUMBERS_SHOWN_MAX
    return f"{shown} and {more} more" if more > 0 else shown or "none"


def _example(example: Example) -> Markup:
    said = excerpt(" ".join(example.request.split()), _REQUEST_CHARS_MAX)
    asked = element("blockquote", element("p", text(said))) if said else NOTHING
    where = join_markup(
        text(f"{agent_title(example.agent)}, {time_text(example.at)}, session "),
        element("code", text(example.session_id)),
        text(", run "),
        element("code", text(example.run_id)),
    )
    same = [tuple(steps) for _, steps in groupby(example.steps, _step_key)]
    steps = element("ol", *map(_step, same), class_="steps")
    return element(
        "section",
        element("h4", text("An example from the transcript")),
        element("p", where, class_="where"),
        asked,
        steps,
        class_="example",
    )


def _step_key(step: Step) -> object:
    return step.text, step.outcome, step.error


def _step(same: Sequence[Step]) -> Markup:
    """A step, with how often it was done in a row."""
    step = same[0]
    mark, told = _MARKS[step.outcome]
    often = f", {len(same)} times" if len(same) > 1 else ""
    code = "" if step.exit_code is None else f", exit code {step.exit_code}"
    return element(
        "li",
        element("span", text(f"event {step.number}{often}"), class_="event"),
        element(
            "span", text(mark), class_=f"mark {step.outcome.value}", role="img", aria_label=f"{told}{code}"
        ),
        element(
            "div",
            element("pre", element("code", lines(step.text)), tabindex=0),
            element("p", text(step.error), class_="error") if step.error else NOTHING,
        ),
    )


def _choice(suggestion: Suggestion, *, is_stored: bool) -> Markup:
    name = suggestion.name
    # Whoever has read it here may say so.
    accepts = " --accept-untrusted" if suggestion.provenance.tainted else ""
    save = write_command(f"runlore skill save {name}{accepts}")
    if is_stored:
        keep = join_markup(text("It waits in your inbox: "), save, text(" keeps it as a skill."))
    else:
        keep = join_markup(
            write_command("runlore learn"),
            text(" without --dry-run stores it, and "),
            save,
            text(" keeps it as a skill then."),
        )
    skip = join_markup(
        write_command(f"runlore skill skip {name}"),
        text(" takes it out, and the same pattern does not come back."),
    )
    return element(
        "footer",
        element("p", element("b", text("Keep ")), keep),
        element("p", element("b", text("Skip ")), skip),
    )


def _search_words(suggestion: Suggestion) -> str:
    words = " ".join([suggestion.name, suggestion.description, *suggestion.commands])
    return words.lower()[:_SEARCHED_CHARS_MAX]


_HEADING = re.compile(r"(#{1,6}) +(\S.*)")
_ITEM = re.compile(r" {0,3}(?:[-*]|(\d{1,3})[.)]) +(\S.*)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_RULE = re.compile(r"[|: \t-]+")
# The page has a heading for each suggestion; those of its body come below.
_HEADING_LEVEL_MIN = 4


def prose(body: str) -> Markup:
    rest = body.splitlines()
    blocks: list[Markup] = []
    while rest:
        block, rest = _block(rest)
        blocks.append(block)
    return join_markup(*blocks)


def inline(words: str) -> Markup:
    """A line of prose, with its `code` and its **strong** words; a mark without another one is a letter."""
    pieces = words.split("`")
    if len(pieces) % 2 == 0:
        pieces[-2:] = [f"{pieces[-2]}`{pieces[-1]}"]
    return join_markup(
        *(element("code", text(piece)) if n % 2 else _strong(piece) for n, piece in enumerate(pieces))
    )


def _block(rest: Sequence[str]) -> tuple[Markup, list[str]]:
    first = rest[0]
    if not first.strip():
        return NOTHING, list(rest[1:])
    if fence := _FENCE.match(first):
        return _code(rest, fence[1])
    if heading := _HEADING.fullmatch(first):
        level = min(max(_HEADING_LEVEL_MIN, len(heading[1]) + 2), 6)
        return element(f"h{level}", inline(heading[2])), list(rest[1:])
    if _ITEM.match(first):
        return _list(rest)
    if first.lstrip().startswith("|"):
        return _table(rest)
    count = next((n for n, line in enumerate(rest) if n and _ends_paragraph(line)), len(rest))
    return element("p", inline(" ".join(line.strip() for line in rest[:count]))), list(rest[count:])


def _ends_paragraph(line: str) -> bool:
    is_other = _FENCE.match(line) or _HEADING.fullmatch(line) or _ITEM.match(line)
    return not line.strip() or is_other is not None or line.lstrip().startswith("|")


def _code(rest: Sequence[str], fence: str) -> tuple[Markup, list[str]]:
    """What is fenced, as it stands. One that is never closed ends with the body."""
    end = next((n for n, line in enumerate(rest) if n and line.strip() == fence), len(rest))
    code = element("code", lines("\n".join(rest[1:end])))
    return element("pre", code, tabindex=0), list(rest[end + 1 :])


def _list(rest: Sequence[str]) -> tuple[Markup, list[str]]:
    is_ordered = _is_ordered(rest[0])
    items: list[list[str]] = []
    count = 0
    for line in rest:
        item = _ITEM.match(line)
        if item and _is_ordered(line) == is_ordered:
            items.append([item[2]])
        elif line.startswith((" ", "\t")) and line.strip():
            items[-1].append(line.strip())
        else:
            break
        count += 1
    shown = join_markup(*(element("li", _item(item)) for item in items))
    return element("ol" if is_ordered else "ul", shown), list(rest[count:])


def _is_ordered(line: str) -> bool:
    item = _ITEM.match(line)
    return item is not None and item[1] is not None


def _item(item: Sequence[str]) -> Markup:
    """What an item says; a fence inside it keeps its lines."""
    if any(_FENCE.match(line) for line in item[1:]):
        return join_markup(inline(item[0]), prose("\n".join(item[1:])))
    return inline(" ".join(item))


def _table(rest: Sequence[str]) -> tuple[Markup, list[str]]:
    count = next((n for n, line in enumerate(rest) if not line.lstrip().startswith("|")), len(rest))
    rows = [list(_cells(line)) for line in rest[:count] if not _RULE.fullmatch(line)]
    has_head = count > 1 and _RULE.fullmatch(rest[1]) is not None
    head, body = (rows[:1], rows[1:]) if has_head else ([], rows)
    table = join_markup(
        element("thead", *(_row(row, "th") for row in head)) if head else NOTHING,
        element("tbody", *(_row(row, "td") for row in body)),
    )
    return element("div", element("table", table), class_="wide", tabindex=0), list(rest[count:])


def _row(cells: Sequence[str], name: str) -> Markup:
    return element("tr", *(element(name, inline(cell)) for cell in cells))


def _cells(line: str) -> Iterator[str]:
    """The cells of a row; `\\|` and a bar between backticks stand for themselves."""
    cell, is_code = "", False
    inner = line.strip().removeprefix("|")
    position = 0
    while position < len(inner):
        character = inner[position]
        if character == "\\" and inner[position + 1 : position + 2] == "|":
            cell, position = cell + "|", position + 1
        elif character == "|" and not is_code:
            yield cell.strip()
            cell = ""
        else:
            is_code ^= character == "`"
            cell += character
        position += 1
    if cell.strip():
        yield cell.strip()


def _strong(words: str) -> Markup:
    pieces = words.split("**")
    if len(pieces) % 2 == 0:
        pieces[-2:] = [f"{pieces[-2]}**{pieces[-1]}"]
    return join_markup(
        *(element("strong", text(piece)) if n % 2 else text(piece) for n, piece in enumerate(pieces))
    )
