"""The guard itself: find every secret in a text, find one quickly, or replace them all.

Which rule is tried where: one pass over the text finds every anchor of every rule.

Ordinary prose has next to no anchors and costs only this pass.

One level is decoded: escapes in a text, and texts that long runs of token characters encode. A run is decoded
only when it is long enough to hold a secret, and read only when all of it comes out as text.
"""

import binascii
import html
from base64 import b32decode, b64decode
from binascii import a2b_base64
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Protocol, cast

import ahocorasick

from runlore.domain.guard.assignment import (
    COLUMN_HEADS,
    LOOK_STEPS,
    PLACE_STEPS,
    STEPS,
    column_values,
    find_assignment,
    identifier_end,
)
from runlore.domain.guard.finding import ASSIGNMENT, REDACTION_MARKER, UNREAD, SecretFinding
from runlore.domain.guard.patterns import WINDOW_CHARS, compile_pattern
from runlore.domain.guard.providers import OPAQUE_SHAPES, SHAPES
from runlore.domain.guard.shapes import END, find_bare, find_named, find_opaque, find_prefixed, find_shape
from runlore.domain.guard.structures import (
    MANIFEST_KIND,
    Detector,
    find_armoured_key,
    find_bare_userinfo,
    find_manifest,
    find_marker,
    find_putty_key,
    find_signed_token,
    find_tail_of_key,
    find_user_option,
    find_userinfo,
    manifest_values,
    place_detectors,
)
from runlore.domain.guard.view import CharacterOrigins, View, view_from, view_of
from runlore.domain.guard.vocabulary import NAME_ANCHORS

ESCAPES = (
    # A colour shows nothing, as the byte or written down; a line or a string that goes on is one.
    rb"(?:\x1b|\\u001[bB]|\\x1[bB]|\\033|\\e)\[[0-9;?]{0,24}[A-Za-z]|\\\r?\n[ \t]*"
    rb"|[\"'][ \t]{0,8}\+\s{0,40}[\"']"
    rb"|(?:%[0-9A-Fa-f]{2})+|(?:\\u[0-9A-Fa-f]{4})+|(?:\\x[0-9A-Fa-f]{2})+"
    rb"|&(?:#[0-9]{2,7}|#[xX][0-9A-Fa-f]{2,6}|amp|quot|apos|lt|gt|equals|colon);"
)
ESCAPING = b"%\\&+\x1b"
BASE64_CHARS_MIN = 16
RUN = rb"[A-Za-z0-9+/_-]{16,}={0,6}"
TOKEN = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_.~-"
"""The characters of tokens, and how many of them in a row may hide something."""
RUN_CHARS_MIN = 20
ASKING_CHARS_MIN = 3
HEX_DIGITS = b"0123456789abcdefABCDEF"
BASE32_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
HEX_CHARS_MIN = 32
URL_ALPHABET = bytes.maketrans(b"-_", b"+/")
READABLE = bytes(range(0x20, 0x7F)) + b"\t\r\n"


def decode_escapes(view: View) -> View | None:
    """The view with its escapes decoded and its colours left out, or nothing when it has none."""
    if len(view.data.translate(None, ESCAPING)) == len(view.data):
        return None
    # A line end that is written down takes as much room as a space and the line end.
    whole = view.text.replace("\\n", " \n").replace("\\r", " \r").replace("\\t", " \t")
    parts: list[str] = []
    spans: list[tuple[int, int, int]] = []
    done = 0
    for match in compile_pattern(ESCAPES).finditer(view.data):
        start, end = match.start(), match.end()
        decoded = _unescape(view.data[start:end])
        parts += whole[done:start], decoded
        spans.append((start, end, len(decoded)))
        done = end
        view.effort.left -= 2
        if view.effort.left < 0:
            break
    if not done:
        return view_from(whole, None, view.effort) if whole != view.text else None
    parts.append(whole[done:])
    return view_from("".join(parts), CharacterOrigins(lambda: _origin(spans, len(whole))), view.effort)


def _unescape(escape: bytes) -> str:
    text = escape.decode("latin-1")
    if text[0] == "%":
        return bytes.fromhex(text.replace("%", "")).decode("latin-1")
    if text[0] == "&":
        # An entity may stand for more than one character, or for none.
        return html.unescape(text)[:1]
    if text[0] in "\x1b\"'" or "[" in text or "\n" in text:
        return ""
    return "".join(chr(int(code, 16)) for code in text.split(text[:2])[1:])


