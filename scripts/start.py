"""What `make up` does once everything is set up: `python -m scripts.start`.

It starts a daemon where none is running, on another port where its own is taken, and goes on with
`runlore init`; without a terminal it shows the status, and tells what to try next. Calling it again does no
harm.
"""

import os
import shutil
import sys
from dataclasses import replace

from runlore.cli.background import start_detached
from runlore.cli.failures import report
from runlore.cli.main import run
from runlore.cli.service import on_a_port
from runlore.cli.skills.prompt import STOPPED, is_terminal
from runlore.config.settings import read_settings
from runlore.daemon.process.logs import log_path
from runlore.daemon.process.sockets import is_listening, socket_path
from runlore.domain.errors import RunloreError

_ENDS = "\nRunlore runs in the background; `runlore down` ends it.\n"
_PATH = """So that you can call it by its name:
  export PATH="$PWD/.venv/bin:$PATH"
"""
_NEXT = """What next:
  runlore init           what your sessions teach, and setting it up, in a minute
  runlore connect AGENT  memory in each prompt of an agent, such as claude-code
  make tour              a short tour with sessions of others, on a scratch state root
"""


def main() -> None:
    try:
        # Where the environment names a Runlore elsewhere, this starts the one here all the same.
        settings = replace(read_settings(home=None, environment=os.environ), url=None)
        if is_listening(socket_path(settings.state_root)):
            print("Runlore is up already.")
        else:
            log = log_path(settings.state_root)
            on_a_port(settings, lambda where: start_detached(where, log), is_given=False)
            print("Runlore is up.")
    except RunloreError as error:
        sys.exit(report(error, as_json=False))
    print(_ENDS if shutil.which("runlore") else _ENDS + _PATH, flush=True)
    if is_terminal():
        code = run(["init"])
        # Runlore is up, whoever stops the questions.
        sys.exit(0 if code == STOPPED else code)
    code = run(["status"])
    if code == 0:
        print(_NEXT, end="")
    sys.exit(code)


if __name__ == "__main__":
    main()
