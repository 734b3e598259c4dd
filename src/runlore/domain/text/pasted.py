"""What is pasted into a request: where the first of it begins, and which blocks are surely no user's words.

Only what stands before the first mark is surely the user's own: what is pasted may close its own block, in
any of the ways that blocks are closed, but it cannot move the mark that the user set before it. So a mark
counts wherever it stands in its line, and where it is doubtful whether something is one, it is. Blocks go to
the last place where their kind is closed; those that are never closed, to the end.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from runlore.domain.lazy import dataclass
from runlore.domain.text.inline_spans import Span, code_spans, mask_spans, quotations

_LINE_ENDS = str.maketrans(dict.fromkeys("\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", "\n"))
_FENCE = re.compile(r"`{3,}+|~{3,}+")
_TRIPLE_QUOTE = re.compile(r"\"\"\"|'''")
_SIGNS = r"[-=*#_~<\[]"
_BEGIN = re.compile(
    rf"(?:^[ \t]*+{_SIGNS}{{2,}}+|(?<!{_SIGNS}){_SIGNS}{{3,}}+)[ \t]*+(?:begin|start)\b", re.I | re.M
)
_END = re.compile(rf"(?<!{_SIGNS}){_SIGNS}{{2,}}+[ \t]*+end\b", re.I)
# `<document index="1">`, `<file>`, also where the tag goes on in the next line; no note of a redaction.
_ELEMENT = re.compile(r"<(?!redacted:)([A-Za-z](?:[\w:.-]{0,62}\w)?)(?=[\s>/])")
_TAG_REST = re.compile(r"(?:\s[^<>]{0,500})?>[ \t]*$", re.M)
_ELEMENT_CLOSED = re.compile(r"</\s{0,8}([A-Za-z][\w:.-]{0,63})\s{0,8}>")
_BRACKET = re.compile(r"\[([A-Za-z][\w.:-]{1,63})\]")
_BRACKET_CLOSED = re.compile(r"\[/([A-Za-z][\w.:-]{1,63})\]")
_HEREDOC = re.compile(r"(?<!<)<<[-~]?[ \t]{0,8}['\"\\]?([A-Za-z_]\w{0,63})")
_LONE_WORD = re.compile(r"^[ \t]*+([A-Za-z_]\w{0,63})[ \t]*$", re.M)
# Signs that open something, what is in each of them, and those that close it.
_PAIRS = (
    (re.compile(r"<!--"), "<!--", "-->"),
    (re.compile(r"<!\[CDATA\[", re.I), "<![", "]]>"),
    (re.compile(r"\\begin[ \t]{0,8}\{"), "\\begin", "\\end"),
    (re.compile(r"<{3,}+"), "<<<", ">>>"),
)
_QUOTED = re.compile(r"[ \t]*+(?:(?:[-*+•]|\d{1,3}[.)])[ \t]++)?+(?:>|&gt;|＞)")
_INDENTED = re.compile(r"(?: {4}| {0,3}\t)[ \t]*+\S")
# What has no end of its own: a rule, a dashed title, a table, the head of a mail, a patch or data; and a line
# that announces somebody else's words, which it ends with a colon.
_HEADS = re.compile(
    r"^[ \t]*+(?:([-=*_+#])\1{2,}+[ \t]*$"
    r"|[-=]{3,}+[ \t]*+[^\n]{1,120}?[-=]{3,}+[ \t]*$"
    r"|(?:[-=_*>]{1,80}+[ \t]*+)?+(?:begin[ \t])?(?:forwarded|original|weitergeleitete|ursprüngliche)[ \t]"
    r"(?:message|mail|by|nachricht)\b"
    r"|diff --git[ \t]|@@ -\d|\||[{\[][ \t]*$|#{1,4}[ \t]+\[?v?\d{1,4}\.\d|h[1-6]\.[ \t]"
    r"|[\w.-]{1,40}:[ \t]*[>|][-+]?[ \t]*$|PS [A-Z]:\\[^\n>]{0,120}>)",
    re.I | re.M,
)
# A line of a log, the head of a mail, and a label in front of what a program put out.
_LOGGED = re.compile(
    r"[ \t]*+(?:[\[(]?+(?:\d{4}[-/]\d\d[-/]\d\d[T ]\d\d?:\d\d|(?:[A-Z][a-z]{2} [ \d]?\d )?+\d\d:\d\d:\d\d)"
    r"|\[(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|CRITICAL|trace|debug|info|warn|warning|error)\]"
    r"|(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|CRITICAL)(?:[ \t]|[:|\[(-])"
    r"|[$\u276f][ \t]+[a-z./~][\w./-]*(?:[ \t]|$)|npm[ \t]+(?:ERR!|error|warn)[ \t]"
    r"|error\[\w+\]:|fatal:[ \t]|Traceback \(most recent"
    r"|(?:From|To|Cc|Von|An|De):[ \t][^\n@]{0,200}@"
    r"|(?:Subject|Betreff|Message-ID|Reply-To|Objet|Asunto):[ \t])"
)
_LABELLED = re.compile(
    r"[ \t]*+(?:[\w'’-]{1,30}[ \t]{1,4}){0,4}?(output|logs?|stdout|stderr|traceback)[ \t]*+[:：]", re.I
)
_ANNOUNCING = re.compile(
    r"\b(?:wrote|writes|said|says|reads|output|stdout|stderr|transcript|page|article|e-?mail|mail|schrieb"
    r"|écrit|escribió|scritto|schreef)[ \t\u00a0\u202f]{0,4}[:：][ \t]*$",
    re.I | re.M,
)


# A text that is given to be worked on: "Translate into French: ...", "Proofread the paragraph below. ...".
_GIVEN = re.compile(
    r"(?:^|[.!?])[ \t]*+(?:\w{1,20}:[ \t]{1,4})?"
    r"(?:(?:please|now|then|and|(?:can|could|would) you)[ \t]{1,4}){0,3}"
    r"(?:translate|rewrite|rephrase|reword|paraphrase|proofread|summari[sz]e|transcribe|übersetze?|traduis"
    r"|traduce"
    r"|(?:correct|fix|check|improve|polish)[ \t]{1,4}(?:the[ \t]{1,4})?"
    r"(?:grammar|spelling|punctuation|wording|style|typos))\b"
    r"[^\n.!?:：]{0,200}(?:[:：]|\b(?:following|below)\b[^\n.!?:：]{0,200}(?:[:：.!]|$))"
    r"|(?:^|[.!?])[ \t]*+here(?:['’]s| is| are)[ \t]+\w{1,30}['’]s[ \t][^\n.!?:：]{0,200}[:：]",
    re.I | re.M,
)

# A question about a text, with which a request begins: "Is this a scam? ...", "How many words has this? ...".
_ASKED_ABOUT = re.compile(
    r"\s*+(?:[^\n.!?]{0,80}[ ,])??"
    r"(?:(?:is|are|was|were|has|have)[ ](?:this|these)(?=\?|[ ](?:an?|the|ok|okay|right|correct|true|good"
    r"|fine|real|safe|spam|phishing|legit|fake|genuine|clear|polite|legal|english)\b)"
    r"|(?:does|do|did)[ ](?:this|these)[ ](?:mean|say)(?=\?))[^\n?]{0,60}\?(?=\s*\S)",
    re.I,
)


@dataclass(frozen=True, kw_only=True)
class Pasted:
    """`first` is where the first mark stands, the length of the text where there is none. `blocks` lie apart,
    in order: what stands between them may be the user's again, or not. From `open_from` on something is given
    that has no end of its own."""

    first: int
    blocks: tuple[Span, ...] = ()
    open_from: int


# A request is asked about several times in a row: what is the user's own of it, and whether something is not.
@lru_cache(maxsize=8)
def find_pasted(text: str) -> Pasted:
    """What of a text was pasted into it. Inline code alone is no pasted block."""
    lines = text.replace("\r\n", " \n").translate(_LINE_ENDS)
    found = sorted(_marks(lines, mask_spans(lines, code_spans(lines))))
    blocks: list[Span] = []
    done, open_from = 0, len(text)
    for start, end in found:
        if start >= done and end > start:
            blocks.append((start, end))
            done = end
        elif start >= done:
            open_from = min(open_from, start)
    return Pasted(first=found[0][0] if found else len(text), blocks=tuple(blocks), open_from=open_from)


def remove_blocks(text: str) -> str:
    """A text without what surely is nobody's own word in it: blocks, and all that is given without an end."""
    pasted = find_pasted(text)
    return without(text, pasted.blocks)[: pasted.open_from]