def _origin(spans: Sequence[tuple[int, int, int]], size: int) -> list[int]:
    places: list[int] = []
    done = 0
    for start, end, count in spans:
        places += range(done, start)
        places += (start + (end - start) * at // count for at in range(count))
        done = end
    return [*places, *range(done, size + 1)]


def decode_run(data: bytes, start: int, end: int) -> Iterator[str]:
    """The readable texts that a run of token characters may encode."""
    run = data[start:end]
    # Of most runs the beginning shows that they hold no text.
    head = a2b_base64(run[:BASE64_CHARS_MIN].translate(URL_ALPHABET)).translate(None, READABLE)
    if not head.strip(b"\x00") and _is_long(data, start, end):
        yield from _readable(_from_base64(run))
    if len(run) >= HEX_CHARS_MIN:
        bare = run.rstrip(b"=")
        if not len(run) % 2 and not run.translate(None, HEX_DIGITS):
            yield from _readable(bytes.fromhex(run.decode("ascii")))
        elif not bare.translate(None, BASE32_LETTERS):
            yield from _readable(_from_base32(bare))


def _readable(decoded: bytes) -> Iterator[str]:
    rest = decoded.translate(None, READABLE)
    if decoded and not rest:
        yield decoded.decode("ascii")
    elif decoded and len(rest) * 2 == len(decoded) and not rest.strip(b"\x00"):
        # UTF-16, as a shell of Windows takes it.
        yield decoded.replace(b"\x00", b"").decode("ascii")


def _is_long(data: bytes, start: int, end: int) -> bool:
    """Whether what stands here is a part of a run that is long enough."""
    before, behind = data[max(0, start - RUN_CHARS_MIN) : start], data[end : end + RUN_CHARS_MIN]
    around = len(before) - len(before.rstrip(TOKEN)) + len(behind) - len(behind.lstrip(TOKEN))
    return end - start + around >= RUN_CHARS_MIN


def _from_base64(run: bytes) -> bytes:
    bare = run.rstrip(b"=").translate(URL_ALPHABET)
    if len(bare) % 4 == 1:
        bare = bare[:-1]
    try:
        return b64decode(bare + b"=" * (-len(bare) % 4))
    except (binascii.Error, ValueError):
        return b""


def _from_base32(bare: bytes) -> bytes:
    try:
        return b32decode(bare + b"=" * (-len(bare) % 8))
    except (binascii.Error, ValueError):
        return b""


STRUCTURES: tuple[tuple[Detector, tuple[str, ...]], ...] = (
    (find_marker, ("redacted", "filtered]", "masked]", "scrubbed]")),
    (find_armoured_key, ("-----begin", "---- begin")),
    (find_tail_of_key, ("-----end",)),
    (find_putty_key, ("private-lines:",)),
    (find_signed_token, ("eyj",)),
    (find_userinfo, ("://",)),
    (find_bare_userinfo, ("@",)),
    (find_user_option, ("-u", "--user", "-su", "-a ", "/u:", "stats auth")),
    (find_manifest, (MANIFEST_KIND,)),
)
OPAQUE = rb"[A-Za-z0-9+/=_.~-]{20,}"
# All shapes at once, without what has to stand behind them: most texts have none.
ANY_OPAQUE_SHAPE = b"|".join(b"(?:" + shape.pattern.removesuffix(END) + b")" for shape in OPAQUE_SHAPES)
REDACT_ROUNDS_MAX = 8
CHARS_A_STEP_OF_RUN = 8
SPECIFICITY = {
    rule: rank
    for rank, rule in enumerate(
        (REDACTION_MARKER, "bare-token", ASSIGNMENT, "column", "named-token", "prefixed-token", "secret-key")
    )
}
"""The rules that give way to others where findings overlap, least specific first."""


class Automaton(Protocol):
    """The part of the Aho-Corasick automaton that is used."""

    def iter(self, text: str, /) -> Iterator[tuple[int, tuple[int, tuple[Detector, ...]]]]: ...


def hits(lower: str) -> Iterator[tuple[Detector, int, int]]:
    """Every detector to be tried on a text in lower case, with the span of the anchor that asks for it."""
    for last, (size, detectors) in _automaton().iter(lower):
        for detector in detectors:
            yield detector, last + 1 - size, last + 1


@cache
def _automaton() -> Automaton:
    by_anchor: dict[str, list[Detector]] = defaultdict(list)
    for detector, anchors in (*STRUCTURES, *place_detectors()):
        for anchor in anchors:
            by_anchor[anchor].append(detector)
    for shape in SHAPES:
        for anchor in shape.anchors:
            by_anchor[anchor].append(partial(find_shape, shape))
    for word in NAME_ANCHORS:
        by_anchor[word].append(find_assignment)
    for head in COLUMN_HEADS:
        by_anchor[head].append(find_column)
    automaton = ahocorasick.Automaton()
    for anchor, detectors in by_anchor.items():
        automaton.add_word(anchor, (len(anchor), tuple(detectors)))
    automaton.make_automaton()
    return cast("Automaton", automaton)


def find_column(view: View, start: int, end: int) -> SecretFinding | None:
    return next(column_values(view, start, end), None)


def find_secrets(text: str) -> tuple[SecretFinding, ...]:
    """Every secret and redaction marker in a text, in order and without overlap."""
    return tuple(_merge(_findings(view_of(text))))


def first_secret(text: str) -> SecretFinding | None:
    return next(_findings(view_of(text)), None)


def redact(text: str) -> tuple[str, int]:
    """The text with every secret replaced by `<redacted:RULE>`, and how many were replaced.

    Markers that are in the text already stay as they are, so doing it twice changes nothing more.
    """
    spans = secret_spans(text)
    return _replace(text, spans), len(spans)


def secret_spans(text: str) -> tuple[SecretFinding, ...]:
    """What `redact` takes out of a text, in order and without overlap: where it stood in the text itself.

    What is left is read again, near the places where something was taken out: it may make a secret anew.
    """
    view, spans, touched = view_of(text), list[SecretFinding](), None
    for _ in range(REDACT_ROUNDS_MAX):
        secrets = [*_merge(found for found in _findings(view, touched) if found.rule != REDACTION_MARKER)]
        if not secrets:
            return tuple(spans)
        effort = view.effort if spans else view.effort.for_reading_again()
        spans = list(_merge([*spans, *_before_redaction(secrets, spans)]))
        if (spans[0].start, spans[0].end) == (0, len(text)):
            return tuple(spans)
        view = view_of(_replace(text, spans), effort)
        touched = _marker_starts(spans) if view.origin is None else None
    # What keeps turning into a secret while it is being redacted is not worth keeping.
    return (SecretFinding("unstable", 0, len(text)),)


def _before_redaction(
    findings: Iterable[SecretFinding], spans: Sequence[SecretFinding]
) -> Iterator[SecretFinding]:
    """Where findings stand in the text from which spans were taken out; one that touches the marker of a
    span has all of the span in it."""
    markers = _marker_starts(spans)
    for found in findings:
        first, last = bisect_right(markers, found.start) - 1, bisect_left(markers, found.end) - 1
        start, end = found.start, found.end
        if first >= 0:
            behind = start - markers[first] - len(_marker(spans[first]))
            start = spans[first].end + behind if behind >= 0 else spans[first].start
        if last >= 0:
            end = spans[last].end + max(0, end - markers[last] - len(_marker(spans[last])))
        yield SecretFinding(found.rule, start, end)


def _marker_starts(spans: Iterable[SecretFinding]) -> list[int]:
    starts: list[int] = []
    shift = 0
    for span in spans:
        starts.append(span.start + shift)
        shift += len(_marker(span)) - (span.end - span.start)
    return starts


def _marker(finding: SecretFinding) -> str:
    return f"<redacted:{finding.rule}>"


def _replace(text: str, findings: Iterable[SecretFinding]) -> str:
    parts: list[str] = []
    done = 0
    for finding in findings:
        parts += text[done : finding.start], _marker(finding)
        done = finding.end
    return "".join([*parts, text[done:]])


def _asks(view: View) -> bool:
    """Whether anything in a text has to be judged. What a short anchor leads to is a long run as well."""
    return (
        any(end - start >= ASKING_CHARS_MIN for _, start, end in hits(view.lower))
        or compile_pattern(RUN).search(view.data) is not None
    )


def _findings(view: View, touched: Sequence[int] | None = None) -> Iterator[SecretFinding]:
    if view.effort.left <= 0:
        # Nothing is left of what its body may cost: a text that asks to be judged is taken out whole.
        if _asks(view):
            yield SecretFinding(UNREAD, *view.original_span(0, len(view.data)))
        return
    yield from _map_to_original(view, _findings_in(view, touched))
    decoded = decode_escapes(view)
    if decoded is not None:
        if view.effort.left < 0:
            yield SecretFinding(UNREAD, *view.original_span(0, len(view.data)))
        yield from _map_to_original(view, _map_to_original(decoded, _findings_in(decoded)))
    yield from _map_to_original(view, _findings_in_opaque(view, touched))


def _is_near(touched: Sequence[int] | None, start: int) -> bool:
    """Whether something was taken out so near that what stands here may read differently."""
    if touched is None:
        return True
    at = bisect_left(touched, start - WINDOW_CHARS)
    return at < len(touched) and touched[at] <= start + WINDOW_CHARS


def _findings_in(view: View, touched: Sequence[int] | None = None) -> Iterator[SecretFinding]:
    named = read = 0
    for detector, start, end in hits(view.lower):
        if view.effort.left <= 0:
            yield SecretFinding(UNREAD, start, len(view.data))
            return
        if detector is find_assignment:
            # One name may have several known words in it, as in `auth_token_key`.
            if start < named or not _is_near(touched, start):
                continue
            view.effort.left -= LOOK_STEPS
            named = identifier_end(view.data, end)
        elif detector is find_column:
            yield from column_values(view, start, end)
            continue
        elif detector is find_manifest:
            values, read = manifest_values(view, start, read)
            view.effort.left -= STEPS * (1 + len(values))
            yield from values
            continue
        elif not _is_near(touched, start):
            continue
        else:
            view.effort.left -= PLACE_STEPS
        finding = detector(view, start, end)
        if finding is not None:
            view.effort.left -= 2 * STEPS
            yield finding


def _findings_in_opaque(view: View, touched: Sequence[int] | None) -> Iterator[SecretFinding]:
    """What stands in long runs of token characters: shapes without an anchor, and encoded secrets."""
    data = view.data
    if len(data) < RUN_CHARS_MIN:
        return
    view.effort.turn_to_runs()
    shapes = OPAQUE_SHAPES if compile_pattern(ANY_OPAQUE_SHAPE).search(data) is not None else ()
    for run in compile_pattern(OPAQUE).finditer(data) if shapes else ():
        for shape in shapes:
            yield from find_opaque(shape, view, run.start(), run.end())
    for run in compile_pattern(RUN).finditer(data):
        start, end = run.start(), run.end()
        if not _is_near(touched, start):
            continue
        view.effort.left -= 1 + (end - start) // CHARS_A_STEP_OF_RUN
        if view.effort.left < 0:
            yield SecretFinding(UNREAD, start, len(data))
            return
        for finding in (*find_prefixed(view, start, end), *find_named(view, start, end)):
            view.effort.left -= STEPS
            yield finding
        texts = tuple(decode_run(data, start, end))
        if not texts:
            yield from find_bare(view, start, end)
        for text in texts:
            view.effort.left -= 2 * STEPS
            for inner in _findings_in(view_from(view_of(text, view.effort).text, effort=view.effort)):
                yield SecretFinding(inner.rule, start, end)


def _map_to_original(view: View, findings: Iterable[SecretFinding]) -> Iterator[SecretFinding]:
    for finding in findings:
        start, end = view.original_span(finding.start, finding.end)
        yield SecretFinding(finding.rule, start, end)


def _merge(findings: Iterable[SecretFinding]) -> Iterator[SecretFinding]:
    """Overlapping findings become one, named after the most specific and covering them all."""
    current: SecretFinding | None = None
    for finding in sorted(findings, key=lambda finding: (finding.start, -finding.end)):
        if current is None or finding.start >= current.end:
            if current is not None:
                yield current
            current = finding
        else:
            current = SecretFinding(
                _more_specific(current, finding), current.start, max(current.end, finding.end)
            )
    if current is not None:
        yield current


def _more_specific(one: SecretFinding, other: SecretFinding) -> str:
    return max(one.rule, other.rule, key=lambda rule: SPECIFICITY.get(rule, len(SPECIFICITY)))
