"""The operations: everything that a surface can ask for, typed, once.

The command line, HTTP, MCP, the SDK and the console translate to and from these and decide nothing.
Requests and answers are plain values; errors are those of `domain.errors`. An area is loaded with the first
of its names that is asked for (`areas`).
"""

from typing import TYPE_CHECKING

from runlore.domain.access import Caller as Caller
from runlore.domain.access import Role as Role
from runlore.ports.operations.areas import AREA_OF_VALUE, load_area

if TYPE_CHECKING:
    from runlore.domain.records.feedback import FeedbackVerdict as FeedbackVerdict
    from runlore.ports.operations.agent import *
    from runlore.ports.operations.declaration import OPERATIONS as OPERATIONS
    from runlore.ports.operations.hooks import *
    from runlore.ports.operations.learning import *
    from runlore.ports.operations.library import *
    from runlore.ports.operations.operations import *
    from runlore.ports.operations.progress import *
    from runlore.ports.operations.projection import *
    from runlore.ports.operations.radar import *
    from runlore.ports.operations.records import *
    from runlore.ports.operations.review import *
    from runlore.ports.operations.rollouts import *
    from runlore.ports.operations.service import *
    from runlore.ports.operations.sessions import *
    from runlore.ports.operations.skills import *
    from runlore.ports.operations.worth import *
else:

    def __getattr__(name: str) -> object:
        if name not in AREA_OF_VALUE:
            raise AttributeError(f"there is no {name!r} among the operations")
        found = getattr(load_area(AREA_OF_VALUE[name]), name)
        globals()[name] = found
        return found
