"""Starts one command, keeps it inside what it may touch, and ends all that it started.

Standard library only, and nothing of ours: it is started for every command, and watches what it must not
become. Its own code comes in with the plan, from the process that wants the command: on the disk a command
may have changed it, and nothing confines this one. Two processes come of it. This one watches and is not
confined; its child confines itself and becomes the command. What the command leaves behind when its parents
end comes back to this one (on Linux), and is ended before this one ends. The standard input stays open behind
the plan: a `T` on it asks for the command's end, and its own end means that whoever wanted the command is
gone.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import select
import signal
import stat
import struct
import sys
import time

# Names for the reader of types alone: to import them would take longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NoReturn

IS_LINUX = sys.platform == "linux"
GRACE_S = 1.0
NOT_STARTED = 125

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 36, 38
_PR_CAPBSET_READ, _PR_CAPBSET_DROP = 23, 24
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
# What the superuser keeps: files of others, other accounts, low ports. The rest looks into other processes,
# loads modules or makes devices, none of which the confinement would notice.
_KEPT_CAPABILITIES = frozenset({0, 1, 3, 4, 5, 6, 7, 10})
_CAPABILITIES_MAX = 64
# How many processes there may be besides those that run when a command begins.
PROCESSES_MAX = 4_096
# How much more readily than others a command is ended where memory runs out; 1000 is the most.
OFFERED = 500
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_CLONE_NEWNS, _CLONE_NEWUSER, _MS_REC, _MS_PRIVATE = 0x20000, 0x10000000, 0x4000, 0x40000
_OPEN_TREE_CLONE, _MOVE_MOUNT_F_EMPTY_PATH, _MOUNT_ATTR_RDONLY = 1, 4, 1
_AT_FDCWD, _AT_SYMLINK_NOFOLLOW, _AT_EMPTY_PATH = -100, 0x100, 0x1000
_VERSION_WANTED, _PATH_BENEATH = 1, 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_REG = 1 << 4, 1 << 5, 1 << 7, 1 << 8
_MAKE_SOCK, _MAKE_FIFO, _MAKE_SYM = 1 << 9, 1 << 10, 1 << 12
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
# All that each version of the kernel's interface can deny, devices to be made included.
_HANDLED = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_HANDLED_LATEST = (1 << 16) - 1
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_ABSTRACT_SOCKETS_AND_SIGNALS = 3

READ = _READ_FILE | _READ_DIR | _EXECUTE
WRITE = (
    READ | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _MAKE_SOCK | _MAKE_FIFO
) | (_MAKE_SYM | _REFER | _TRUNCATE)
DEVICE = _READ_FILE | _WRITE_FILE | _IOCTL_DEV | _TRUNCATE
# Parts of memory that processes share: only by those who know the name.
SHARED = _READ_FILE | _WRITE_FILE | _TRUNCATE | _MAKE_REG | _REMOVE_FILE


def abi() -> int:
    """The version of the kernel's confinement; 0 where there is none."""
    if not IS_LINUX:
        return 0
    version = _libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_WANTED))
    return max(0, int(version))


def main(plan: dict[str, Any]) -> None:
    """Start the command, watch it, end what it left, and report how it ended."""
    report = plan["report"]
    life = os.dup(0)
    os.set_inheritable(report, False)
    for handle in [plan["folder"], *plan["readable"], *plan["writable"]]:
        os.set_inheritable(handle, False)
    if IS_LINUX:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    if os.getppid() != plan["parent"]:
        sys.exit(NOT_STARTED)
    woken = _wake_on_signals()
    problem_out, problem_in = os.pipe()
    child = os.fork()
    if child == 0:
        _become(plan, problem_in)
    os.close(problem_in)
    # The last one to hold the output must not be this one, or its reader would never see its end.
    _to_null(0, 1, 2)
    _say(report, f"pid {child}\n")
    problem = os.read(problem_out, 4096).decode(errors="replace")
    command = WatchedProcess(child)
    ending = _watch(command, life=life, woken=woken)
    code = _end(command, gently=ending == "asked")
    _say(report, f"failed {problem}\n" if problem else f"exit {code}\n")
    if ending == "orphaned":
        # The kernel's word that the parent is gone may come only now, and is not for what comes of this one.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        # Not from the search path: a command may have written to a folder on it.
        os.execv("/bin/rm", ["rm", "-rf", "--", plan["private"]])


def _become(plan: dict[str, Any], problem: int) -> NoReturn:
    """Turn into the command, or say why not."""
    try:
        watcher = os.getppid()
        os.setsid()
        if IS_LINUX:
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != watcher:
                os._exit(NOT_STARTED)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _to_null(0)
        if not plan["errors"]:
            _to_null(2)
        os.fchdir(plan["folder"])
        if IS_LINUX:
            _close(plan["closed"])
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            _limit_processes()
            _offer_memory()
            _drop_capabilities()
            _prctl(_PR_SET_NO_NEW_PRIVS, 1)
            if plan["abi"]:
                _enter_sandbox(plan)
            if plan["filter"]:
                _filter_calls(plan["filter"])
        _replace_self(plan["argv"], plan["environment"])
    except BaseException as error:  # whatever it was, only this process ends, and the other one tells it
        _say(problem, f"{type(error).__name__}: {error}"[:1000])
    os._exit(NOT_STARTED)


