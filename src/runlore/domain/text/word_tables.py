"""Tables that are written as text: words in lines, rows below a head."""

from collections.abc import Iterator


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def table_rows(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each head with the rows that are indented below it. A row that is indented twice goes on."""
    for lines in text.strip().replace("\n        ", " ").replace("\n    ", "\t").split("\n"):
        head, *rows = lines.split("\t")
        yield head, rows
