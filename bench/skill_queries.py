"""Questions that a skill should be found by, made from its own description by written rules.

Nothing is random: a digest of the skill's place and of the word's position decides what is dropped, changed
or picked, so that every run on every machine asks the same. Skills are halved by the same digest: weights
and tables were tuned on half A, and half B is what is reported.

`paraphrase`: the first 40 words of the description; the words that `skill_paraphrases` has are replaced, 2 of
5 of the others are dropped, half of what stays takes another form (plural or singular, with -ing or without),
the second half of the words comes before the first, and a frame such as `how do I ...` stands around it.

`short`: three to six words of the description that are no stop words, in their order.

`use-when`: the clause behind `Use when`, `Use this skill for` and the like, up to 30 words, without the words
of the name in any form. Skills that have no such clause are left out.
"""

import hashlib
import re
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import yaml

from bench.measure import data_folder
from bench.skill_paraphrases import FRAMES, TABLE
from runlore.domain.skill import SkillDocument
from runlore.domain.text.analysis import is_stop_word, stem

PARAPHRASED_WORDS_MAX = 40
USE_WHEN_WORDS_MAX = 30
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9+#./'-]{0,60}|[0-9]{1,20}")
_USE_WHEN = re.compile(
    r"\b(?:use|used|invoke|apply|activate)\b(?: this(?: skill)?| it)?(?: proactively| immediately)?"
    r" (?:when(?:ever)?|for|if|to|before|after|while)\b(?: the user (?:wants to|asks to|asks for|needs to))?",
    re.IGNORECASE,
)
KINDS = ("paraphrase", "short", "use-when")


@dataclass(frozen=True, kw_only=True)
class RealSkill:
    """A published SKILL.md: where it stands in the set, what it says, and the file as it is."""

    place: str
    document: SkillDocument
    text: str

    @property
    def half(self) -> str:
        """Which half it belongs to."""
        return "AB"[number_of(self.place, "half") % 2]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question and the skill that it was made from."""

    kind: str
    query: str
    place: str
    half: str


def real_skills() -> list[RealSkill]:
    """The skills of the set that have a name and a description, by their place."""
    found = []
    with tarfile.open(data_folder("skills", "skills.tar.gz")) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None:
                found.append(_read(member.name, file.read().decode("utf-8", "replace")))
    return sorted((each for each in found if each is not None), key=lambda each: each.place)


def asked_of(skills: Sequence[RealSkill]) -> Iterator[Asked]:
    """All questions, by skill and kind."""
    makers = (paraphrase, short, use_when)
    for skill in skills:
        for kind, maker in zip(KINDS, makers, strict=True):
            if query := maker(skill):
                yield Asked(kind=kind, query=query, place=skill.place, half=skill.half)


def paraphrase(skill: RealSkill) -> str:
    """What the description says, in other words, fewer and in another order."""
    words = _words(skill.document.description)[:PARAPHRASED_WORDS_MAX]
    text = " ".join(words)
    kept = []
    for position, word in enumerate(words):
        told = _in_other_words(word)
        if told is None:
            number = number_of(skill.place, f"paraphrase {position}")
            told = "" if number % 5 < 2 else _in_another_form(word) if number % 2 else word
        kept.append(told)
    middle = len(kept) // 2 if len(text) > 80 else 0
    said = " ".join(word for word in [*kept[middle:], *kept[:middle]] if word)
    return FRAMES[number_of(skill.place, "frame") % len(FRAMES)].format(said)


def short(skill: RealSkill) -> str:
    """A few words of the description."""
    words = [word for word in _words(skill.document.description) if not is_stop_word(word.lower())]
    count = 3 + number_of(skill.place, "count") % 4
    order = sorted(range(len(words)), key=lambda position: number_of(skill.place, f"short {position}"))
    return " ".join(words[position] for position in sorted(order[:count]))


def use_when(skill: RealSkill) -> str:
    """When to use it, without the words that name it; empty where the description does not say."""
    clause = _USE_WHEN.search(skill.document.description)
    if clause is None:
        return ""
    named = {stem(word.lower()) for word in re.findall("[A-Za-z0-9]+", skill.document.name)}
    words = _words(skill.document.description[clause.end() :])[:USE_WHEN_WORDS_MAX]
    kept = [word for word in words if not named & {stem(part) for part in re.split("[./'-]", word.lower())}]
    return " ".join(kept)


def _words(text: str) -> list[str]:
    return [word.rstrip(".'/-") for word in _WORD.findall(text)]


def _in_other_words(word: str) -> str | None:
    """What the table says for a word or its plain form; None where it says nothing."""
    low = word.lower()
    forms = [low, low.removesuffix("s"), low.removesuffix("es"), low.removesuffix("ies") + "y"]
    for ending in ("ing", "ed"):
        base = low.removesuffix(ending)
        forms += [base, base + "e", base[:-1]] if base != low else []
    return next((TABLE[form] for form in forms if form in TABLE), None)


def _in_another_form(word: str) -> str:
    """A plural for a singular and the other way round, a plain form for one in -ing."""
    low = word.lower()
    if not low.isalpha() or len(low) < 4 or is_stop_word(low):
        return word
    if low.endswith("ing"):
        return low[:-3]
    if low.endswith("s") and not low.endswith(("ss", "us", "is")):
        return low[:-1]
    return low + ("es" if low.endswith(("s", "x", "ch", "sh")) else "s")


def number_of(place: str, what: str) -> int:
    """A number that looks like chance and is always the same."""
    return int.from_bytes(hashlib.sha256(f"{place}\n{what}".encode()).digest()[:6], "big")


def _read(place: str, text: str) -> RealSkill | None:
    """A document as leniently as it takes: two files of the set are not YAML."""
    parts = re.split(r"^---\s*$", text, maxsplit=2, flags=re.MULTILINE)
    if len(parts) != 3:
        return None
    try:
        front = yaml.safe_load(parts[1])
    except yaml.YAMLError:
        front = dict(re.findall(r"^(name|description):\s*(.+)$", parts[1], re.MULTILINE))
    name, description = front.get("name"), front.get("description")
    if not (isinstance(name, str) and isinstance(description, str)):
        return None
    document = SkillDocument(name=name, description=description[:1_024], body=parts[2][:64_000])
    return RealSkill(place=place, document=document, text=text)
