"""The tokenizer of search: from text to the terms it is found by, the same on every machine and every Python.

    text -> chunks (`snake_case`, `v1.2.3`, `node.js`, a run of Han) -> words -> terms

A term is a stemmed word that is not a stop word, or an n-gram of a script written without spaces. Nothing
here knows of records or scores.

Stop words say nothing about what a text is about, and nothing is matched by them: English function words,
single Han characters that work as particles and pronouns, and by their form negated contractions (`don't`).
Changing a list changes scores: raise `ANALYSER_VERSION`.
"""

import re
import unicodedata
from functools import cache, lru_cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from runlore.domain.text import word_characters

if TYPE_CHECKING:
    from runlore.domain.text.stemming import WordStemmer

_ENGLISH = """
    a about above after again against all also am an and any are as at be because been before being below
    between both but by can cannot could did do does doing down during each either few for from further
    had has have having he hence her here hers herself him himself his how however i if in into is it its
    itself just may me might more most must my myself neither no nor not now of off on once only onto or
    other otherwise ought our ours ourselves out over own per same shall she should so some such than that
    the their theirs them themselves then there thereby therefore these they this those through thus to too
    toward towards under until up upon us very via was we were what whatever when whenever where whereas
    wherever whether which whichever while who whoever whom whose why will with within without would yet you
    your yours yourself yourselves
"""

ENGLISH = frozenset(_ENGLISH.split())
HAN = frozenset(
    "的了是在我你您他她它们們不有和与與就也都这這那个個吗嗎呢吧啊之其及或而把被让讓对對为為从從到又"
)
# Stands in every saved index. Raise it with any change that can change a term: tables, rules, stemmer.
ANALYSER_VERSION = "english-1"

_CACHE_ENTRIES = 1 << 17
_CACHED_CHARS_MAX = 64
_STEMMED_CHARS_MIN, _STEMMED_CHARS_MAX = 3, 40
_JOINED_PARTS_MAX = 4


def fold_text(text: str) -> str:
    """The text without its case, its width and compatibility variants, and its outer white space.

    >>> fold_text("  Straße ＡＢＣ ﬁle ")
    'strasse abc file'
    """
    if text.isascii():
        return text.strip().lower()
    return (
        _pattern(word_characters.FOLDABLE, "+")
        .sub(_fold_run, _pattern(word_characters.IGNORABLE).sub("", text))
        .strip()
    )


def tokenize(text: str) -> list[str]:
    """The terms of a text in its order, with repetitions.

    >>> tokenize("The cat's categories, e.g. `snake_case` in C++ or node.js v1.2.3, don't match")
    ['cat', 'categori', 'eg', 'snake', 'case', 'snakecas', 'c++', 'node', 'js', 'nodej', '1.2.3', 'match']
    >>> tokenize("用Python写代码")
    ['用', 'python', '写', '写代', '代', '代码', '码']
    """
    chunks = chunks_of(text)
    cacheable = max(map(len, chunks), default=0) <= _CACHED_CHARS_MAX
    return list(chain.from_iterable(map(_known_terms if cacheable else tokenize_chunk, chunks)))


def terms_among(text: str, wanted: tuple[str, ...] | frozenset[str]) -> tuple[int, list[str]]:
    """How many terms a text has, and those of the `wanted` that stand in it, with repetitions.

    Only plain words that may have one of the wanted as their stem are looked up, the others are counted.

    >>> terms_among("The cat's categories, e.g. `snake_case` in C++", ("categori", "caught"))
    (7, ['categori'])
    """
    beginnings = _beginnings_of(wanted)
    length, found = 0, list[str]()
    for chunk in chunks_of(text):
        is_plain = chunk.isascii() and chunk.isalpha() and (chunk.islower() or chunk.istitle())
        if is_plain and not (word := chunk.lower()).startswith(beginnings.get(word[0], ())):
            length += word not in ENGLISH
        else:
            terms = (_known_terms if len(chunk) <= _CACHED_CHARS_MAX else tokenize_chunk)(chunk)
            length += len(terms)
            found += terms
    return length, [term for term in found if term in wanted]


@lru_cache(maxsize=8)
def _beginnings_of(terms: tuple[str, ...] | frozenset[str]) -> dict[str, tuple[str, ...]]:
    """How the words of these terms begin, by their first letters: as the term does, its last letter apart.

    >>> _beginnings_of(("tri", "trust", "die"))
    {'t': ('tr', 'trus'), 'd': ('d',)}

    `tri` is of `try`, and `die` of `dying`.
    """
    found: dict[str, tuple[str, ...]] = {}
    for term in terms:
        same = term[0] if term.endswith("ie") else term[:-1] or term
        found[term[0]] = (*found.get(term[0], ()), same)
    return found


def tokenize_chunk(chunk: str) -> tuple[str, ...]:
    """The terms of one chunk of a text. Nothing of it is kept."""
    return tuple(stem(word) for word in words_of_chunk(chunk) if not is_stop_word(word))


_known_terms = lru_cache(_CACHE_ENTRIES)(tokenize_chunk)


