"""Where words come from: what runs read from outside is recorded here, and asked after (TNT-5).

The one place that does either. What a file, a later session or a caller says in words that were once read
from outside is from outside as well, and names where they were first seen.
"""

from collections import Counter
from datetime import datetime, timedelta

from runlore.domain import limits
from runlore.domain.detectors.outside_texts import OutsideTexts
from runlore.domain.record import Record
from runlore.domain.run import Run
from runlore.domain.taint import TRUSTED, Provenance
from runlore.domain.taint_sources.fingerprints import (
    FINGERPRINTS_PER_RUN_MAX,
    FirstSeen,
    fingerprint_text,
    is_from_outside,
    origin_in,
)
from runlore.domain.taint_sources.kinds import WorkPlace
from runlore.ports.store import Collections, Transaction


def place_of(collections: Collections, run: Run) -> WorkPlace:
    session = collections.sessions.find(run.session_id)
    folder = "" if session is None else session.working_folder or ""
    return WorkPlace(folder=folder, is_ours=run.executor is not None)


def listen_inside(collections: Collections, run: Run) -> OutsideTexts | None:
    """What listens for known words in a run of which nothing is kept; None where no words are known."""
    if collections.outside_words.is_empty():
        return None
    return OutsideTexts(place_of(collections, run), asks_only=True)


def trace_text(collections: Collections, text: str) -> Provenance:
    """What a statement's words say of where it comes from."""
    if collections.outside_words.is_empty():
        return TRUSTED
    fingerprints = fingerprint_text(text, is_whole=True)
    known = collections.outside_words.find(fingerprints)
    if not known or not is_from_outside(fingerprints, len(known), is_statement=True):
        return TRUSTED
    return _provenance([*known.values()])


def rests_on(collections: Collections, record: Record, origin: str) -> bool:
    """Whether a record names an origin among its sources, cleared or not, or has words first seen there."""
    sources = (*record.provenance.sources, *trace_text(collections, record.summary).sources)
    return origin in map(origin_in, sources)


def find_carried(collections: Collections, heard: OutsideTexts) -> tuple[tuple[int, str], ...]:
    """The events of a run whose results, from inside, have words of outside; with what is said of them."""
    if not (heard.inside or heard.read_files) or collections.outside_words.is_empty():
        return ()
    asked = {each for _, found in heard.inside for each in found}
    files = {file for _, file in heard.read_files}
    known = collections.outside_words.find([*files, *sorted(asked)[:FINGERPRINTS_PER_RUN_MAX]])
    carried = [(number, known[file].sentence) for number, file in heard.read_files if file in known]
    for number, found in heard.inside:
        seen = [known[each] for each in found & known.keys()]
        if seen and is_from_outside(found, len(seen)):
            carried.append((number, _first(seen).sentence))
    return tuple(sorted(carried))


def carried_provenance(collections: Collections, heard: OutsideTexts) -> Provenance:
    """The same for all of a run."""
    told = dict.fromkeys(sentence for _, sentence in find_carried(collections, heard))
    sources = tuple(told)[: limits.TAINT_SOURCES_MAX]
    return Provenance(untrusted=True, needs_review=True, sources=sources) if sources else TRUSTED


def record_outside(tx: Transaction, run: Run, heard: OutsideTexts, now: datetime) -> None:
    """Keep the fingerprints of what a run read from outside, and let the oldest go beyond the limit."""
    room = FINGERPRINTS_PER_RUN_MAX
    kept: dict[str, list[int]] = {}
    for source, found in heard.outside.items():
        kept[source] = sorted(found)[:room]
        room -= len(kept[source])
    for source, files in _written_with(tx, heard).items():
        kept[source] = sorted({*kept.get(source, ()), *files})
    if kept:
        tx.outside_words.record(run.run_id, run.finished_at or now, kept)
        before = now - timedelta(days=limits.OUTSIDE_WORDS_DAYS)
        tx.outside_words.prune(before=before, words_max=limits.OUTSIDE_WORDS_MAX)


def _written_with(tx: Transaction, heard: OutsideTexts) -> dict[str, set[int]]:
    """The files that a run wrote with words from outside, or made of files that have them, by where these are
    from: what it read itself, or what runs before it did."""
    files: dict[str, set[int]] = {}
    if not (heard.written or heard.derived):
        return files
    words = sorted({each for _, found in heard.written for each in found})[:FINGERPRINTS_PER_RUN_MAX]
    places = {each for given, _ in heard.derived for each in given}
    known = {each: seen.source for each, seen in tx.outside_words.find([*words, *places]).items()}
    known |= {each: source for source, found in heard.outside.items() for each in found}
    for file, found in heard.written:
        sources = Counter(known[each] for each in found & known.keys())
        if sources and is_from_outside(found, sources.total(), is_statement=True):
            known[file] = sources.most_common(1)[0][0]
            files.setdefault(known[file], set()).add(file)
    for given, file in heard.derived:
        source = next((known[each] for each in given if each in known), None)
        if source is not None:
            known[file] = source
            files.setdefault(source, set()).add(file)
    return files


def _provenance(seen: list[FirstSeen]) -> Provenance:
    return Provenance(untrusted=True, needs_review=True, sources=(_first(seen).sentence,))


def _first(seen: list[FirstSeen]) -> FirstSeen:
    """The source of most of the words; of several the earliest."""
    counted = Counter(seen)
    return min(counted, key=lambda each: (-counted[each], each.at, each.source))
