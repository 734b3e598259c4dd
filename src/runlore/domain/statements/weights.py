"""What each feature of a sentence adds to its points, with the reason that is shown for it.

The points were set by judgement and moved a little by a fit over people whose sessions are public
(`bench/learning.py`; `docs/learning-quality.md` has the figures for people who were set aside).
"""

from collections.abc import Mapping
from types import MappingProxyType

WEIGHTS: Mapping[str, tuple[int, str]] = MappingProxyType(
    {
        "rule": (34, "says when it holds: always, never, from now on"),
        "reminder": (38, "asks to remember it"),
        "preference": (25, "says what is preferred"),
        "wish": (7, "says what is wanted"),
        "every": (20, "is about each or all of something"),
        "care": (12, "asks to take care of it"),
        "prohibition": (8, "says what not to do"),
        "replacement": (10, "names one thing instead of another"),
        "limit": (5, "sets a limit"),
        "practice": (22, "tells how things are done here"),
        "fact": (22, "tells how things are"),
        "obligation": (12, "says what should or must be"),
        "correction": (20, "corrects something"),
        "reason": (6, "gives a reason"),
        "order": (7, "says what comes before what"),
        "workflow": (10, "is about how work is done"),
        "command": (2, "is a command"),
        "steps": (10, "names several steps"),
        "refusal": (18, "was said in refusing a call"),
        "recurs-2": (5, "was asked for in two sessions"),
        "recurs-3": (18, "was asked for in three sessions or more"),
        "recurs-5": (29, "was asked for in five sessions or more"),
        "recurs-8": (41, "was asked for in eight sessions or more"),
        "told": (-20, "tells what always or never is, and asks for nothing"),
        "impersonal": (-4, "speaks of nobody and asks for nothing"),
        "question": (-6, "is put as a question"),
        "errand": (-30, "asks for one act"),
        "pointing": (-12, "points at one thing of the moment"),
        "hedge": (-9, "is said with doubt"),
        "story": (-14, "tells what happened"),
        "condition": (-4, "holds under a condition"),
        "digits": (-8, "has a number in it"),
        "address": (-12, "has an address in it"),
        "long message": (-7, "stands in a long message"),
        "very long message": (-24, "stands in a very long message"),
        "many lines": (-15, "stands in a message of many lines"),
        "late": (-3, "stands far down in its message"),
        "short": (-8, "has fewer than four words"),
        "long": (-5, "is a long sentence"),
        "very long": (-12, "is a very long sentence"),
    }
)

POINTS: Mapping[str, int] = MappingProxyType({name: points for name, (points, _) in WEIGHTS.items()})

PROPOSED_POINTS_MIN = 20
"""Below this nothing is proposed."""
FIRST_POINTS_MIN = 32
"""From here on a statement is shown first; with less, where it says in so many words that it lasts."""
FIRST_REFUSAL_POINTS_MIN = 24
"""The same for what was said in refusing a call: a refusal by itself may be about the moment alone."""
