"""What a session can find: visible learnings, recovered runs and visible skills, on one scale.

They share the scale: all are searched relative to one collection, whose sizes and document frequencies are
the sums of theirs. Runs are found through the index of run memories and never by reading
transcripts; one whose memory is missing, unreadable or too old is passed over.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from runlore.domain import limits
from runlore.domain.lazy import dataclass
from runlore.domain.record import LEARNING_KINDS, Record, Sensitivity, State
from runlore.domain.records.visibility import Hidden, hidden_because
from runlore.domain.run import RunId
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.search.ranking import Collection, Query, RankFilter, analyse_query, metadata_text
from runlore.domain.text.analysis import fold_text, tokenize
from runlore.domain.text.excerpt import excerpt
from runlore.flow.prompt_context.hidden import find_overruled
from runlore.flow.prompt_context.run_search import FoundRun, RunHits, RunSearch
from runlore.flow.prompt_context.search import SearchSnapshot
from runlore.flow.prompt_context.skill_search import (
    RankedSkill,
    SkillSearchHit,
    best_skills,
    latest_skills,
    skill_collection,
)
from runlore.ports.store import RecordFilter

# The newest learnings that a view without a query chooses from.
_BROWSED_MAX = 200
_TITLE_CHARS_MAX = 80
_ACTIVE = frozenset({State.ACTIVE})


@dataclass(frozen=True, kw_only=True)
class SessionQuery:
    """What a session looks for among what it sees, now or at a past moment."""

    scopes: tuple[Scope, ...]
    query: str | None
    limit: int
    now: datetime


@dataclass(frozen=True, kw_only=True)
class SessionFound:
    """One thing that was found. `score` is 0 where nothing was asked."""

    kind: str
    source_id: str
    title: str
    excerpt: str
    score: int
    timestamp: datetime
    scope: Scope
    prompt_eligible: bool
    matched_fields: tuple[str, ...] = ()
    tainted: bool = False


@dataclass(frozen=True, kw_only=True)
class SessionMatches:
    """What a snapshot says: the learnings and skills that were found, and the runs before their memories are
    read."""

    learnings: tuple[SessionFound, ...]
    runs: RunHits
    skills: tuple[SessionFound, ...] = ()


def gather(
    learnings: SearchSnapshot,
    runs: RunSearch,
    asked: SessionQuery,
    *,
    spare: int,
    skills: Sequence[RankedSkill] = (),
) -> SessionMatches:
    """The best of each, one more than asked for, and some runs to spare for those that are not there.
    `skills` are those that the session sees."""
    wanted = asked.limit + 1
    if asked.query is None:
        latest = latest_skills(skills, limit=wanted)
        return SessionMatches(
            learnings=_recent(learnings, asked),
            runs=runs.newest(limit=wanted + spare),
            skills=tuple(_skill(each, None) for each in latest),
        )
    where = RankFilter(
        kinds=LEARNING_KINDS,
        states=_ACTIVE,
        scopes=frozenset(asked.scopes),
        include_sensitive=False,
        now=asked.now,
    )
    query = analyse_query(asked.query)
    alone = [
        learnings.ranking(asked.query, where=where, limit=0).collection,
        runs.ranking(asked.query, limit=0).collection,
        skill_collection(query, skills),
    ]
    joint = join_collections(query, alone)
    ranking = learnings.ranking(asked.query, where=where, limit=wanted, relative_to=joint)
    ranked = learnings.explain(ranking, asked.query)
    lost = find_overruled(learnings, (each.record for each in ranked), asked.scopes, asked.now)
    found = tuple(
        _describe(
            each.record, hidden_because(each.record, asked.now, overruled=lost), each.score.total, query
        )
        for each in ranked
    )
    best = best_skills(query, skills, relative_to=joint, limit=wanted)
    return SessionMatches(
        learnings=found,
        runs=runs.best(asked.query, limit=wanted + spare, relative_to=joint),
        skills=tuple(_skill(each, query) for each in best),
    )


def merge_results(
    learnings: Sequence[SessionFound],
    runs: Iterable[FoundRun],
    asked: SessionQuery,
    *,
    in_prompt: frozenset[RunId],
) -> list[SessionFound]:
    """The best first, one more than asked for where there is more. `in_prompt` are the runs that the
    session's next prompt would be given."""
    query = None if asked.query is None else analyse_query(asked.query)
    found = [*learnings, *(_run(each, query, in_prompt) for each in runs)]
    found.sort(key=lambda each: each.source_id)
    found.sort(key=lambda each: (each.score, each.timestamp), reverse=True)
    return found[: asked.limit + 1]