def _replace_self(argv: list[str], environment: dict[str, str]) -> NoReturn:
    """Become a program of the search path. Nothing is imported any more: what this program is made of may
    be closed to it by now."""
    for folder in environment["PATH"].split(":"):
        try:
            os.execve(f"{folder}/{argv[0]}", argv, environment)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
    raise FileNotFoundError(f"there is no {argv[0]} on the search path")


def _close(paths: list[tuple[str, bool]]) -> None:
    """Let nobody write what is at these paths, or only not move it away, in what this process and all that
    come of it see of the file system. Where the system has no such way, others compare."""
    if not paths:
        return
    try:
        _unshare()
        for path, is_whole in paths:
            _cover(os.fsencode(path), is_whole)
    except OSError:
        return


def _unshare() -> None:
    """See the file system apart from others: nothing of what follows reaches them. The folder that this
    process is in goes with it; folders that were opened before do not, and would lead around it."""
    user, group, is_root = os.getuid(), os.getgid(), os.geteuid() == 0
    _check(_libc().unshare(ctypes.c_int(_CLONE_NEWNS if is_root else _CLONE_NEWNS | _CLONE_NEWUSER)))
    if not is_root:
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    _check(_libc().mount(None, b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None))


def _cover(path: bytes, is_whole: bool) -> None:
    """Put a file or folder over itself, so that nobody takes its place; read-only where it is closed."""
    libc, here = _libc(), ctypes.c_int(_AT_FDCWD)
    flags = ctypes.c_uint(_OPEN_TREE_CLONE | _AT_SYMLINK_NOFOLLOW | os.O_CLOEXEC)
    tree = libc.syscall(_OPEN_TREE, here, path, flags)
    if tree < 0:
        return
    try:
        if is_whole:
            wanted = struct.pack("<QQQQ", _MOUNT_ATTR_RDONLY, 0, 0, 0)
            _check(
                libc.syscall(
                    _MOUNT_SETATTR,
                    ctypes.c_int(tree),
                    b"",
                    ctypes.c_uint(_AT_EMPTY_PATH),
                    wanted,
                    ctypes.c_size_t(len(wanted)),
                )
            )
        _check(
            libc.syscall(
                _MOVE_MOUNT, ctypes.c_int(tree), b"", here, path, ctypes.c_uint(_MOVE_MOUNT_F_EMPTY_PATH)
            )
        )
    finally:
        os.close(tree)


def _limit_processes() -> None:
    """Keep a command that only multiplies from taking the system's last process. The superuser can."""
    with open("/proc/loadavg", "rb") as file:
        running = int(file.read().split()[3].partition(b"/")[2])
    most = running + PROCESSES_MAX
    for limit in resource.getrlimit(resource.RLIMIT_NPROC):
        if limit != resource.RLIM_INFINITY:
            most = min(most, limit)
    resource.setrlimit(resource.RLIMIT_NPROC, (most, most))


def _offer_memory() -> None:
    """Let the kernel end a command first where memory runs out, and not whoever wanted it. What may not be
    written here stays as it is."""
    try:
        with open("/proc/self/oom_score_adj", "r+", encoding="ascii") as file:
            offered = max(int(file.read()), OFFERED)
            file.seek(0)
            file.write(str(offered))
    except OSError:
        return


def _drop_capabilities() -> None:
    """Leave the superuser little more than what other users have; others have none of it to give up."""
    if os.geteuid() != 0:
        return
    libc, number = _libc(), ctypes.c_ulong
    for capability in range(_CAPABILITIES_MAX):
        if libc.prctl(_PR_CAPBSET_READ, number(capability), number(0), number(0), number(0)) < 0:
            return
        if capability not in _KEPT_CAPABILITIES:
            # A superuser of a namespace may lack the right to give rights up, and then has none that count.
            libc.prctl(_PR_CAPBSET_DROP, number(capability), number(0), number(0), number(0))


def _enter_sandbox(plan: dict[str, Any]) -> None:
    """Give up everything but what the plan names, for this process and all that come of it."""
    version = min(abi(), plan["abi"])
    if version < 1:
        raise OSError(errno.ENOSYS, "the kernel confines nothing")
    handled = _HANDLED.get(version, _HANDLED_LATEST)
    scoped = _ABSTRACT_SOCKETS_AND_SIGNALS if version >= 6 else 0
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    attributes = struct.pack("<QQQ", handled, 0, scoped)[:size]
    ruleset = _check(_libc().syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0)))
    for handles, rights in ((plan["readable"], READ), (plan["writable"], WRITE)):
        for handle in handles:
            _allow(ruleset, handle, rights & handled)
    for path, rights in _named_paths(plan):
        try:
            handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        # Some of these stand where commands write, and one before this may have put a link in their place.
        if path not in plan["paths"] or os.readlink(f"/proc/self/fd/{handle}") == path:
            _allow(ruleset, handle, rights & handled)
        os.close(handle)
    _check(_libc().syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0)))
    os.close(ruleset)


