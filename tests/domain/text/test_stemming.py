"""The faster stemmer gives what the pinned one gives, for every word."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from snowballstemmer.english_stemmer import EnglishStemmer

from runlore.domain.text import analysis
from runlore.domain.text.stemming import WordStemmer
from tests.architecture.source_tree import ROOT

pytestmark = pytest.mark.req("RET-3")

# All beginnings, endings and whole words that its rules speak of.
PARTS = sorted(
    {
        each.s
        for name, table in vars(EnglishStemmer).items()
        if name.startswith("a_") and isinstance(table, list)
        for each in table
    }
)
LETTERS = st.text(alphabet="aeiouyYbcdglnrstwxz'", max_size=6)
WORDS = st.builds("".join, st.lists(st.one_of(LETTERS, st.sampled_from(PARTS)), min_size=1, max_size=5))


def pinned(word: str) -> str:
    """What the stemmer of the package says."""
    return str(EnglishStemmer().stemWord(word))


@given(word=WORDS)
def test_the_stem_of_a_word_is_that_of_the_pinned_stemmer(word: str) -> None:
    assert WordStemmer().stemWord(word) == pinned(word)
    terms = analysis.tokenize(word.lower())
    for term in terms:
        assert analysis.terms_among(word.lower(), (term,)) == (len(terms), [t for t in terms if t == term])


def test_it_is_so_for_all_words_of_our_pages_one_stemmer_after_another() -> None:
    pages = [path.read_text("utf-8").lower() for path in sorted((ROOT / "docs").rglob("*.md"))]
    words = sorted(
        {word for page in pages for word in re.findall("[a-z]{3,40}", page)} | {*PARTS, "dying", "cried"}
    )
    stemmer = WordStemmer()

    assert len(words) > 3_000
    stems = [(word, str(stemmer.stemWord(word))) for word in words]
    assert stems == [(w, pinned(w)) for w in words]
    # A search counts the words that have none of its stems without stemming them.
    known = [(word, stem) for word, stem in stems if analysis.tokenize(word) == [stem]]
    assert len(known) > 3_000
    assert [word for word, stem in known if analysis.terms_among(word, (stem,)) != (1, [stem])] == []
