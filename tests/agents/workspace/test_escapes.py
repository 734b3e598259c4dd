"""Ways out of a working folder that a command could look for: each of them is closed."""

import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from runlore.agents.workspace import launcher
from runlore.agents.workspace.git import repository_of
from runlore.agents.workspace.worktrees import LocalWorkspaces
from tests.agents.commands import environment, ran
from tests.waiting import PATIENCE_S

pytestmark = [pytest.mark.req("AGT-4"), pytest.mark.landlock]

SECRET = "not for agents"
BARE = {
    "HEAD": "ref: refs/heads/main\n",
    "config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n"
    '\tfsmonitor = "touch run; false"\n',
    "objects/keep": "",
    "refs/keep": "",
}
# Leaves itself to whoever takes orphans, again and again, under another number and in another group.
HOPPING = """
import os, sys, time
end = time.monotonic() + 4
while time.monotonic() < end:
    if os.fork():
        os._exit(0)
    os.setsid()
"""


@pytest.fixture
def home(disk_path: Path) -> Path:
    """A home folder with a key, another project and Runlore's own files in it."""
    made = disk_path.resolve() / "home"
    for name in (".ssh/id", "other/bin/tool", "other/lib/notes", ".runlore/operator.token"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(SECRET)
    return made


@pytest.fixture
def work(home: Path) -> Path:
    """A working folder with an environment in it, as most have."""
    folder = home / "project"
    for name in ("bin", "lib", "include"):
        (folder / ".venv" / name).mkdir(parents=True)
    (folder / ".venv" / "lib" / "module").write_text("a module")
    return folder


@pytest.fixture
def workspaces(home: Path, work: Path) -> LocalWorkspaces:
    """What is opened by somebody who uses that environment."""
    return _workspaces(home, f"{work}/.venv/bin")


def _workspaces(home: Path, *search: str, local_sockets: bool = False) -> LocalWorkspaces:
    own = environment(home)
    return LocalWorkspaces(
        environment={**own, "PATH": ":".join((*search, own["PATH"]))},
        kept_out=[str(home / ".runlore")],
        local_sockets=local_sockets,
    )


class TestLinksOnTheSearchPath:
    @pytest.mark.parametrize(
        ("replaced", "leads"),
        [
            (".venv/include", ".ssh"),
            (".venv/lib", ".runlore"),
            (".venv/bin", ".ssh"),
            (".venv/bin", "other/bin"),
            (".venv", "other"),
        ],
        ids=["beside", "own files", "programs", "other programs", "all"],
    )
    def test_a_link_in_its_place_opens_nothing_now_or_later(
        self, home: Path, work: Path, workspaces: LocalWorkspaces, replaced: str, leads: str
    ) -> None:
        wanted = [path for path in (home / leads).rglob("*") if path.is_file()]
        look = "; ".join(f"cat {path}" for path in wanted)
        workspace = workspaces.open(str(work))

        assert ran(workspace, f"rm -r {replaced} && ln -s {home / leads} {replaced}").exit_code == 0

        assert SECRET not in ran(workspace, look).output
        assert SECRET not in ran(workspaces.open(str(work)), look).output
        with workspaces.worktree(str(work), "skill", "call") as made:
            assert SECRET not in ran(made.workspace, look).output

    def test_a_way_into_the_working_folder_by_another_name_is_seen_through(
        self, home: Path, work: Path
    ) -> None:
        (home / "short").symlink_to(work)
        workspaces = _workspaces(home, f"{home}/short/.venv/bin")
        (work / ".venv").rename(work / "moved")
        (work / ".venv").symlink_to(home / "other")

        assert SECRET not in ran(workspaces.open(str(work)), f"cat {home}/other/lib/notes").output

    @pytest.mark.parametrize("name", ["bin", "include"])
    def test_a_link_that_another_agent_put_elsewhere_opens_nothing_here(
        self, home: Path, work: Path, name: str
    ) -> None:
        elsewhere = home / "elsewhere"
        elsewhere.mkdir()
        (work / ".venv" / name).rmdir()
        (work / ".venv" / name).symlink_to(home / ".ssh")

        workspace = _workspaces(home, f"{work}/.venv/bin").open(str(elsewhere))

        assert SECRET not in ran(workspace, f"cat {home}/.ssh/id").output

    def test_a_child_reads_the_environment_of_the_folder_that_it_is_a_copy_of(
        self, work: Path, workspaces: LocalWorkspaces
    ) -> None:
        with workspaces.worktree(str(work), "skill", "call") as made:
            assert ran(made.workspace, f"cat {work}/.venv/lib/module").output == "a module"


class TestSockets:
    @pytest.fixture
    def listening(self, home: Path) -> Iterator[str]:
        """A program of this user that does as it is told, and where it listens."""
        path = str(home / "s")
        with closing(socket.socket(socket.AF_UNIX)) as listener:
            listener.bind(path)
            listener.listen()
            thread = threading.Thread(target=_answer, args=[listener], daemon=True)
            thread.start()
            yield path
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()

    def test_other_programs_of_this_machine_are_spoken_to_only_where_that_is_allowed(
        self, home: Path, work: Path, listening: str
    ) -> None:
        ask = (
            "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX);"
            f' s.connect("{listening}"); print(s.recv(99).decode())\''
        )

        closed = ran(_workspaces(home).open(str(work)), ask)
        opened = ran(_workspaces(home, local_sockets=True).open(str(work)), ask)

        assert closed.exit_code == 1
        assert "PermissionError" in closed.output
        assert opened.output == f"{SECRET}\n"

    def test_the_internet_and_pairs_of_one_s_own_stay(self, home: Path, work: Path) -> None:
        script = (
            "import multiprocessing, socket\n"
            "a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'\n"
            "try:\n"
            "    socket.socketpair(type=socket.SOCK_DGRAM)[0].sendto(b'x', '/run/systemd/notify')\n"
            "except PermissionError:\n"
            "    print('no datagrams')\n"
            "for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK):\n"
            "    socket.socket(family, socket.SOCK_RAW if family == 16 else socket.SOCK_STREAM)\n"
            "listener = socket.create_server(('127.0.0.1', 0))\n"
            "socket.create_connection(listener.getsockname())\n"
            "print(multiprocessing.get_context('fork').Pool(2).map(abs, [-1, -2]))\n"
        )
        (work / "script.py").write_text(script)

        result = ran(_workspaces(home).open(str(work)), "python3 script.py")

        assert result.output == "no datagrams\n[1, 2]\n"

    @pytest.mark.parametrize("call", ["425, 1, 0", "KEYCTL, 0, -3, 0"])
    def test_calls_that_go_around_it_are_not_there(self, home: Path, work: Path, call: str) -> None:
        number = {"x86_64": "250", "aarch64": "219", "riscv64": "219"}[os.uname().machine]
        script = (
            "import ctypes; libc = ctypes.CDLL(None, use_errno=True);"
            f" print(libc.syscall({call.replace('KEYCTL', number)}), ctypes.get_errno())"
        )

        assert ran(_workspaces(home).open(str(work)), f"python3 -c '{script}'").output == "-1 38\n"


class TestRepositories:
    def test_plain_files_are_no_repository_whose_settings_name_programs(
        self, home: Path, work: Path, workspaces: LocalWorkspaces
    ) -> None:
        workspace = workspaces.open(str(work))
        for name, text in BARE.items():
            workspace.write(name, text)
            workspace.write(f"below/{name}", text)

        results = [ran(workspace, command) for command in ("git status", "cd below && git status")]

        assert [result.exit_code for result in results] == [128, 128]
        assert not list(work.rglob("run"))

    def test_a_repository_inside_of_its_own_worktree_does_not_count(self, work: Path) -> None:
        record = work / "fake" / "worktrees" / "x"
        record.mkdir(parents=True)
        for name in ("objects", "refs"):
            (work / "fake" / name).mkdir()
        (work / "fake" / "HEAD").write_text("ref: refs/heads/main\n")
        (record / "gitdir").write_text(f"{work}/.git\n")
        (record / "commondir").write_text("../..\n")
        (work / ".git").write_text(f"gitdir: {record}\n")

        assert repository_of(str(work)) is None

    def test_programs_that_a_worktree_s_own_settings_name_write_no_more_than_its_commands(
        self, home: Path, workspaces: LocalWorkspaces
    ) -> None:
        """What git keeps for one worktree can be written there, and may name what it runs for every file."""
        main, folder = home / "main", home / "linked"
        main.mkdir()
        (main / ".gitattributes").write_text("f filter=mine\n")
        (main / "f").write_text("x\n")
        named = "-c user.name=Somebody -c user.email=somebody@example.org"
        for asked in (
            "init -q .",
            "add -A",
            f"{named} commit -q -m first",
            "config extensions.worktreeConfig true",
            f"worktree add -q {folder}",
        ):
            subprocess.run(["git", *asked.split()], cwd=main, check=True)
        hook = main / ".git" / "hooks" / "planted"
        planting = f"git config --worktree filter.mine.smudge 'cat; touch ran; echo x > {hook}'"
        assert ran(workspaces.open(str(folder)), planting).exit_code == 0

        with workspaces.worktree(str(folder), "skill", "call") as made:
            assert (Path(made.workspace.folder) / "f").read_text() == "x\n"

        assert not hook.exists()

    def test_git_itself_is_not_what_a_command_left_on_the_search_path(self, home: Path) -> None:
        """In a part of a repository, the git that makes a copy writes what commands there do not."""
        part = home / "whole" / "part"
        (part / ".venv" / "bin").mkdir(parents=True)
        (part / "f").write_text("x\n")
        named = "-c user.name=Somebody -c user.email=somebody@example.org"
        for asked in ("init -q .", "add -A", f"{named} commit -q -m first"):
            subprocess.run(["git", *asked.split()], cwd=part.parent, check=True)
        (home / "short").symlink_to(part / ".venv")
        git, hook = part / ".venv" / "bin" / "git", part.parent / ".git" / "hooks" / "planted"
        planted = f'#!/bin/sh\n(echo x > {hook}) 2>/dev/null; exec {shutil.which("git")} "$@"\n'
        for search in (str(git.parent), f"{home}/short/bin"):
            workspaces = _workspaces(home, search)
            workspaces.open(str(part)).write(".venv/bin/git", planted)
            assert ran(workspaces.open(str(part)), "chmod +x .venv/bin/git && git log").exit_code == 0
            assert not hook.exists()

            with workspaces.worktree(str(part), "skill", "call") as made:
                assert made.kind == "worktree"

        assert not hook.exists()

    def test_files_are_kept_as_the_user_s_own_settings_filter_them(self, home: Path, work: Path) -> None:
        """Without it large files are committed whole where pointers to them belong."""
        (home / ".gitconfig").write_text('[filter "big"]\n\tclean = tr a-z A-Z\n\tsmudge = cat\n')
        (work / ".gitattributes").write_text("*.big filter=big\n")
        (work / "one.big").write_text("content")

        result = ran(
            _workspaces(home).open(str(work)), "git init -q . && git add one.big && git show :one.big"
        )

        assert result.output == "CONTENT"


class TestProcesses:
    def test_what_keeps_leaving_itself_behind_is_ended(self, work: Path, workspaces: LocalWorkspaces) -> None:
        (work / "hopping.py").write_text(HOPPING)
        start = "python3 -S hopping.py; " * 6

        result = ran(workspaces.open(str(work)), f"{start} echo left", timeout_s=30)

        assert (result.output, result.exit_code) == ("left\n", 0)
        assert not [each for each in _command_lines() if b"hopping.py" in each]

    def test_all_that_ended_are_let_go_at_once(self, home: Path, work: Path) -> None:
        """One for each look at all processes is too slow where a command leaves them by the thousand."""
        run = _asked(home, [sys.executable, "-m", "tests.agents.commands", "reaped", str(work)])

        assert run.stdout == "False\n", run.stderr

    def test_a_command_that_only_multiplies_leaves_processes_and_memory_for_others(
        self, work: Path, workspaces: LocalWorkspaces
    ) -> None:
        looking = "ulimit -u; ulimit -Hu; cat /proc/loadavg /proc/self/oom_score_adj"

        soft, hard, load, offered = ran(workspaces.open(str(work)), looking).output.splitlines()

        assert int(offered) >= launcher.OFFERED
        running = int(load.split()[3].partition("/")[2])
        assert soft == hard
        assert int(soft) < running + launcher.PROCESSES_MAX + 1_000

    def test_what_runlore_itself_runs_from_is_not_what_a_command_left_there(
        self, home: Path, work: Path
    ) -> None:
        """An environment in the working folder is what starts commands, and its Python is changed by one."""
        subprocess.run(
            [sys.executable, "-m", "venv", "--without-pip", "--clear", str(work / ".venv")], check=True
        )
        asked = [str(work / ".venv/bin/python"), "-m", "tests.agents.commands", "changed", str(work)]
        run = _asked(home, asked)

        assert run.returncode == 0, run.stderr
        assert run.stdout.splitlines() == ["workspace.kind", "workspace.kind", "second"]
        assert not (home / "escaped").exists()


def _asked(home: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    own = {**environment(home), "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(command, env=own, capture_output=True, text=True, check=False, timeout=PATIENCE_S)


def _answer(listener: socket.socket) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            connection.sendall(SECRET.encode())


def _command_lines() -> Iterator[bytes]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                yield Path(f"/proc/{name}/cmdline").read_bytes()
            except OSError:
                continue