def _filter_calls(program: bytes) -> None:
    """Give up the calls that a program of the kernel's filter denies, for all that come of this process."""
    kept = ctypes.create_string_buffer(program, len(program))
    argument = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(kept)))
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(argument))


def _named_paths(plan: dict[str, Any]) -> list[tuple[str, int]]:
    kinds = (("paths", READ), ("devices", DEVICE), ("shared", SHARED))
    return [(path, rights) for kind, rights in kinds for path in plan[kind]]


def _allow(ruleset: int, handle: int, rights: int) -> None:
    # The kernel refuses rights of folders on what is none.
    if not stat.S_ISDIR(os.fstat(handle).st_mode):
        rights &= _OF_FILES
    rule = struct.pack("<Qi", rights, handle)
    _check(
        _libc().syscall(
            _ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0)
        )
    )


class WatchedProcess:
    """The command. It is not let go before its group is ended: until then nobody else gets its number."""

    def __init__(self, process: int) -> None:
        self.process = process
        self._status: int | None = None

    def has_ended(self) -> bool:
        """Whether the command itself is over, whoever it left behind."""
        if IS_LINUX:
            return os.waitid(os.P_PID, self.process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        if self._status is None:
            process, status = os.waitpid(self.process, os.WNOHANG)
            self._status = status if process else None
        return self._status is not None

    def code(self) -> int:
        """How it ended, as a shell would say it; waits for it."""
        if self._status is None:
            _, self._status = os.waitpid(self.process, 0)
        code = os.waitstatus_to_exitcode(self._status)
        return code if code >= 0 else 128 - code

    def reap_others(self) -> None:
        """Let those go that ended after their parents, so that they do not pile up."""
        while IS_LINUX and not self.has_ended():
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None:
                return
            if ended.si_pid != self.process:
                os.waitpid(ended.si_pid, 0)


def _watch(command: WatchedProcess, *, life: int, woken: int) -> str:
    """Wait until the command is over (`exited`), its end is `asked` for, or nobody wants it (`orphaned`)."""
    while True:
        ready, _, _ = select.select([life, woken], [], [])
        if woken in ready:
            # The kernel's word that the parent is gone.
            if bytes([signal.SIGTERM]) in os.read(woken, 512):
                return "orphaned"
            if command.has_ended():
                return "exited"
            command.reap_others()
        if life in ready:
            return "asked" if os.read(life, 1) else "orphaned"


def _end(command: WatchedProcess, *, gently: bool) -> int:
    """End the command and all that it started; how the command ended. Where it is to end `gently`, it is
    given a moment to tidy up."""
    if gently:
        _kill_group(command.process, signal.SIGTERM)
        deadline = time.monotonic() + GRACE_S
        while time.monotonic() < deadline and not command.has_ended():
            command.reap_others()
            time.sleep(0.01)
    _kill_group(command.process, signal.SIGKILL)
    code = command.code()
    # Whoever left the group is by now, or soon, a child of this process.
    while IS_LINUX:
        for orphan in _children():
            _kill(orphan)
            _kill_group(orphan, signal.SIGKILL)
        if not reap_children():
            break
    return code


def reap_children() -> bool:
    """Wait for one to end and let all go that did; whether there was one. One at a time would be too slow
    for a command that only makes and leaves processes: in the end nobody on this machine could start one."""
    try:
        os.waitpid(-1, 0)
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue
    except ChildProcessError:
        return False
    return True


def _children() -> Iterator[int]:
    """Whose parent this process is by now: nobody else can take their numbers before it lets them go. The
    latest come first, each as soon as it is found: some are gone again in less than a thousandth of a
    second, and leave another one."""
    me = str(os.getpid()).encode()
    for number in sorted((int(name) for name in os.listdir("/proc") if name.isdigit()), reverse=True):
        try:
            with open(f"/proc/{number}/stat", "rb", buffering=0) as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if fields[1:2] == [me]:
            yield number


def _kill_group(leader: int, number: int) -> None:
    try:
        if os.getpgid(leader) == leader:
            os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        return


def _kill(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _wake_on_signals() -> int:
    """A handle that can be read when a child has ended or this process is asked to end."""
    out, into = os.pipe()
    os.set_blocking(into, False)
    signal.set_wakeup_fd(into, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return out


def _to_null(*handles: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for handle in handles:
        os.dup2(null, handle)
    if null not in handles:
        os.close(null)


def _say(handle: int, text: str) -> None:
    try:
        os.write(handle, text.encode(errors="replace"))
    except OSError:
        return


def _prctl(option: int, value: int, address: int = 0) -> None:
    number = ctypes.c_ulong
    _check(_libc().prctl(ctypes.c_int(option), number(value), number(address), number(0), number(0)))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
