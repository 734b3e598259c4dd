"""Two sets of questions with their answers, each asked of words and of vectors: what a fusion starts from.

LoCoMo (see `ranking_quality`): a question is to find the turns that are its evidence. The first three
conversations are what rules were tuned on, the last two are what is reported.

Skills, made by this method from the 849 published ones:

1. Of skills with the same name the first by its place counts. Indexed is `name: description`.
2. The questions are the list items, of 12 to 300 characters, that stand in a skill's body under a heading
   `When to use`, `When to use this skill`, `Use this skill when` or `When to apply`: how its author says it
   once more, in text that is not indexed. The first five of each skill; Markdown's marks are taken out.
3. Left out: an item that stands in several skills, and one whose first or last three words begin or end items
   of ten or more skills, for these are templates that somebody filled with the name.
4. The skill that a question stands in is its one answer. Halves are by digest of the skill's place.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bench.ranking_quality import NOW, by_words, locomo
from bench.skill_queries import Asked, RealSkill, asked_of, real_skills
from runlore.domain.search.ranking import RankFilter, Similarities, WordHit
from runlore.domain.skill import SkillId
from runlore.ports.embedder import Embedded, Embedder
from runlore.recall.dense import DenseVectors
from runlore.recall.skills import SkillIndex

TUNED, REPORTED = "tuned", "reported"
DEPTH = 50
EMBEDDING_S = 7_200.0
_CONVERSATIONS_TUNED = 3
_HALVES = {"A": TUNED, "B": REPORTED}
_ITEMS_PER_SKILL = 5
_TEMPLATE_SKILLS = 10
_HEADING = re.compile(
    r"#{1,4} +(?:when to use(?: this skill)?|use this skill when|when to apply)[ :]*", re.IGNORECASE
)
_ITEM = re.compile(r" {0,3}[-*] +(.{12,300})")


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """Texts that are searched together, and the questions: text, half, and where the answers stand."""

    texts: list[str]
    questions: list[tuple[str, str, frozenset[int]]]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One question as both sides answer it; keys are the numbers of the texts."""

    half: str
    answers: frozenset[str]
    words: list[WordHit]
    similar: Similarities


def locomo_set() -> list[Corpus]:
    """A corpus for each conversation."""
    return [
        Corpus(
            texts=[turn.text for turn in each.turns],
            questions=[
                (question, TUNED if number < _CONVERSATIONS_TUNED else REPORTED, evidence)
                for question, evidence in each.questions
            ],
        )
        for number, each in enumerate(locomo())
    ]


def skills_set() -> list[Corpus]:
    """All skills as one corpus."""
    skills = _skills()
    numbers = {skill.place: number for number, skill in enumerate(skills)}
    return [
        Corpus(
            texts=[_text(skill) for skill in skills],
            questions=[
                (asked.query, _HALVES[asked.half], frozenset({numbers[asked.place]}))
                for asked in _when_to_use(skills)
            ],
        )
    ]


def matched_sets(embedder: Embedder) -> dict[str, list[Case]]:
    """Skills as their own matcher finds them, by kind of question: those of `skill_queries`, and these."""
    skills = _skills()
    words = SkillIndex((SkillId(skill.place), skill.document) for skill in skills)
    vectors = by_vectors([_text(skill) for skill in skills], embedder)
    numbers = {skill.place: str(number) for number, skill in enumerate(skills)}
    sets: dict[str, list[Case]] = {}
    for asked in [*asked_of(skills), *_when_to_use(skills)]:
        hits = [
            WordHit(key=numbers[match.skill_id], total=match.score)
            for match in words.match(asked.query, limit=DEPTH)
        ]
        (vector,) = embedder.embed([asked.query], timeout_s=EMBEDDING_S)
        case = Case(
            half=_HALVES[asked.half],
            answers=frozenset({numbers[asked.place]}),
            words=hits,
            similar=vectors.search(vector, limit=DEPTH, also=[hit.key for hit in hits]),
        )
        sets.setdefault(asked.kind, []).append(case)
    return sets


def cases(corpora: Iterable[Corpus], embedder: Embedder) -> Iterator[Case]:
    """Ask both sides every question."""
    for corpus in corpora:
        words = by_words(corpus.texts)
        vectors = by_vectors(corpus.texts, embedder)
        asked = embedder.embed([question for question, _, _ in corpus.questions], timeout_s=EMBEDDING_S)
        for (question, half, answers), vector in zip(corpus.questions, asked, strict=True):
            hits = [
                WordHit(key=hit.record_id, total=hit.total)
                for hit in words.search(question, where=RankFilter(now=NOW), limit=DEPTH).hits
            ]
            yield Case(
                half=half,
                answers=frozenset(map(str, answers)),
                words=hits,
                similar=vectors.search(vector, limit=DEPTH, also=[hit.key for hit in hits]),
            )


def by_vectors(texts: Sequence[str], embedder: Embedder) -> DenseVectors:
    """The texts in an index of vectors, by their numbers."""
    index = DenseVectors(embedder.identity)
    made = embedder.embed(texts, timeout_s=EMBEDDING_S)
    index.put(Embedded(key=str(number), mark="", vector=vector) for number, vector in enumerate(made))
    return index


def _skills() -> list[RealSkill]:
    named: dict[str, RealSkill] = {}
    for skill in real_skills():
        named.setdefault(skill.document.name, skill)
    return list(named.values())


def _text(skill: RealSkill) -> str:
    return f"{skill.document.name.replace('-', ' ')}: {skill.document.description}"


def _when_to_use(skills: Sequence[RealSkill]) -> Iterator[Asked]:
    items = [list(_items(skill.document.body))[:_ITEMS_PER_SKILL] for skill in skills]
    is_template = _templates(items)
    for skill, own in zip(skills, items, strict=True):
        for item in own:
            if not is_template(item):
                yield Asked(kind="when to use", query=item, place=skill.place, half=skill.half)


def _items(body: str) -> Iterator[str]:
    is_under = False
    for line in body.splitlines():
        if line.startswith("#"):
            is_under = _HEADING.fullmatch(line.rstrip()) is not None
        elif is_under and (item := _ITEM.fullmatch(line.rstrip())):
            yield re.sub("[*`_]", "", item[1]).strip()


def _templates(items: Sequence[Sequence[str]]) -> "_IsTemplate":
    told = Counter(item.lower() for own in items for item in own)
    ends = Counter(end for own in items for end in {end for item in own for end in _ends(item)})
    return _IsTemplate(told=told, ends=ends)


@dataclass(frozen=True, kw_only=True)
class _IsTemplate:
    told: Counter[str]
    ends: Counter[tuple[str, str]]

    def __call__(self, item: str) -> bool:
        return self.told[item.lower()] > 1 or any(self.ends[end] >= _TEMPLATE_SKILLS for end in _ends(item))


def _ends(item: str) -> tuple[tuple[str, str], tuple[str, str]]:
    words = item.lower().split()
    return ("first", " ".join(words[:3])), ("last", " ".join(words[-3:]))