def _given_from(text: str) -> int:
    found = _ASKED_ABOUT.match(text) or _GIVEN.search(text)
    return len(text) if found is None else found.end()


def without(text: str, blocks: tuple[Span, ...]) -> str:
    """A text with some blocks blanked out, character by character; the ends of lines stay."""
    parts: list[str] = []
    done = 0
    for start, end in blocks:
        parts += text[done:start], _VISIBLE.sub(_blanks, text[start:end])
        done = end
    return "".join([*parts, text[done:]])


def _marks(text: str, plain: str) -> Iterator[Span]:
    """Every mark with the end of its block; one that has no end ends where it begins. Closing marks are
    looked for in inline code too: what is pasted may put the user's own into it."""
    yield from _fences(plain)
    yield from _sections(text, plain)
    yield from _elements(text, plain)
    yield from _heredocs(text, plain)
    yield from _find_indented(plain)
    yield from ((place, place) for place in (*_heads(plain), _given_from(plain)) if place < len(plain))
    yield from ((place, place) for place in quotations(plain)[1])


def _heads(plain: str) -> Iterator[int]:
    place = 0
    for line in plain.split("\n"):
        if _HEADS.match(line) or _LOGGED.match(line):
            yield place
        elif found := _LABELLED.match(line):
            yield place + found.start(1)
        elif line.rstrip(" \t").endswith((":", "：")) and (found := _ANNOUNCING.search(line)):
            yield place + found.start()
        place += len(line) + 1


