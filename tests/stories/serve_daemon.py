"""A daemon in a process of its own: `python -m tests.stories.serve_daemon`, with a JSON object of settings.

It prints one line when it is ready, or the problem that keeps it from starting.
"""

import gc
import json
import sys
from dataclasses import asdict

from runlore.api.serve import DEGRADED_S, serve
from runlore.config.server import ServerSettings
from runlore.config.settings import Settings
from runlore.daemon.process.server import make_plan
from runlore.daemon.process.sockets import DaemonFile
from runlore.domain.errors import RunloreError


def main() -> int:
    """Serve until told to stop."""
    # What this process was forked from had its garbage set aside already.
    gc.unfreeze()
    given = json.loads(sys.argv[1])
    server = ServerSettings(**given.pop("server", {}))
    log_file = given.pop("log_file", None)
    degraded_s = given.pop("degraded_s", DEGRADED_S)
    try:
        plan = make_plan(Settings(server=server, **given))
        return serve(plan, log_file=log_file, on_ready=_say, degraded_s=degraded_s)
    except RunloreError as error:
        print(json.dumps({"code": error.code, "detail": error.sentence, "hint": error.hint}), flush=True)
        return 3


def _say(told: DaemonFile) -> None:
    print(json.dumps({**asdict(told), "frozen": gc.get_freeze_count()}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
