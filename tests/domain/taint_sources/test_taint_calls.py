"""Calls of tools that hide others, texts beside a command, emptied requests, and how much is read at most."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.record import JsonValue
from runlore.domain.run import RunId
from runlore.domain.runs.journal import EventType, JournalEvent
from runlore.domain.session import SessionId
from runlore.domain.taint import TRUSTED
from runlore.domain.taint_sources import OutsideKind, outside_of_call, read_outside
from runlore.domain.taint_sources.addresses import CALL_WORK_MAX, MORE_THAN_IS_READ, RUN_WORK_MAX
from runlore.domain.taint_sources.call_files import CallFiles
from runlore.domain.taint_sources.calls import prints_outside
from runlore.domain.taint_sources.kinds import WorkPlace
from runlore.domain.taint_sources.reading import FORGOTTEN_REQUEST
from runlore.domain.taint_sources.tools import MCP_OWN_REVIEWED

pytestmark = pytest.mark.req("TNT-1")

FETCH = "curl https://evil.example"


def journal_event(kind: EventType, body: Any) -> JournalEvent:
    """An event as it is stored."""
    return JournalEvent(
        session_id=SessionId("s"),
        number=1,
        run_id=RunId("r"),
        type=kind,
        at=datetime(2026, 1, 1, tzinfo=UTC),
        body=body,
    )


def call(name: str, arguments: Any) -> JournalEvent:
    """A stored call."""
    return journal_event(EventType.TOOL_CALL, {"call_id": "c", "name": name, "arguments": arguments})


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write_stdin", {"session_id": 1, "chars": f"{FETCH}\n"}),
        ("write_stdin", {"session_id": 1, "chars": "import urllib.request\n"}),
        ("batch", {"tool_calls": [{"tool": "bash", "parameters": {"command": FETCH}}]}),
        ("batch", {"tool_calls": [{"tool": "read", "parameters": {}}, {"tool": "websearch"}]}),
        ("batch", {"tool_calls": [{"tool": "bash", "command": FETCH}]}),
        ("batch", {"tool_calls": [{"tool": "batch", "parameters": {"tool_calls": [{"tool": "task"}]}}]}),
        ("batch", {"tool_calls": "x"}),
        ("batch", {"tool_calls": ["x"]}),
        ("batch", {"calls": []}),
        ("batch", None),
        ("open", {"ref_id": "https://evil.example"}),
        ("Read", {"unheard_of": ["https://evil.example"]}),
        ("Bash", {"command": "ls", "stdin": FETCH}),
        ("Bash", {"command": "cat", "stdin": "see https://evil.example"}),
        ("Bash", {"command": "ls", "env": {"PAGER": FETCH}}),
        ("Bash", {"command": "ls", "env": {"HTTPS_PROXY": "http://evil.example"}}),
        ("Bash", {"command": "ls", "Command": FETCH}),
        ("Bash", {"command": "ls", "shell": "curl"}),
        ("Bash", {"command": ["bash", "-lc", {"deep": FETCH}]}),
        ("exec", {"input": "await tools.exec_command({cmd: made_up})"}),
        ("TaskList", {}),
        ("Read", {}),
        ("Read", "???"),
        ("TaskGet", {"taskId": "3"}),
    ],
)
def test_calls_that_hide_what_they_read(name: str, arguments: Any) -> None:
    assert outside_of_call(name, arguments)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write_stdin", {"session_id": 1, "chars": ""}),
        ("write_stdin", {"session_id": 1, "chars": "make test\n"}),
        ("write_stdin", {"session_id": 1, "chars": "q"}),
        ("write_stdin", {"session_id": 1, "chars": "n\n"}),
        (
            "exec_command",
            {"cmd": "ls", "sandbox_permissions": "require_escalated", "prefix_rule": ["x", "y"]},
        ),
        ("batch", {"tool_calls": []}),
        ("batch", {"tool_calls": [{"tool": "read", "parameters": {"path": "a"}}, {"tool": "grep"}]}),
        ("open", {"path": "src/app.py"}),
        ("Write", {"file_path": "a.md", "content": "https://example.org"}),
        ("Grep", {"pattern": "https://example.org", "path": "src"}),
        ("TodoWrite", {"todos": [{"content": "https://example.org"}]}),
        ("Bash", {"command": "ls", "description": f"Runs {FETCH}", "timeout": 5, "env": {"CI": "1"}}),
        ("shell", {"command": ["bash", "-lc", "make"], "workdir": "/src", "justification": "git pull"}),
        ("exec", {"input": 'const r = await tools.exec_command({cmd: "ls"}); text(r.output)'}),
    ],
)
def test_calls_that_hide_nothing(name: str, arguments: Any) -> None:
    assert outside_of_call(name, arguments) == ()


def test_a_batch_counts_as_its_calls_do() -> None:
    calls = [
        ("bash", {"command": FETCH}),
        ("webfetch", {"url": "https://a.example"}),
        ("read", {"path": ".env"}),
    ]
    batch: dict[str, Any] = {"tool_calls": [{"tool": tool, "parameters": given} for tool, given in calls]}

    each = [reading for tool, given in calls for reading in outside_of_call(tool, given)]
    assert list(outside_of_call("batch", batch)) == each


def test_a_batch_in_a_batch_in_a_batch_is_unknown_in_the_end() -> None:
    arguments: Any = {"tool_calls": [{"tool": "read"}]}
    for _ in range(50):
        arguments = {"tool_calls": [{"tool": "batch", "parameters": arguments}]}

    assert [outside.kind for _, outside in outside_of_call("batch", arguments)] == [OutsideKind.UNKNOWN_TOOL]


@pytest.mark.parametrize("prefix", ["mcp__runlore__", "mcp_runlore_", "runlore__"])
def test_runlores_own_server_is_known_by_the_whole_names_of_its_tools(prefix: str) -> None:
    for tool in MCP_OWN_REVIEWED:
        assert outside_of_call(f"{prefix}{tool}", {}) == ()
        for other in (f"x_{tool}", f"{tool}_x", f"{tool}x"):
            assert outside_of_call(f"{prefix}{other}", {})


def test_an_emptied_request_counts_as_forgotten() -> None:
    assert read_outside([journal_event(EventType.INPUT, {})]).sources == (FORGOTTEN_REQUEST,)
    assert read_outside([journal_event(EventType.INPUT, {"text": "Build it"})]) == TRUSTED


def seconds(events: Iterator[JournalEvent]) -> float:
    """The CPU time of reading events that are too many to be read."""
    began = time.process_time()
    provenance = read_outside(events)
    spent = time.process_time() - began
    assert MORE_THAN_IS_READ[0] in provenance.sources
    return spent


@pytest.mark.parametrize(
    ("name", "key", "text"),
    [
        ("Bash", "commands", "ls a{}|b"),
        ("Bash", "commands", "$a{};"),
        ("Bash", "commands", "docker run sudo docker run sudo x{}"),
        ("Bash", "command", "a/{}.c"),
        ("Bash", "stdin", "make x{}"),
        ("Read", "paths", "a/{}.c"),
        ("Bash", "argv", "python"),
    ],
)
def test_a_run_of_endless_calls_costs_no_more_than_its_budget(name: str, key: str, text: str) -> None:
    def endless() -> Iterator[JournalEvent]:
        number = 0
        while True:
            number += 1
            yield call(name, {key: [text.format(f"{number}x{each}") for each in range(30_000)]})

    # Making the calls up costs as well; unbounded, this would not end at all.
    assert seconds(endless()) < 20


def test_many_small_calls_are_read_up_to_the_runs_budget() -> None:
    def endless() -> Iterator[JournalEvent]:
        number = 0
        while True:
            number += 1
            yield call("Bash", {"command": f"make test-{number}"})

    assert seconds(endless()) < 20


@pytest.mark.parametrize("key", ["command", "stdin", "unheard_of"])
def test_one_call_is_read_up_to_its_budget_and_what_is_behind_counts(key: str) -> None:
    text = "ls # " + "x" * CALL_WORK_MAX + f"\n{FETCH}"

    assert MORE_THAN_IS_READ in outside_of_call("Bash", {key: text})
    assert outside_of_call("Bash", {key: "ls # " + "x" * 1_000}) == ()


def test_an_honest_run_of_a_thousand_calls_is_read_to_its_end() -> None:
    calls = [call("Bash", {"command": f"cd src && make test-{n} | tail -5"}) for n in range(1_000)]

    assert read_outside(calls) == TRUSTED
    assert read_outside([*calls, call("Bash", {"command": FETCH})]).sources == ("https://evil.example",)
    assert CALL_WORK_MAX < RUN_WORK_MAX


@given(st.lists(st.sampled_from(["ls", FETCH, "git pull", "$X y", "make"]), max_size=6))
def test_reading_a_script_again_tells_the_same(scripts: list[str]) -> None:
    calls = [call("Bash", {"command": script}) for script in scripts]

    assert read_outside(calls) == read_outside(calls)
    assert read_outside(calls).tainted is bool({FETCH, "git pull", "$X y"} & set(scripts))


@pytest.mark.req("TNT-7")
@pytest.mark.parametrize(
    ("name", "arguments", "is_outside"),
    [
        ("Read", {"file_path": "/home/a/shop/src/cart.py"}, False),
        ("Read", {"file_path": "src/cart.py"}, False),
        ("Read", {"file_path": "~/shop/README.md"}, False),
        ("Read", {"file_path": "src/../README.md"}, False),
        ("Read", {"file_path": "/etc/passwd"}, True),
        ("Read", {"file_path": "../other/README.md"}, True),
        ("Read", {"file_path": "src/../../other/README.md"}, True),
        ("Read", {"file_path": "/home/a/shopping/README.md"}, True),
        ("Read", {"file_path": "~/notes.md"}, True),
        ("Grep", {"pattern": "/etc", "path": "/home/a"}, True),
        ("Grep", {"pattern": "/etc", "path": "src"}, False),
        ("read_file", "{'path': cut o", True),
        ("read_file", None, False),
        ("Write", {"file_path": "/tmp/body.md", "content": "x"}, False),
        ("Bash", {"command": "tree /"}, True),
        ("Bash", {"command": "cat /etc/passwd"}, True),
        ("Bash", {"command": "cat ../other/README.md | head -3"}, True),
        ("Bash", {"command": "cat src/cart.py"}, False),
        ("memory_search", {"query": "deploy"}, True),
        ("list_skills", {}, True),
        ("runlore_search", {"query": "deploy"}, True),
    ],
)
def test_what_is_not_of_the_working_folder_is_outside(
    name: str, arguments: JsonValue, is_outside: bool
) -> None:
    place = WorkPlace(folder="/home/a/shop")

    assert bool(outside_of_call(name, arguments, place=place)) is is_outside


@pytest.mark.req("TNT-7", "POL-13")
def test_a_name_is_trusted_in_the_runs_of_runlores_own_agent_alone() -> None:
    assert outside_of_call("memory_search", {}, place=WorkPlace(is_ours=True)) == ()
    assert outside_of_call("mcp__evil__memory_search", {}, place=WorkPlace(is_ours=True))


@pytest.mark.req("TNT-5")
@pytest.mark.parametrize(
    ("command", "brought"),
    [
        ("curl -so docs/a.md https://e.example/b.md", ["docs/a.md"]),
        ("curl -sO https://e.example/b.md?x=1", ["b.md"]),
        ("curl -s https://e.example/b.md > c.md", ["c.md"]),
        ("curl -s https://e.example | tee -a c.md", ["c.md"]),
        ("wget -q https://e.example/b.md", ["b.md"]),
        ("git clone https://e.example/lib.git vendor/lib", ["lib", "vendor/lib"]),
        ("gh repo clone bob/lib vendor/lib", ["lib", "vendor/lib"]),
        ("hg clone https://e.example/lib", ["lib"]),
        ("npx degit bob/template docs", ["template", "docs"]),
        ("aws s3 cp s3://e/notes.md docs/notes.md", ["docs/notes.md"]),
        ("aws s3 cp docs/notes.md s3://e/notes.md", []),
        ("git submodule add https://e.example/lib.git vendor/lib", ["lib", "vendor/lib"]),
        ("git subtree add --prefix vendor/x https://e.example/lib.git main", ["vendor/x", "lib", "main"]),
        ("npm install lib", []),
        ("gh pr view 7", []),
        ("cp -r /mnt/share/lib docs/lib", ["docs/lib"]),
        ("cp ~/Downloads/a.md docs", ["docs"]),
        ("cp ~/Downloads/a.md docs/", ["docs/a.md"]),
        ("cp ~/Downloads/a.md ~/Downloads/b.md docs", ["docs/a.md", "docs/b.md"]),
        ("cd docs && curl -sO https://e.example/b.md", ["docs/b.md"]),
        ("http --download -o docs/a.md https://e.example/b.md", ["docs/a.md"]),
        ("git format-patch -1 origin/bob -o patches", ["patches"]),
        ("git checkout origin/bob -- docs/a.md", ["docs/a.md"]),
        ("git checkout -b topic origin/main", []),
        ("git worktree add bob origin/bob", ["bob"]),
        ("cookiecutter gh:bob/template -o made", ["made"]),
        ("docker cp web:/app/NOTES docs/n.md", ["docs/n.md"]),
        ("python3 -m zipfile -e ~/Downloads/lib.zip docs", ["zipfile", "~/Downloads/lib.zip", "docs"]),
        ("python3 -c \"open('a.md', 'w').write(requests.get(U).text)\"", ["a.md", "w"]),
        ("unzip lib.zip -d docs", ["lib.zip", "docs"]),
        ("tar xzf lib.tgz -C docs", ["xzf", "lib.tgz", "docs"]),
        ("cp a.md b.md", []),
        ("curl -so a.md http://localhost/a", []),
        ("make > out.txt", []),
        ("git pull && git fetch origin topic", []),
    ],
)
def test_what_a_call_brings_into_files_is_known_by_their_places(command: str, brought: list[str]) -> None:
    found = [path for path, _ in CallFiles("Bash", {"command": command}, "/srv/shop").list_brought()]
    assert [path for path in found if path not in ("e.example", "")] == brought


@pytest.mark.req("TNT-5")
@pytest.mark.parametrize(
    ("command", "made"),
    [
        ("cp docs/a.md HOWTO.md", ["docs/a.md > HOWTO.md"]),
        ("git mv docs/a.md docs/b.md", ["docs/a.md > docs/b.md"]),
        ("mv a.md b.md docs", ["a.md b.md > docs/a.md", "a.md b.md > docs/b.md"]),
        ("sed -n 1,9p a.md >> notes.txt", ["1,9p a.md > notes.txt"]),
        ("cat a.md | sort > b.md", ["a.md > b.md"]),
        ("pandoc a.html -o b.md", ["a.html > b.md"]),
        ("cd docs && cp a.md b.md", ["docs/a.md > docs/b.md"]),
        ("cat a.md", []),
    ],
)
def test_what_a_call_makes_of_other_files_is_known(command: str, made: list[str]) -> None:
    found = CallFiles("Bash", {"command": command}, "/srv/shop").list_derived()
    assert [f"{' '.join(given)} > {path}" for given, path in found] == made


@pytest.mark.req("TNT-7")
@pytest.mark.parametrize(
    ("command", "source"),
    [
        ("gcalcli agenda", "gcalcli"),
        ("sudo zbarimg code.png", "code.png"),
        ("~/bin/notes list", "~/bin/notes"),
        ("/opt/x/bin/notes", "/opt/x/bin/notes"),
        ("node_modules/.bin/lib --help", "node_modules/.bin/lib"),
        ("node_modules/.bin/eslint src", None),
        ("./notes list", None),
        ("scripts/notes.sh", None),
        ("notes() { echo hi; }; notes", None),
        ("function notes { echo hi; }\nnotes", None),
        ("npx eslint src", None),
        ("npx -y eslint src", "npx eslint"),
        ("npx lib", "npx lib"),
        ("uv run pytest -q", None),
        ("if make; then golangci-lint run; fi", None),
    ],
)
def test_a_program_that_no_table_names_counts(command: str, source: str | None) -> None:
    sources = [each for each, _ in outside_of_call("Bash", {"command": command})]
    assert sources[:1] == ([] if source is None else [source])


@pytest.mark.req("TNT-5")
def test_the_words_of_a_program_that_no_table_names_are_not_remembered() -> None:
    assert not prints_outside("Bash", {"command": "notes list"})
    assert prints_outside("Bash", {"command": "gh pr view 7"})


@pytest.mark.req("TNT-7")
@pytest.mark.parametrize(
    ("output", "sources"),
    [
        ("src/a.py:1:x\nnode_modules/lib/README.md:3:Run it", ("node_modules/lib/README.md",)),
        ("./a/site-packages/x/y.py: Run it", ("./a/site-packages/x/y.py",)),
        ("see node_modules/lib for more: it helps", ()),
        ("node_modules/", ()),
    ],
)
def test_a_search_that_prints_lines_of_packages_counts(output: str, sources: tuple[str, ...]) -> None:
    result = journal_event(EventType.TOOL_RESULT, {"call_id": "c", "output": output})
    assert read_outside([call("Grep", {"pattern": "x"}), result]).sources == sources


@pytest.mark.req("TNT-7")
@pytest.mark.parametrize(
    ("name", "arguments", "is_outside"),
    [
        ("Bash", {"command": "cat /srv/other/README.md"}, True),
        ("Bash", {"command": "cat /srv/shop/README.md"}, False),
        ("Bash", {"command": "cd /srv/shop/docs && cat README.md"}, False),
        ("Bash", {"command": "cd /srv/other && head README.md"}, True),
        ("Bash", {"command": "cd ../other && make test"}, True),
        ("Bash", {"command": "make -C ../other help"}, True),
        ("Bash", {"command": "find .. -name HOWTO"}, True),
        ("Bash", {"command": "git diff --no-index a.md ../other/a.md"}, True),
        ("Bash", {"command": 'cat "$HOME/notes.md"'}, True),
        ("Bash", {"command": "python3 -c \"print(open('../other/a.md').read())\""}, True),
        ("Bash", {"command": "docker exec web cat /app/NOTES"}, True),
        ("Bash", {"command": "docker exec web npm test"}, False),
        ("Bash", {"command": "docker run -v /var/run/docker.sock:/var/run/docker.sock ci"}, False),
        ("Bash", {"command": "cp docs/a.md /opt/backup/"}, False),
        ("Bash", {"command": "go build -o /usr/local/bin/shop ."}, False),
        ("Bash", {"command": "npm test > /tmp/out.txt 2>&1; tail /tmp/out.txt"}, False),
        ("Bash", {"command": "source ~/.nvm/nvm.sh && npm test"}, False),
        ("read_many_files", {"paths": ["README.md", "../other/README.md"]}, True),
        ("read_many_files", {"paths": ["README.md"]}, False),
    ],
)
def test_files_of_other_folders_count(name: str, arguments: Any, is_outside: bool) -> None:
    assert bool(outside_of_call(name, arguments, place=WorkPlace(folder="/srv/shop"))) is is_outside


def test_an_address_in_a_variable_is_that_of_the_command() -> None:
    page = "https://example.org/guide.md"
    scripts = {
        f"U={page}; python3 fetch.py $U": page,
        f'U="{page}"; python3 fetch.py "${{U}}" out.md': page,
        "U=http://localhost:8000/a; python3 fetch.py $U": None,
        f"U={page}; python3 fetch.py": None,
        "U=$(cat url.txt); python3 fetch.py $U": None,
    }
    found = {text: [name for name, _ in outside_of_call("Bash", {"command": text})] for text in scripts}

    assert found == {text: [] if each is None else [each] for text, each in scripts.items()}


def test_files_that_a_list_names_count_and_those_that_the_folder_has_do_not() -> None:
    scripts = {
        "xargs cat < list.txt": True,
        "cat list.txt | xargs head -3": True,
        "cat list.txt | xargs -n1 grep -n deploy": True,
        "git ls-files '*.md' | xargs cat": False,
        "git ls-files | head -n 5 | xargs cat": False,
        "find . -name '*.py' | sort | xargs grep -n deploy": False,
        "xargs rm < list.txt": False,
        "sort < list.txt": False,
    }
    found = {text: bool(outside_of_call("Bash", {"command": text})) for text in scripts}

    assert found == scripts