def _fences(plain: str) -> Iterator[Span]:
    """To the last fence of its sign that is as long; what is behind it can only be shorter."""
    for sign in "`~":
        if sign * 3 not in plain:
            continue
        runs = [run.span() for run in _FENCE.finditer(plain) if run[0][0] == sign]
        # From the end on, each that is longer than all behind it.
        closing: list[Span] = []
        for start, end in reversed(runs):
            if not closing or end - start > closing[-1][1] - closing[-1][0]:
                closing.append((start, end))
        done = 0
        for start, end in runs:
            if start < done:
                continue
            last = next((c for c in closing if c[1] - c[0] >= end - start), (start, end))
            done = _line_end(plain, last[1]) if last[0] > start else len(plain)
            yield start, done


def _sections(text: str, plain: str) -> Iterator[Span]:
    """Blocks between two marks that say which of them opens and which closes."""
    for sign in ('"""', "'''"):
        opened = next((found for found in _TRIPLE_QUOTE.finditer(plain) if found[0] == sign), None)
        if opened is not None:
            yield opened.start(), _closed_at(text, text.rfind(sign, opened.end()))
    opened = _BEGIN.search(plain) if _may_begin(plain) else None
    if opened is not None:
        ends = [found.start() for found in _END.finditer(text, opened.end())]
        yield opened.start(), _closed_at(text, ends[-1] if ends else -1)
    for opening, sign, closing in _PAIRS:
        opened = opening.search(plain) if sign in plain else None
        if opened is not None:
            yield opened.start(), _closed_at(text, text.rfind(closing, opened.end()))


def _may_begin(plain: str) -> bool:
    """Whether one of the words can stand there. Some letters of other alphabets count as theirs."""
    return not plain.isascii() or "begin" in (lower := plain.lower()) or "start" in lower


def _elements(text: str, plain: str) -> Iterator[Span]:
    """`<name>` and `[name]`. One that is closed nowhere takes its line where it begins it, and is still a
    mark where it ends it: what it encloses may have lost its end."""
    closed = {found[1].casefold(): found.end() for found in _ELEMENT_CLOSED.finditer(text)}
    for found in _ELEMENT.finditer(plain):
        start = found.start()
        end = closed.get(found[1].casefold(), 0)
        if end > start:
            yield start, end
        elif _begins_line(plain, start):
            yield start, _line_end(plain, start)
        elif not plain[start - 1].isalnum() and _TAG_REST.match(plain, found.end()):
            yield start, start
    closed = {found[1].casefold(): found.end() for found in _BRACKET_CLOSED.finditer(text)}
    for found in _BRACKET.finditer(plain):
        start = found.start()
        end = closed.get(found[1].casefold(), 0)
        is_alone = (
            _begins_line(plain, start) and not plain[found.end() : _line_end(plain, start)][:80].strip()
        )
        if end > start or is_alone:
            yield start, max(start, end)


def _heredocs(text: str, plain: str) -> Iterator[Span]:
    if "<<" not in plain:
        return
    closed = {found[1]: found.end() for found in _LONE_WORD.finditer(text)}
    for found in _HEREDOC.finditer(plain):
        end = closed.get(found[1], 0)
        if end > found.end():
            yield found.start(), _line_end(plain, end)
        elif found[1].isupper():
            yield found.start(), len(plain)


def _find_indented(plain: str) -> Iterator[Span]:
    """Quoted lines with what goes on below them, and code that is told by its indentation: behind a blank
    line, behind a colon, or at the very beginning."""
    place = 0
    above = ""
    is_quoted = is_code = False
    for line in plain.splitlines(keepends=True):
        is_blank = not line.strip()
        is_quoted = not is_blank and (is_quoted or _QUOTED.match(line) is not None)
        opens_code = is_code or not above or above.endswith((":", "："))
        is_code = opens_code and _INDENTED.match(line) is not None
        if is_quoted or is_code:
            yield place, place + len(line)
        above = line.strip()
        place += len(line)


def _closed_at(text: str, closing: int) -> int:
    return len(text) if closing < 0 else _line_end(text, closing)


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def _begins_line(text: str, place: int) -> bool:
    # No farther back than this, for a line may hold very many marks.
    return not text[max(0, place - 80) : place].rpartition("\n")[2].strip()


def _blanks(found: re.Match[str]) -> str:
    return " " * len(found[0])


_VISIBLE = re.compile(r"[^\r\n]+")
