"""Suggestions for a blind reading: mixed with look-alikes that were found and not suggested, labels apart.

`python -m bench learning --blind FILE` writes the texts to FILE and which is which to FILE.key. A reader
says of each whether they would keep it, without the key. Nobody who is set aside is in it, but where
`RUNLORE_SET_ASIDE` is set.
"""

import random
import re
from collections.abc import Sequence
from pathlib import Path

from bench.learning_gold import Person
from runlore.daemon.mining.dry_run import _gather, _Gathered
from runlore.daemon.mining.totals import Totals
from runlore.domain.suggesting.suggestions import suggestions_of
from runlore.domain.suggesting.support import is_supported
from runlore.domain.suggestion import Suggestion
from runlore.ports.operations import ignore_progress

SEED = 20261118
_OFTEN = re.compile(r"^Seen .* sessions?.*\.\n", re.MULTILINE)


def write_blind(those: Sequence[Person], path: Path) -> None:
    """Write a file to read, with as many look-alikes as there are suggestions where there are so many."""
    draw = random.Random(SEED)
    drawn: list[tuple[str, Suggestion]] = []
    for person in those:
        gathered = _gather(person.sources, _Gathered(sums=Totals()), workers=1, progress=ignore_progress)
        matches = gathered.matches(gathered.in_order())
        suggested = suggestions_of(matches)
        drawn += [("suggested", each) for each in suggested]
        others = suggestions_of(matches, is_wanted=lambda match: not is_supported(match))
        drawn += [("look-alike", each) for each in draw.sample(others, min(len(others), len(suggested)))]
    draw.shuffle(drawn)
    # How often it was seen would tell them apart.
    texts = [f"# {place}\n\n{_OFTEN.sub('', each.body)}" for place, (_, each) in enumerate(drawn, 1)]
    keys = [f"{place} {label} {each.name}" for place, (label, each) in enumerate(drawn, 1)]
    for target, text in ((path, "\n".join(texts)), (path.with_name(f"{path.name}.key"), "\n".join(keys))):
        target.write_text(text + "\n", encoding="utf-8")
        target.chmod(0o600)
    print(f"{len(drawn)} texts to read: {path}")
