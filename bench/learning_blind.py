"""Suggestions for a blind reading: mixed with look-alikes that were found and not suggested, labels apart.

`python -m bench learning --blind FILE` writes the texts to FILE and which is which to FILE.key. A reader
says of each whether they would keep it, without the key. Nobody who is set aside is in it, but where
`RUNLORE_SET_ASIDE` is set.
"""

import random
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from bench.learning_gold import Person
from runlore.daemon.mining.dry_run import _gather, _Gathered, _read_all
from runlore.daemon.mining.findings import Totals
from runlore.domain.suggesting.suggestions import suggestions_of
from runlore.domain.suggesting.support import is_supported
from runlore.domain.suggestion import Suggestion
from runlore.ports.operations import ignore_progress

SEED, TEXTS_MAX = 20261118, 20
_OFTEN = re.compile(r"^Seen .* sessions?.*\.\n", re.MULTILINE)


def write_blind(those: Sequence[Person], path: Path) -> None:
    """Write a file to read: suggestions drawn from all, and as many look-alikes where there are so many."""
    draw = random.Random(SEED)
    wanted: list[Suggestion] = []
    others: list[Suggestion] = []
    for person in those:
        gathered = _Gathered(sums=Totals())
        _gather(person.sources, gathered, partial(_read_all, workers=1), ignore_progress)
        matches = gathered.matches(gathered.in_order())
        wanted += suggestions_of(matches)
        others += suggestions_of(matches, is_wanted=lambda match: not is_supported(match))
    drawn = [
        (label, each)
        for label, found in (("suggested", wanted), ("look-alike", others))
        for each in draw.sample(found, min(len(found), TEXTS_MAX))
    ]
    draw.shuffle(drawn)
    # How often it was seen would tell them apart.
    texts = [f"# {place}\n\n{_OFTEN.sub('', each.body)}" for place, (_, each) in enumerate(drawn, 1)]
    keys = [f"{place} {label} {each.name}" for place, (label, each) in enumerate(drawn, 1)]
    for target, text in ((path, "\n".join(texts)), (path.with_name(f"{path.name}.key"), "\n".join(keys))):
        target.write_text(text + "\n", encoding="utf-8")
        target.chmod(0o600)
    print(f"{len(drawn)} texts to read: {path}")
