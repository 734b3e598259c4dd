"""Texts as they are embedded, whoever does it."""

from collections.abc import Iterator, Sequence

from runlore.domain import limits


def prepare_texts(texts: Sequence[str]) -> list[str]:
    """The texts as they are embedded: their beginnings, in characters that can be written down."""
    return [
        text[: limits.EMBEDDING_TEXT_CHARS_MAX].encode("utf-8", "replace").decode("utf-8") for text in texts
    ]


def batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """The texts in the lots that one request holds."""
    for start in range(0, len(texts), limits.EMBEDDING_BATCH_TEXTS):
        yield texts[start : start + limits.EMBEDDING_BATCH_TEXTS]
