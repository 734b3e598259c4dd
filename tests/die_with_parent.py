"""Become another program, as another account if asked, that ends when its parent ends.

    python -I die_with_parent.py PARENT_PID SIGNAL UID GID PROGRAM ARGUMENT...

A test run that is killed runs no finaliser, so the kernel has to do it. Where the kernel cannot (only
Linux can), whoever starts next cleans up. Standard library only, and nothing of ours: it runs as root.
"""

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    """Give up privileges first: changing the account takes the wish to die with the parent back."""
    parent, signal_number, user, group = (int(argument) for argument in arguments[:4])
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(group)
        os.setuid(user)
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal_number, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the parent ended before the program began")
    program = arguments[4]
    os.execv(program, [program, *arguments[5:]])


if __name__ == "__main__":
    main(sys.argv[1:])