def words_of(text: str) -> list[str]:
    """The same before stop words are dropped and the rest is stemmed: for measuring what those are worth."""
    return [word for chunk in chunks_of(text) for word in words_of_chunk(chunk)]


def chunks_of(text: str) -> list[str]:
    """What a text is taken apart into first; `words_of_chunk` says which words stand in one."""
    if text.isascii():
        return _CHUNK_ASCII.findall(text)
    return _chunk().findall(
        _pattern(word_characters.FOLDABLE, "+").sub(
            _normal_run, _pattern(word_characters.IGNORABLE).sub("", text)
        )
    )


def words_of_chunk(chunk: str) -> list[str]:
    """The words of a chunk in their order, and for a compound the whole of it behind them."""
    if _pattern(word_characters.UNSPACED).match(chunk):
        return _ngrams(chunk)
    if version := _VERSION.fullmatch(chunk):
        return [version[1]]
    if chunk.endswith(("+", "#")):
        return [fold_text(chunk)]
    body, _, ending = chunk.replace("\u2019", "'").partition("'")
    body_ends_in_n, ending = body[-1] in "nN", fold_text(ending)
    if body_ends_in_n and ending == "t":
        return [f"{fold_text(body)}'t"]
    words = _compound_words([part for piece in _JOINER.split(body) for part in _camel_parts(piece)])
    return words if ending in _ENDINGS else [*words, ending]


def is_stop_word(word: str) -> bool:
    """Whether a word is left out of records and queries."""
    return word in ENGLISH or word in HAN or word.endswith("n't")


def stem(word: str) -> str:
    """The stem of a plain English-looking word; any other word as it is."""
    if word.isascii() and word.isalpha() and _STEMMED_CHARS_MIN <= len(word) <= _STEMMED_CHARS_MAX:
        # A new one each time: a stemmer keeps its work in itself, and threads share this module.
        return str(_stemmer().stemWord(word))
    return word


def _stemmer() -> "WordStemmer":
    # Only what stems pays for it at its start.
    from runlore.domain.text.stemming import WordStemmer

    return WordStemmer()


def forget_words() -> None:
    """Empty the caches of words seen, so that erased content is not kept there."""
    _known_terms.cache_clear()
    _beginnings_of.cache_clear()


@cache
def _pattern(inside: str, behind: str = "") -> re.Pattern[str]:
    """A class of characters. Compiled when it is first asked for: a command that reads no text never is."""
    return re.compile(f"[{inside}]{behind}")


def _chunk_pattern(spaced: str) -> str:
    """A version, a letter with a sharp or two pluses, or a word with its joints and a short ending."""
    return (
        rf"[vV]?+[0-9]++(?:\.[0-9]++)++(?![{spaced}])"
        r"|[A-Za-z](?:\+\+|\#)(?![A-Za-z+\#])"
        rf"|[{spaced}]++(?:[._\u2010-][{spaced}]++)*+(?:['\u2019][A-Za-z]{{1,2}}+(?![{spaced}]))?+"
    )


@cache
def _chunk() -> re.Pattern[str]:
    return re.compile(rf"[{word_characters.UNSPACED}]++|{_chunk_pattern(word_characters.SPACED)}")


@cache
def _unit() -> re.Pattern[str]:
    return re.compile(f".[{word_characters.UNSPACED_MARK}]*")


_CHUNK_ASCII = re.compile(_chunk_pattern("0-9A-Za-z"))
_VERSION = re.compile(r"[vV]?([0-9]+(?:\.[0-9]+)+)")
_JOINER = re.compile("[._\u2010-]")
_CAMEL = re.compile("[A-Z]{2,}s(?![a-z])[0-9]*|[A-Z]+(?![a-z])[0-9]*|[A-Z]?[^A-Z]+")
_ENDINGS = frozenset({"", "d", "ll", "m", "re", "s", "ve"})


def _fold_run(run: re.Match[str]) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", run[0]).casefold())


def _normal_run(run: re.Match[str]) -> str:
    return unicodedata.normalize("NFKC", run[0])


def _camel_parts(piece: str) -> list[str]:
    """The words of `camelCase`. Outside ASCII a change of case is no sign of one: `Häuser`, `MÜLLER`."""
    return _CAMEL.findall(piece) if piece.isascii() else [piece]


def _compound_words(parts: list[str]) -> list[str]:
    """The parts, and the whole without its joints: `node.js`, `nodeJs` and `nodejs` find each other."""
    words = [fold_text(part) for part in parts]
    if len(words) > 1 and all(len(word) == 1 for word in words):
        return ["".join(words)]
    if not 1 < len(words) <= _JOINED_PARTS_MAX or all(word.isdecimal() for word in words):
        return words
    return [*words, "".join(words)]


def _ngrams(run: str) -> list[str]:
    """Every pair of neighbours, every Han character alone, and a unit of any script that has no neighbour."""
    units = _unit().findall(run)
    if len(units) == 1:
        return units
    grams = []
    for unit, following in pairwise(units):
        if _pattern(word_characters.HAN).match(unit):
            grams.append(unit)
        grams.append(unit + following)
    if _pattern(word_characters.HAN).match(units[-1]):
        grams.append(units[-1])
    return grams
