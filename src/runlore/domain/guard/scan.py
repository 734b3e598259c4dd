"""The guard itself: find every secret in a text, find one quickly, or replace them all."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

from runlore.domain.guard.assignment import find_assignment, identifier_end
from runlore.domain.guard.decoding import RUN_CHARS_MIN, decoded_texts, unescaped
from runlore.domain.guard.finding import ASSIGNMENT, REDACTION_MARKER, Finding
from runlore.domain.guard.patterns import compiled
from runlore.domain.guard.prefilter import hits
from runlore.domain.guard.providers import OPAQUE_SHAPES
from runlore.domain.guard.shapes import END, find_opaque
from runlore.domain.guard.structures import find_manifest, manifest_values
from runlore.domain.guard.view import View, view_of

OPAQUE = rb"[A-Za-z0-9+/=_.~-]{20,}"
# All shapes at once, without what has to stand behind them: most texts have none.
ANY_OPAQUE_SHAPE = b"|".join(b"(?:" + shape.pattern.removesuffix(END) + b")" for shape in OPAQUE_SHAPES)
REDACT_ROUNDS_MAX = 8
SPECIFICITY = {REDACTION_MARKER: 0, ASSIGNMENT: 1}
"""The rules that give way to others where findings overlap, least specific first."""


def find_secrets(text: str) -> tuple[Finding, ...]:
    """Every secret and redaction marker in a text, in order and without overlap."""
    return tuple(_merged(_findings(text)))


def first_secret(text: str) -> Finding | None:
    """One finding, when there is any: the first that the scan meets."""
    return next(_findings(text), None)


def redact(text: str) -> tuple[str, int]:
    """The text with every secret replaced by `<redacted:RULE>`, and how many were replaced.

    Markers that are in the text already stay as they are, so doing it twice changes nothing more.
    """
    count = 0
    for _ in range(REDACT_ROUNDS_MAX):
        secrets = list(_merged(found for found in _findings(text) if found.rule != REDACTION_MARKER))
        if not secrets:
            return text, count
        text = _replaced(text, secrets)
        count += len(secrets)
    # What keeps turning into a secret while it is being redacted is not worth keeping.
    return "<redacted:unstable>", count


def secret_spans(text: str) -> tuple[Finding, ...]:
    """What `redact` takes out of a text, in order and without overlap: where it stood in the text itself."""
    now, spans = text, list[Finding]()
    for _ in range(REDACT_ROUNDS_MAX):
        secrets = list(_merged(found for found in _findings(now) if found.rule != REDACTION_MARKER))
        if not secrets:
            return tuple(spans)
        spans = list(_merged([*spans, *_before_redaction(secrets, spans)]))
        now = _replaced(text, spans)
    return (Finding("unstable", 0, len(text)),)


def _before_redaction(findings: Iterable[Finding], spans: Sequence[Finding]) -> Iterator[Finding]:
    """Where findings stand in the text from which spans were taken out; one that touches the marker of a
    span has all of the span in it."""
    markers: list[int] = []
    shift = 0
    for span in spans:
        markers.append(span.start + shift)
        shift += len(_marker(span)) - (span.end - span.start)
    for found in findings:
        first, last = bisect_right(markers, found.start) - 1, bisect_left(markers, found.end) - 1
        start, end = found.start, found.end
        if first >= 0:
            behind = start - markers[first] - len(_marker(spans[first]))
            start = spans[first].end + behind if behind >= 0 else spans[first].start
        if last >= 0:
            end = spans[last].end + max(0, end - markers[last] - len(_marker(spans[last])))
        yield Finding(found.rule, start, end)


def _marker(finding: Finding) -> str:
    return f"<redacted:{finding.rule}>"


def _replaced(text: str, findings: Iterable[Finding]) -> str:
    parts: list[str] = []
    done = 0
    for finding in findings:
        parts += text[done : finding.start], _marker(finding)
        done = finding.end
    return "".join([*parts, text[done:]])


def _findings(text: str) -> Iterator[Finding]:
    view = view_of(text)
    yield from _mapped(view, _findings_in(view))
    decoded = unescaped(view)
    if decoded is not None:
        yield from _mapped(view, _mapped(decoded, _findings_in(decoded)))
    yield from _mapped(view, _findings_in_opaque(view))


def _findings_in(view: View) -> Iterator[Finding]:
    named = read = 0
    for detector, start, end in hits(view.lower):
        if detector is find_assignment:
            # One name may have several known words in it, as in `auth_token_key`.
            if start < named:
                continue
            named = identifier_end(view.data, end)
        elif detector is find_manifest:
            values, read = manifest_values(view, start, read)
            yield from values
            continue
        finding = detector(view, start, end)
        if finding is not None:
            yield finding


def _findings_in_opaque(view: View) -> Iterator[Finding]:
    """What stands in long runs of token characters: shapes without an anchor, and encoded secrets."""
    data = view.data
    if len(data) < RUN_CHARS_MIN:
        return
    shapes = OPAQUE_SHAPES if compiled(ANY_OPAQUE_SHAPE).search(data) is not None else ()
    for run in compiled(OPAQUE).finditer(data) if shapes else ():
        for shape in shapes:
            yield from find_opaque(shape, view, run.start(), run.end())
    for text, start, end in decoded_texts(data):
        for inner in _findings_in(view_of(text)):
            yield Finding(inner.rule, start, end)


def _mapped(view: View, findings: Iterable[Finding]) -> Iterator[Finding]:
    for finding in findings:
        start, end = view.original_span(finding.start, finding.end)
        yield Finding(finding.rule, start, end)


def _merged(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Overlapping findings become one, named after the most specific and covering them all."""
    current: Finding | None = None
    for finding in sorted(findings, key=lambda finding: (finding.start, -finding.end)):
        if current is None or finding.start >= current.end:
            if current is not None:
                yield current
            current = finding
        else:
            current = Finding(_more_specific(current, finding), current.start, max(current.end, finding.end))
    if current is not None:
        yield current


def _more_specific(one: Finding, other: Finding) -> str:
    return max(one.rule, other.rule, key=lambda rule: SPECIFICITY.get(rule, len(SPECIFICITY)))
