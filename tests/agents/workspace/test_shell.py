"""Commands of an agent: what they may touch, what they see, how they end, and what they leave."""

import gc
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from runlore.agents.workspace import launcher
from runlore.agents.workspace.local_workspace import LocalWorkspace, open_workspace
from runlore.agents.workspace.permissions import build_permissions
from runlore.agents.workspace.shell import CommandRunner
from runlore.agents.workspace.worktrees import LocalWorkspaces
from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.ports.workspaces import ShellResult
from tests.agents.commands import environment, gone, is_running, ran, waited_for
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("AGT-4")

SECRET = "not for agents"


@pytest.fixture
def home(disk_path: Path) -> Path:
    """A home folder with keys, other projects and Runlore's own files in it."""
    made = disk_path.resolve() / "home"
    for name in (
        ".ssh/id_ed25519",
        ".aws/credentials",
        "other/notes.txt",
        ".runlore/operator.token",
        ".netrc",
    ):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(SECRET)
    return made


@pytest.fixture
def work(home: Path) -> Path:
    """The working folder."""
    folder = home / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def workspace(home: Path, work: Path) -> LocalWorkspace:
    made = LocalWorkspaces(environment=environment(home), kept_out=[str(home / ".runlore")])
    return made.open(str(work))


class TestConfinement:
    def test_the_kernel_keeps_commands_inside_here(self, workspace: LocalWorkspace) -> None:
        assert workspace.confinement == "kernel"

    @pytest.mark.parametrize(
        "name",
        [".ssh/id_ed25519", ".aws/credentials", "other/notes.txt", ".runlore/operator.token", ".netrc"],
    )
    def test_keys_and_other_projects_cannot_be_read_written_or_removed(
        self, home: Path, workspace: LocalWorkspace, name: str
    ) -> None:
        path = home / name
        acts = (
            f"cat {path}",
            f"cat ../{name}",
            f"ln -s {path} link && cat link",
            f"ln {path} same && cat same",
            f"mv {path} mine && cat mine",
            f"ls {path.parent}",
            f"echo x > {path}",
            f"echo x >> {path}",
            f"truncate -s 0 {path}",
            f"rm {path}",
            f"touch {path.parent}/new",
            f"mkdir {path.parent}/new",
            f"chmod u+s {path.parent}/new",
            f"python3 -c 'import os; os.truncate(\"{path}\", 0)'",
        )

        result = ran(
            workspace, "\n".join(f"( {act} ) && echo done: {number}" for number, act in enumerate(acts))
        )

        assert "done" not in result.output
        assert SECRET not in result.output
        assert result.output.count("denied") + result.output.count("ermitted") >= len(acts) - 2
        assert path.read_text() == SECRET
        assert path.parent == home or os.listdir(path.parent) == [path.name]

    def test_nothing_of_this_process_can_be_seen_or_ended(self, home: Path, work: Path) -> None:
        """The one that asks has a secret in its environment and in its own files."""
        asked = [sys.executable, "-m", "tests.agents.commands", "inspected", str(work)]
        run = subprocess.run(
            asked,
            env={**environment(home), "OPENAI_API_KEY": SECRET, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )

        assert run.returncode == 0, run.stderr
        assert SECRET not in run.stdout
        assert run.stdout.splitlines() == [
            "environ: denied",
            "maps: denied",
            "fd: denied",
            "cwd: denied",
            "watcher: denied",
            *(["signal: denied"] if launcher.abi() >= 6 else []),
            "alive",
        ]

    def test_the_environment_is_made_from_a_list(self, home: Path, work: Path) -> None:
        full = {
            **environment(home),
            **dict.fromkeys(("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "BASH_ENV"), SECRET),
            "HTTPS_PROXY": f"http://me:{SECRET}@proxy",
            "SSH_AUTH_SOCK": SECRET,
            "LC_SECRET_1": SECRET,
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "GIT_DIR": SECRET,
            "PYTHONPATH": SECRET,
            "ENV": SECRET,
        }
        workspace = LocalWorkspaces(environment=full).open(str(work))

        seen = dict(line.partition("=")[::2] for line in ran(workspace, "env").output.splitlines())

        assert SECRET not in str(seen)
        assert (seen["LC_ALL"], seen["TZ"], seen["TERM"]) == ("C.UTF-8", "UTC", "dumb")
        assert seen["HOME"] != str(home)
        assert set(seen) <= {
            *(
                "PATH",
                "LC_ALL",
                "TZ",
                "TERM",
                "HOME",
                "TMPDIR",
                "PAGER",
                "SHELL",
                "PWD",
                "SHLVL",
                "_",
                "LANG",
            ),
            *("GIT_PAGER", "GIT_TERMINAL_PROMPT", "GIT_CONFIG_GLOBAL", "USER", "LOGNAME"),
        }

    def test_what_is_kept_out_is_no_working_folder_and_neither_is_what_holds_it(self, home: Path) -> None:
        workspaces = LocalWorkspaces(environment=environment(home), kept_out=[str(home / ".runlore")])
        (home / ".runlore" / "below").mkdir()
        (home / "link").symlink_to(home / ".runlore")
        for folder in (home, home / ".runlore", home / ".runlore" / "below", home / "link", home / "none"):
            with pytest.raises(Invalid) as invalid:
                workspaces.open(str(folder))
            assert invalid.value.code == "workspace.folder"
        with pytest.raises(Invalid):
            workspaces.open("a\0b")

    def test_a_link_that_took_its_place_is_no_working_folder(self, home: Path, work: Path) -> None:
        """An agent that works above the folder may put one there, and the session goes on by the name."""
        workspaces = LocalWorkspaces(environment=environment(home))
        (work / "a" / "b").mkdir(parents=True)
        (home / ".ssh" / "b").mkdir()
        assert ran(workspaces.open(str(work)), f"mv a c && ln -s {home}/.ssh a").exit_code == 0

        for folder in (work / "a" / "b", work / "a"):
            with pytest.raises(Invalid) as invalid:
                workspaces.open(str(folder))
            assert invalid.value.code == "workspace.folder"
        assert workspaces.open(f"{work}/c/b/").folder == f"{work}/c/b"

    def test_programs_of_the_home_folder_and_named_folders_can_be_read_and_not_written(
        self, home: Path, work: Path
    ) -> None:
        for name in (".local/bin", ".pyenv/versions", "tools/bin", "tools/lib", "shared/.runlore"):
            (home / name).mkdir(parents=True)
            (home / name / "tool").write_text("#!/bin/sh\necho ran\n")
            (home / name / "tool").chmod(0o755)
        (home / "tools" / "key").write_text(SECRET)
        (home / "shared" / "notes").write_text("shared notes")
        set_up = environment(home)
        set_up["PATH"] = f"{home}/tools/bin:relative:{set_up['PATH']}"
        workspaces = LocalWorkspaces(
            environment=set_up, readable=[str(home / "shared")], kept_out=[str(home / "shared" / ".runlore")]
        )
        workspace = workspaces.open(str(work))

        for name in (".local/bin", ".pyenv/versions", "tools/bin", "tools/lib"):
            assert ran(workspace, f"{home}/{name}/tool").output == "ran\n"
            assert ran(workspace, f"echo x > {home}/{name}/tool").exit_code != 0
        assert ran(workspace, "tool").output == "ran\n"
        # What a path leads to that is told from the working folder, a stranger may have put there.
        assert "relative" not in ran(workspace, "echo $PATH").output
        assert ran(workspace, f"cat {home}/tools/key").exit_code != 0
        assert ran(workspace, f"cat {home}/shared/notes").output == "shared notes"
        assert ran(workspace, f"cat {home}/shared/.runlore/tool").exit_code != 0

    def test_where_the_kernel_cannot_confine_it_says_so(self, home: Path, work: Path) -> None:
        for abi, confinement in ((0, "none"), (1, "none"), (2, "none"), (3, "kernel")):
            assert CommandRunner(build_permissions(environment(home)), abi=abi).confinement == confinement
        free = CommandRunner(build_permissions(environment(home)), abi=0)
        unconfined = open_workspace(str(work), lambda _: free, home=str(home))
        assert ran(unconfined, f"cat {home}/other/notes.txt").output == SECRET

    @pytest.mark.parametrize("abi", [1, 2, 3, 4, 5, 6, 7])
    def test_each_version_of_the_kernel_s_confinement_is_used_for_what_it_can(
        self, home: Path, work: Path, abi: int
    ) -> None:
        shell = CommandRunner(build_permissions(environment(home)), abi=abi)
        workspace = open_workspace(str(work), lambda _: shell, home=str(home))
        acts = {
            "reads": f"cat {home}/.netrc",
            "writes": f"echo x > {home}/new",
            "cuts short": f"python3 -c 'import os; os.truncate(\"{home}/.netrc\", 0)'",
            "moves": 'mkdir a b && touch a/f && python3 -c \'import os; os.rename("a/f", "b/f")\'',
            "signals": f"kill -0 {os.getpid()}",
            "works": "mkdir c && echo x > c/f && truncate -s 0 c/f && rm -r c && ls /usr > /dev/null",
        }

        result = ran(workspace, "\n".join(f"( {act} ) && echo {name}" for name, act in acts.items()))

        able = {line for line in result.output.splitlines() if line in acts}
        used = min(abi, launcher.abi())
        later = ({"cuts short"} if used < 3 else set()) | ({"signals"} if used < 6 else set())
        assert able == {"works"} | later | ({"moves"} if used >= 2 else set())

    def test_a_folder_that_took_the_name_later_is_another_one(
        self, work: Path, workspace: LocalWorkspace
    ) -> None:
        work.rename(work.with_name("moved"))
        work.mkdir()

        ran(workspace, "echo x > here")

        assert os.listdir(work) == []
        assert os.listdir(work.with_name("moved")) == ["here"]


class TestTools:
    def test_git_commits_as_the_user_or_as_an_agent(
        self, home: Path, work: Path, workspace: LocalWorkspace
    ) -> None:
        commit = "git init -q . && git commit -q --allow-empty -m x && git log -1 --format='%an <%ae>'"
        assert ran(workspace, commit).output == "Runlore agent <agent@runlore.invalid>\n"

        (home / ".gitconfig").write_text(
            '[user]\n\tname = "A \\"B\\" \\\\ C"\n\temail = a@example.org\n'
            f'[credential]\n\thelper = "!echo {SECRET}"\n[http]\n\textraheader = "{SECRET}"\n'
        )
        known = LocalWorkspaces(environment=environment(home)).open(str(work))

        assert ran(known, "git commit -q --allow-empty -m y && git log -1 --format='%an <%ae>'").output == (
            'A "B" \\ C <a@example.org>\n'
        )
        assert SECRET not in ran(known, "git config --list; cat ~/.gitconfig").output

    def test_tests_with_temporary_files_and_processes_run(self, workspace: LocalWorkspace) -> None:
        workspace.write(
            "test_it.py",
            "import multiprocessing, subprocess, tempfile, unittest\n"
            "class It(unittest.TestCase):\n"
            "    def test_files(self):\n"
            "        with tempfile.TemporaryDirectory() as folder:\n"
            "            open(folder + '/x', 'w').close()\n"
            "    def test_processes(self):\n"
            "        with multiprocessing.Lock():\n"
            "            subprocess.run(['ls', '/usr'], check=True, stdout=subprocess.DEVNULL)\n",
        )

        result = ran(workspace, "python3 -m unittest test_it && cat <(echo piped) <<< here && mktemp")

        assert result.exit_code == 0, result.output
        assert "piped" in result.output
        assert not os.path.exists(result.output.splitlines()[-1])

    def test_a_worktree_of_a_repository_elsewhere_commits_and_keeps_out_of_its_settings(
        self, home: Path, work: Path
    ) -> None:
        main = home / "main"
        made = (
            f"git init -q {main} && cd {main} &&"
            " git -c user.name=a -c user.email=b commit -q --allow-empty -m x"
            f" && git worktree add -q {work}"
        )
        subprocess.run(["bash", "-c", made], check=True, capture_output=True)
        workspace = LocalWorkspaces(environment=environment(home)).open(str(work))

        result = ran(workspace, "echo x > f && git add f && git commit -q -m y && git log --oneline | wc -l")

        assert (result.exit_code, result.output.strip()) == (0, "2")
        for command in (
            "git config core.pager evil",
            f"echo x > {main}/.git/hooks/post-commit",
            f"echo x > {main}/.git/config",
            f"cat {main}/file",
        ):
            assert ran(workspace, command).exit_code != 0

    def test_a_pointer_that_nobody_answers_opens_nothing(self, home: Path, work: Path) -> None:
        other = home / "other"
        subprocess.run(["git", "init", "-q", str(other)], check=True)
        (other / ".git" / "token").write_text(SECRET)
        (other / ".git" / "worktrees" / "x").mkdir(parents=True)
        for leads in (other / ".git", other / ".git" / "worktrees" / "x", home / ".ssh"):
            (work / ".git").write_text(f"gitdir: {leads}\n")
            workspace = LocalWorkspaces(environment=environment(home)).open(str(work))

            assert SECRET not in ran(workspace, f"cat {other}/.git/token {home}/.ssh/*").output

    def test_what_git_keeps_of_a_whole_home_folder_is_not_opened(self, home: Path, work: Path) -> None:
        subprocess.run(["git", "init", "-q", str(home)], check=True)
        (home / ".git" / "token").write_text(SECRET)
        (work / "f").write_text("x")
        subprocess.run(["git", "add", f"{work}/f", ".netrc"], check=True, cwd=home)
        named = ["-c", "user.name=a", "-c", "user.email=b"]
        subprocess.run(["git", *named, "commit", "-q", "-m", "x"], check=True, cwd=home)
        workspaces = LocalWorkspaces(environment=environment(home))

        assert SECRET not in ran(workspaces.open(str(work)), f"cat {home}/.git/token; cat ../.git/*").output
        with workspaces.worktree(str(work), "skill", "call") as made:
            assert made.kind == "copy"
            assert SECRET not in ran(made.workspace, "cat .netrc ../.netrc; git show HEAD:.netrc").output

    def test_in_a_part_of_a_repository_git_reads_and_does_not_write(self, home: Path, work: Path) -> None:
        made = (
            f"git init -q {work} && cd {work} && mkdir part && touch part/f && git add . &&"
            " git -c user.name=a -c user.email=b commit -q -m x"
        )
        subprocess.run(["bash", "-c", made], check=True)
        (work / "key").write_text(SECRET)
        workspace = LocalWorkspaces(environment=environment(home)).open(str(work / "part"))

        assert ran(workspace, "git log --oneline | wc -l").output.strip() == "1"
        assert ran(workspace, "cat ../key; echo x > ../.git/config").exit_code != 0
        assert (work / "key").read_text() == SECRET


class TestEnding:
    @pytest.mark.parametrize(
        ("command", "code"),
        [("exit 3", 3), ("true", 0), ("nonesuch-program", 127), ("kill -9 $$", 137), ("kill -TERM $$", 143)],
    )
    def test_the_exit_code_is_the_command_s(self, workspace: LocalWorkspace, command: str, code: int) -> None:
        result = ran(workspace, command)

        assert (result.exit_code, result.timed_out, result.stopped) == (code, False, False)

    def test_it_has_no_input_no_terminal_and_leaves_no_core(self, workspace: LocalWorkspace) -> None:
        result = ran(workspace, "read line || echo nothing; tty; ulimit -c; set -o | grep -c 'monitor.*on'")

        assert result.output == "nothing\nnot a tty\n0\n0\n"

    @pytest.mark.parametrize(
        "leaving",
        [
            "sleep 600 & echo $! >> pids",
            "setsid sh -c 'echo $$ >> pids; exec sleep 600' &",
            "(setsid sh -c 'echo $$ >> pids; (setsid sh -c \"echo \\$\\$ >> pids; sleep 9\" &); sleep 9' &)",
            "nohup sh -c 'trap \"\" TERM HUP; echo $$ >> pids; while :; do sleep 9; done' > /dev/null 2>&1 &",
        ],
        ids=["background", "own session", "forked twice", "deaf"],
    )
    @pytest.mark.parametrize("ending", ["by itself", "by its time", "by a stop"])
    def test_all_that_a_command_started_ends_with_it(
        self, work: Path, workspace: LocalWorkspace, leaving: str, ending: str
    ) -> None:
        ready = "while [ ! -s pids ]; do :; done; echo ready;"
        if ending == "by itself":
            result = ran(workspace, f"{leaving}\n{ready} exit 0")
            assert (result.exit_code, result.output) == (0, "ready\n")
        elif ending == "by its time":
            for timeout_s in (0.3, 3.0, 30.0):
                result = ran(workspace, f"{leaving}\n{ready} exec sleep 600", timeout_s=timeout_s)
                # A busy machine may not come so far in less.
                if "ready" in result.output:
                    break
            assert (result.exit_code, result.timed_out, result.stopped) == (None, True, False)
        else:
            stop = threading.Event()
            result = ran(
                workspace, f"{leaving}\n{ready} sleep 600", stop=stop, on_output=lambda _: stop.set()
            )
            assert (result.exit_code, result.timed_out, result.stopped) == (None, False, True)

        pids = [int(line) for line in (work / "pids").read_text().split()]
        assert pids
        assert not [pid for pid in pids if is_running(pid)]

    def test_a_command_is_given_a_moment_to_tidy_up(self, work: Path, workspace: LocalWorkspace) -> None:
        tidy = "trap 'echo tidied > tidied; exit' TERM; echo x > lock; while :; do sleep 0.01; done"

        assert ran(workspace, tidy, timeout_s=0.3).timed_out

        assert (work / "tidied").read_text() == "tidied\n"

    def test_what_is_stopped_before_it_begins_never_does(self, work: Path, workspace: LocalWorkspace) -> None:
        stop = threading.Event()
        stop.set()

        result = ran(workspace, "touch begun", stop=stop)

        assert result == ShellResult(output="", exit_code=None, stopped=True)
        assert os.listdir(work) == []

    def test_a_listener_that_fails_ends_the_command(self, work: Path, workspace: LocalWorkspace) -> None:
        def fail(_: str) -> None:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            ran(workspace, "echo $$ > pid; echo x; sleep 600", on_output=fail)

        assert not is_running(int((work / "pid").read_text()))

    def test_the_death_of_this_process_ends_the_command_and_removes_its_folder(
        self, home: Path, work: Path
    ) -> None:
        command = "echo $$ > pids; setsid sh -c 'echo $$ >> pids; echo $TMPDIR > tmp; sleep 600' & sleep 600"
        asking = subprocess.Popen(
            [sys.executable, "-m", "tests.agents.commands", "run", str(work), command],
            env={**environment(home), "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert waited_for(lambda: (work / "tmp").exists() and (work / "tmp").read_text().endswith("\n"))
        pids = [int(line) for line in (work / "pids").read_text().split()]
        private = Path((work / "tmp").read_text().strip()).parent
        assert len(pids) == 2
        assert all(is_running(pid) for pid in pids)
        assert private.is_dir()

        asking.send_signal(signal.SIGKILL)
        asking.wait()

        assert waited_for(lambda: gone(pids))
        assert waited_for(lambda: not private.exists())

    @pytest.mark.parametrize(
        "command", ["a\0b", "\ud800", "x" * (limits.SHELL_COMMAND_BYTES_MAX + 1)], ids=["nul", "half", "long"]
    )
    def test_what_is_no_command_is_refused(self, workspace: LocalWorkspace, command: str) -> None:
        with pytest.raises(Invalid) as invalid:
            ran(workspace, command)
        assert invalid.value.code == "workspace.command"

    def test_the_longest_command_runs(self, workspace: LocalWorkspace) -> None:
        command = "echo done #"
        command += "x" * (limits.SHELL_COMMAND_BYTES_MAX - len(command))

        assert ran(workspace, command).output == "done\n"

    def test_many_at_once_keep_apart_and_leave_nothing_open(self, workspace: LocalWorkspace) -> None:
        gc.collect()
        before = len(os.listdir("/proc/self/fd"))
        results: dict[int, ShellResult] = {}

        def one(number: int) -> None:
            results[number] = ran(workspace, f"echo {number}; echo $HOME > home-{number}; exit {number}")

        threads = [threading.Thread(target=one, args=[number]) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert {number: (result.output, result.exit_code) for number, result in results.items()} == {
            number: (f"{number}\n", number) for number in range(8)
        }
        homes = {workspace.read(f"home-{number}").text.strip() for number in range(8)}
        assert len(homes) == 8
        assert not [home for home in homes if os.path.exists(home)]
        assert len(os.listdir("/proc/self/fd")) == before
