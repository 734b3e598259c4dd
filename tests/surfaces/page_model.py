"""The model that the documentation is run with: what it says and calls, for each input that a page shows.

A page sets up a server at `PAGE_ADDRESS`, as a reader would who has one there; the tests put their own in its
place.
"""

import re
from typing import Any

from runlore.domain.agent.conversation import AssistantSaid, ToolAnswered, UserSaid
from tests.model_server import Received, Reply, calls, hangs, says

PAGE_ADDRESS = "http://127.0.0.1:11434/v1"
_VERSION = re.compile(r"\d+\.\d+\.\d+")
_PROCEDURE = "To prepare a release, run `make version V=<version>` and then `make check`."


def page_model(received: Received) -> Any:
    """The next line of whoever is asked: an agent, a child agent, or a model with a single question."""
    if received.text.startswith("<data>"):
        return {}
    spoken = received.conversation
    last = spoken[-1]
    if isinstance(last, ToolAnswered) and "was not made" in last.output:
        return says("I could not do it: the command was denied.")
    if isinstance(last, ToolAnswered) and last.output.startswith("there is no skill"):
        return says("I know no usual way here.")
    begun = max(place for place, each in enumerate(spoken) if isinstance(each, UserSaid))
    asked = spoken[begun]
    assert isinstance(asked, UserSaid)
    lines = _lines(asked.text, is_child="use_skill" not in received.tools)
    said = sum(isinstance(each, AssistantSaid) for each in spoken[begun:])
    return lines[min(said, len(lines) - 1)]


def _lines(asked: str, *, is_child: bool) -> tuple[Reply, ...]:
    # The last one: a child is told the version of its skill before that of its task.
    version = (_VERSION.findall(asked) or [""])[-1]
    if is_child:
        return (*_released(version), says(f"RELEASE-READY {version}: VERSION is set, and the check passes."))
    if "as usual" in asked:
        return (
            calls("use_skill", {"name": "prepare-release", "arguments": f"version {version}"}),
            says(f"The release {version} is prepared; the diff of the child's copy is kept with its run."),
        )
    if version:
        committed = calls("shell", {"command": f"git commit --all --message 'Release {version}'"})
        return (*_released(version), committed, says(f"Released {version}."))
    return _LINES[asked]


def _released(version: str) -> tuple[Reply, ...]:
    return (
        calls("shell", {"command": f"make version V={version}"}),
        calls("shell", {"command": "make check"}),
    )


_LINES: dict[str, tuple[Reply, ...]] = {
    "What does the check look at?": (
        calls("read_file", {"path": "Makefile"}),
        says("`make check` makes sure that VERSION is not empty."),
    ),
    "Run the check": (
        says("I run it.") + calls("shell", {"command": "make check"}),
        says("The check went well."),
    ),
    "Remember that we release on Fridays.": (
        calls("propose_learning", {"kind": "decision", "content": "Releases are made on Fridays."}),
        says("I have proposed it; you decide."),
    ),
    "When do we release?": (says("On Fridays, as you said just now."),),
    "Clean up": (
        calls("shell", {"command": "rm -r build"}),
        says("The folder build is gone."),
    ),
    "Think it over": (hangs(),),
    "Propose how we release as a procedure.": (
        calls("propose_learning", {"kind": "procedure", "content": _PROCEDURE}),
        says("I have proposed the procedure; it waits for your review."),
    ),
}
