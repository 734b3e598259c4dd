"""Random records, filters and queries that meet each other often: few words, few times, few scopes."""

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from runlore.domain.record import JsonValue, Kind, Layer, Record, RecordId, Sensitivity, Source, State
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.search.ranking import RankFilter
from runlore.ports.index import Overlay
from tests.builders import ACME
from tests.fakes import START

_ENGLISH = """
    cat category cats deploy deployed Deployment the of and canary release don't it's
    node.js nodeJs snake_case C++ C# v1.2.3 Straße STRASSE ﬁle naïve 🎉
"""
_OTHER = "部署 部署服务器 服务器 猫 我喜欢猫 検索エンジン エンジン カ ภาษาไทย ไทย 한국어를 한국어"
WORDS = (*_ENGLISH.split(), *_OTHER.split())
SCOPES = (WORKSPACE, ACME, Scope(ScopeKind.PROJECT, "other"), Scope(ScopeKind.SESSION, "s1"))
SOURCES = (Source(), Source(), Source(session_id="s1"), Source(session_id="s2"))
AGES = (timedelta(microseconds=1), *(timedelta(hours=hours) for hours in (0, 0, 1, 3, 4, 100, 20_000)))
NOW = START + timedelta(days=1)
EXPIRIES = (None, None, START, NOW - timedelta(microseconds=1), NOW, NOW + timedelta(microseconds=1))

ids = st.integers(0, 24).map(lambda number: RecordId(f"rec_{number:02}"))
phrases = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)
texts = st.one_of(phrases, phrases, st.text(max_size=12), st.just("the"))
metadata_values: st.SearchStrategy[JsonValue] = st.recursive(
    st.one_of(texts, st.integers(), st.none(), st.booleans()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(phrases, inner, max_size=2)),
    max_leaves=4,
)
queries = st.one_of(
    texts,
    texts.map(str.upper),
    texts.map(lambda text: f" {text}\n"),
    st.lists(texts, max_size=4).map(" ".join),
)


@st.composite
def records(draw: st.DrawFn) -> Record:
    """Any record."""
    kind = draw(st.sampled_from(Kind))
    return Record(
        record_id=draw(ids),
        layer=kind.layer,
        kind=kind,
        state=draw(st.sampled_from([State.ACTIVE, *State])),
        scope=draw(st.sampled_from(SCOPES)),
        summary=draw(texts),
        metadata=draw(st.dictionaries(st.sampled_from(WORDS), metadata_values, max_size=2)),
        sensitivity=draw(st.sampled_from(Sensitivity)),
        created_by="test",
        created_at=START - draw(st.sampled_from(AGES)),
        source=draw(st.sampled_from(SOURCES)),
        expires_at=draw(st.sampled_from(EXPIRIES)),
        revision=draw(st.integers(1, 3)),
    )


def _some(values: type[Layer] | type[Kind] | type[State] | tuple[Scope, ...]) -> st.SearchStrategy[Any]:
    return st.none() | st.none() | st.frozensets(st.sampled_from(values), min_size=1)


filters = st.builds(
    RankFilter,
    layers=_some(Layer),
    kinds=_some(Kind),
    states=_some(State),
    scopes=_some(SCOPES),
    include_sensitive=st.booleans(),
    now=st.sampled_from([START - timedelta(days=9), NOW, NOW, NOW]),
)


def distinct(found: list[Record]) -> list[Record]:
    """One record for each id, the last one given."""
    return list({record.record_id: record for record in found}.values())


overlays = st.builds(
    Overlay,
    hidden=st.frozensets(ids, max_size=5),
    records=st.lists(records(), max_size=4).map(distinct).map(tuple),
)
