"""What was read of skills, on disk: one file that is either whole and of these rules, or as good as absent.

    magic, digest of all that follows, length of the header, header (JSON), the lists one behind another

Reading skills is most of what an index costs, and a command without a daemon needs one for a single question.
The file belongs to the rules that made it: where any of their texts is another, it is absent.
"""

import json
import os
import sys
from array import array
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

from runlore.atomic_write import atomic_write
from runlore.domain import skill_matching
from runlore.domain.errors import Unavailable
from runlore.domain.text import analysis
from runlore.recall.skill_postings import KnownSkillWords

_MAGIC = b"runlore skill words 1\n"
_DIGEST_BYTES = 32
_LENGTH_BYTES = 8
_LISTS = ("stem", "points", "fields", "word", "word_stem")


def save_skill_words(path: str, known: KnownSkillWords) -> None:
    """Put a file in place at once."""
    lists = [getattr(known, name).tobytes() for name in _LISTS]
    header = json.dumps(
        {
            "rules": _rules(),
            "digests": [digest.hex() for digest in known.row],
            "rows": list(known.row.values()),
            "keys": known.keys,
            "words": known.words,
            "stem_start": known.stem_start,
            "word_start": known.word_start,
            "bytes": [len(each) for each in lists],
        }
    ).encode()
    content = b"".join([len(header).to_bytes(_LENGTH_BYTES, "little"), header, *lists])

    def write(file: BinaryIO) -> None:
        file.write(_MAGIC + blake2b(content, digest_size=_DIGEST_BYTES).digest() + content)

    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        atomic_write(path, write)
    except OSError as error:
        raise Unavailable(
            f"what was read of skills was not saved to {path}: {error}",
            code="index.save",
            hint="nothing is lost: the skills are read again by the next command",
        ) from error


def load_skill_words(path: str) -> KnownSkillWords | None:
    """What a file holds; None where it is absent, damaged, or made by other rules."""
    try:
        content = Path(path).read_bytes()
    except OSError:
        return None
    start = len(_MAGIC) + _DIGEST_BYTES
    magic, digest, content = content[: len(_MAGIC)], content[len(_MAGIC) : start], content[start:]
    if magic != _MAGIC or blake2b(content, digest_size=_DIGEST_BYTES).digest() != digest:
        return None
    length = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES], "little")
    header = json.loads(content[_LENGTH_BYTES:length])
    if header["rules"] != _rules():
        return None
    known = KnownSkillWords()
    known.row = dict(zip(map(bytes.fromhex, header["digests"]), header["rows"], strict=True))
    known.keys, known.words = header["keys"], header["words"]
    known.stem_start, known.word_start = header["stem_start"], header["word_start"]
    for name, size in zip(_LISTS, header["bytes"], strict=True):
        held: array[int] = getattr(known, name)
        held.frombytes(content[length : length + size])
        length += size
    return known


@cache
def _rules() -> str:
    """What skills are read by: the texts of the rules, and how numbers lie in memory here."""
    digest = blake2b(f"{array('i').itemsize} {sys.byteorder}".encode(), digest_size=_DIGEST_BYTES)
    folder = Path(str(skill_matching.__file__)).parent
    files = [*sorted(folder.glob("*.py")), Path(str(analysis.__file__)), Path(str(analysis.__file__))]
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()
