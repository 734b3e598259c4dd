"""Writes docs/matching.md from the matcher: how a request finds its skills, and the tables of words."""

import textwrap
from collections.abc import Iterator

from runlore.domain.skill_matching.scoring import (
    BODY_CHARS_MAX,
    BODY_POINTS,
    BODY_WORDS,
    DESCRIPTION_POINTS,
    DESCRIPTION_WORDS,
    FLOOR_POINTS,
    FLOOR_WORDS_MAX,
    NAME_POINTS,
    SIXTEENTHS,
    TRIGGER_POINTS,
    TRIGGER_WORDS_MAX,
    WEAK_PARTS,
)
from runlore.domain.skill_matching.synonyms import NEAR, SAME, groups_of
from runlore.domain.skill_matching.words import QUERY_CHARS_MAX, QUERY_WORDS_MAX, Way

MEANINGS = {
    Way.EXACT: "the skill says the very word",
    Way.STEM: "the skill says another form of it: `deploys`, `deployment`",
    Way.SAME: "the skill says another name of the same (first table)",
    Way.NEAR: "the skill says a word that is near it (second table)",
}


INTRODUCTION = """\
On every turn the skills compete for the slots of the skills policy (`max_lazy_slots`). Skills with
`runlore-auto-load` are added to every prompt (`max_auto_load`), take none of these slots, and are never from
outside. Only words decide which skills match a request, in whole numbers, the same on every machine:

    score = the sum over the request's distinct words of the best of
            rarity of the stem x sixteenths of the way x points of the stem in the skill
"""
RULES = {
    "Words": "Stop words are left out, the others are stemmed; `go` never matches"
    " `google`. Phrases of the tables"
    " are matched as a whole. A word that is repeated counts once, and a stem of a skill"
    " counts for one word only.",
    "Rarity": "The fewer skills say a stem outside their bodies, the more it counts.",
    "Points": f"The one word of a name has {NAME_POINTS}, the one topic or action"
    f" {TRIGGER_POINTS}; among n words"
    f" each has 3 / (n + 2) of that."
    " A word that occurs once in"
    f" a description of {DESCRIPTION_WORDS} words has {DESCRIPTION_POINTS}, one in a"
    f" body of {BODY_WORDS} words"
    f" {BODY_POINTS}; in longer texts it has less, so that a skill that is stuffed with"
    " words has a little of each.",
    "Weak words": "`make`, `go`, `need` and the like count only in names, topics and actions, and"
    f" {WEAK_PARTS} times less beside others. If a request has no others, its last word is used:"
    " `how do I use make`.",
    "The floor": f"A skill has to have {FLOOR_POINTS} points on average for each word"
    " that is asked for (of more"
    f" than {FLOOR_WORDS_MAX} words as if there were so many), and be named or"
    " triggered by a word of the request"
    " or say two of them outside its body. A request that has nothing to do with any skill brings in none.",
    "Bounds": f"Of a request the first and the last {QUERY_CHARS_MAX // 2:,} characters and {QUERY_WORDS_MAX}"
    f" distinct words are read, of a skill {TRIGGER_WORDS_MAX} topics, {TRIGGER_WORDS_MAX} actions and"
    f" {BODY_CHARS_MAX:,} characters of the body.",
}


def matching_page(generated: str) -> str:
    """The whole page."""
    return (
        "\n".join(["# Matching skills", "", generated, INTRODUCTION, *_rules(), *_ways(), *_tables()]) + "\n"
    )


def _rules() -> Iterator[str]:
    for title, rule in RULES.items():
        yield textwrap.fill(f"- **{title}.** {rule}", 110, subsequent_indent="  ", break_on_hyphens=False)
    yield "\nTies go by name. `make bench ONLY=skills` prints how often the right skill is found.\n"


def _ways() -> Iterator[str]:
    yield "| way | sixteenths | when |\n| --- | --: | --- |"
    for way in sorted(Way, key=lambda each: -SIXTEENTHS[each]):
        yield f"| `{way}` | {SIXTEENTHS[way]} | {MEANINGS[way]} |"


def _tables() -> Iterator[str]:
    for title, table in (("Names of the same", SAME), ("Words that are near one another", NEAR)):
        yield f"\n## {title}\n"
        yield from (f"- {', '.join(group)}" for group in groups_of(table))
