"""Published SKILL.md documents: how many load and why others do not, what the reference validator says of
them and of what Runlore writes, and what reading costs beside bare YAML."""

import re
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from skills_ref.errors import ParseError
from skills_ref.parser import parse_frontmatter
from skills_ref.validator import validate_metadata

from bench.measure import cpu_percentiles, data_folder, print_table
from runlore.domain.errors import Invalid
from runlore.domain.skill_document import render_document
from runlore.ports.skill_files import ReadSkill
from runlore.skill_files.front_matter import decode_file, front_matter_of, read_skill

_NUMBER = re.compile(r"[0-9][0-9,]*")
TITLE = "published skills: loaded, refused and why, the validator's verdict, CPU time a document"


@dataclass(frozen=True, kw_only=True)
class Published:
    """A document as it was published, and the name of its folder."""

    folder: str
    content: bytes

    @property
    def text(self) -> str:
        """Its text."""
        return decode_file(self.content)


def main() -> None:
    """Everything needs the set, and raises `DataAbsent` without it."""
    documents = list(read_documents())
    report_loaded(documents)
    report_verdicts(documents)
    report_cpu(documents)


def read_documents() -> Iterator[Published]:
    """The documents of the set, by path."""
    with tarfile.open(data_folder("skills", "skills.tar.gz")) as archive:
        for member in sorted(archive.getmembers(), key=lambda member: member.name):
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None and member.name.endswith("/SKILL.md"):
                yield Published(folder=member.name.split("/")[-2], content=file.read())


def report_loaded(documents: Sequence[Published]) -> None:
    """How many load, with and without a remark, and the reason of every other."""
    read, refused = _read_all(documents)
    remarks = Counter(_kind(remark) for skill in read for remark in dict.fromkeys(map(_kind, skill.remarks)))
    clean = sum(not skill.remarks for skill in read)
    print(f"\n{len(documents):,} documents: {len(read):,} load, {clean:,} of them without a remark;")
    print(f"{len(refused):,} are refused\n")
    rows = [("refused", reason, f"{count:,}") for reason, count in Counter(refused).most_common()]
    rows += [("remark", remark, f"{count:,}") for remark, count in remarks.most_common()]
    print_table(("", "what", "documents"), rows)


def report_verdicts(documents: Sequence[Published]) -> None:
    """What the validator accepts: as published, and as Runlore writes the same document."""
    read, _ = _read_all(documents)
    accepted = sum(_accepts(one.content.decode(errors="replace"), one.folder) for one in documents)
    written = [render_document(skill.document, skill.provenance) for skill in read]
    passed = sum(_accepts(text, skill.document.name) for text, skill in zip(written, read, strict=True))
    same = sum(read_skill(text).document == skill.document for text, skill in zip(written, read, strict=True))
    print("\nThe reference validator\n")
    print_table(
        ("documents", "accepted", "of"),
        [
            ("as they were published", f"{accepted:,}", f"{len(documents):,}"),
            ("as Runlore writes them", f"{passed:,}", f"{len(read):,}"),
            ("read again from that, and the same", f"{same:,}", f"{len(read):,}"),
        ],
    )


def report_cpu(documents: Sequence[Published]) -> None:
    """What a document costs, in microseconds, beside the YAML library alone on the same front matter."""
    texts = [(one.text, one.folder) for one in documents if _reads(one)]
    fronts = [text.split("\n---", 1)[0].removeprefix("---") for text, _ in texts]
    calls: list[tuple[str, Callable[[tuple[str, str]], object], Sequence[tuple[str, str]]]] = [
        ("yaml.CSafeLoader, front matter cut out", _bare, [(front, "") for front in fronts]),
        ("front matter behind limits, file split", lambda item: front_matter_of(item[0]), texts),
        ("the whole document", lambda item: read_skill(item[0], folder=item[1]), texts),
    ]
    print("\nCPU microseconds a document\n")
    rows, first = [], 0.0
    for name, call, items in calls:
        cost = cpu_percentiles(call, [item for item in items for _ in range(3)])
        first = first or cost.p50_ms
        figures = (f"{cost.p50_ms * 1e3:,.0f}", f"{cost.p99_ms * 1e3:,.0f}", f"{cost.p50_ms / first:.2f}")
        rows.append((name, *figures))
    print_table(("what", "p50", "p99", "p50 to the first"), rows)


def _read_all(documents: Sequence[Published]) -> tuple[list[ReadSkill], list[str]]:
    read: list[ReadSkill] = []
    refused: list[str] = []
    for one in documents:
        try:
            read.append(read_skill(one.text, folder=one.folder))
        except Invalid as error:
            refused.append(error.sentence)
    return read, refused


def _reads(one: Published) -> bool:
    read, _ = _read_all([one])
    return bool(read)


def _bare(item: tuple[str, str]) -> object:
    return yaml.load(item[0], yaml.CSafeLoader)


def _accepts(text: str, folder: str) -> bool:
    try:
        front, _ = parse_frontmatter(text)
    except ParseError:
        return False
    return not validate_metadata(front, Path(folder))


def _kind(remark: str) -> str:
    """A remark without what is particular to one document."""
    return _NUMBER.sub("N", "...".join(remark.split("`")[::2]))