def join_collections(query: Query, collections: Sequence[Collection]) -> Collection:
    return Collection(
        size=sum(each.size for each in collections),
        newest_at_ms=max(each.newest_at_ms for each in collections),
        document_frequency={
            term: sum(each.document_frequency[term] for each in collections) for term in query.terms
        },
    )


def _recent(learnings: SearchSnapshot, asked: SessionQuery) -> tuple[SessionFound, ...]:
    """What was published last. Runs come beside it by their end."""
    where = RecordFilter(kinds=LEARNING_KINDS, states=_ACTIVE, scopes=frozenset(asked.scopes), now=asked.now)
    records = learnings.page(where, limit=_BROWSED_MAX)
    lost = find_overruled(learnings, records, asked.scopes, asked.now)
    return tuple(
        _describe(record, hidden_because(record, asked.now, overruled=lost), 0, None)
        for record in records
        if record.sensitivity is not Sensitivity.SENSITIVE
    )


def _describe(record: Record, hidden: Hidden | None, score: int, query: Query | None) -> SessionFound:
    fields = [("summary", record.summary), ("metadata", metadata_text(record))]
    matched = _match_fields(fields, query)
    # Only content is scored against an input, so what its metadata alone finds is not given to a prompt.
    would_score = query is None or "summary" in matched
    return SessionFound(
        kind="learning",
        source_id=record.record_id,
        title=_title(record.summary),
        excerpt=_excerpt(fields[:1], ()),
        score=score,
        timestamp=record.published_at or record.created_at,
        scope=record.scope,
        prompt_eligible=would_score and hidden is None,
        tainted=record.provenance.tainted,
        matched_fields=matched,
    )


def _run(found: FoundRun, query: Query | None, in_prompt: frozenset[RunId]) -> SessionFound:
    memory = found.memory
    fields = [
        ("summary", memory.summary),
        ("request_preview", memory.request_preview or ""),
        ("outcome_preview", memory.outcome_preview or ""),
        ("failure_markers", "\n".join(memory.failure_markers)),
    ]
    matched = _match_fields(fields, query)
    return SessionFound(
        kind="recovered_run",
        source_id=memory.run_id,
        title=_title(memory.request_preview or memory.summary),
        excerpt=_excerpt(fields, matched),
        score=found.score,
        timestamp=memory.captured_at,
        scope=Scope(ScopeKind.SESSION, memory.session_id),
        prompt_eligible=memory.run_id in in_prompt,
        matched_fields=matched,
    )


def _skill(found: SkillSearchHit, query: Query | None) -> SessionFound:
    """A skill that is visible may be used, so a prompt may be given it."""
    document = found.skill.document
    fields = [
        ("description", document.description),
        ("name", document.name),
        ("topics", "\n".join(document.topics)),
        ("actions", "\n".join(document.actions)),
    ]
    return SessionFound(
        kind="skill",
        source_id=found.skill.skill_id,
        title=document.name,
        excerpt=_excerpt(fields[:1], ()),
        score=found.score,
        timestamp=found.skill.updated_at,
        scope=WORKSPACE,
        prompt_eligible=True,
        matched_fields=_match_fields(fields, query),
    )


def _title(text: str) -> str:
    first = next((line for line in text.split("\n") if line.strip()), "")
    return excerpt(first.strip(), _TITLE_CHARS_MAX)


def _excerpt(fields: Iterable[tuple[str, str]], matched: Sequence[str]) -> str:
    """The first field that matches, or the first one."""
    texts = dict(fields)
    name = matched[0] if matched else next(iter(texts))
    return excerpt(texts[name], limits.SEARCH_EXCERPT_CHARS_MAX)


def _match_fields(fields: Iterable[tuple[str, str]], query: Query | None) -> tuple[str, ...]:
    if query is None:
        return ()
    terms = frozenset(query.terms)
    return tuple(
        name
        for name, text in fields
        if text and (fold_text(text) == query.whole or not terms.isdisjoint(tokenize(text)))
    )
