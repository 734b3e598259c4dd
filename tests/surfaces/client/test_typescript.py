"""The TypeScript client, built as the release builds it, installed, and run under Node against a daemon."""

import json
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

import runlore
from runlore.config.settings import Settings
from scripts.typescript_client import SOURCES, TOOLS, pack
from tests.console_blocks import blocks
from tests.surfaces.api_client import serving

pytestmark = [pytest.mark.req("INT-4", "INT-8"), pytest.mark.typescript]

RULE = "We deploy the billing service on Fridays"
ACTS = """
import { connect, RunloreError } from "runlore";
const lore = connect();
const told = {};
const waiting = await lore.remember("%(rule)s");
told.waiting = [waiting.state, (await lore.search("billing deploy")).length];
const known = await lore.remember("%(rule)s", { confirm: true });
told.known = [known.state, known.record_id === waiting.record_id];
told.found = (await lore.search("when is billing deployed?")).map((hit) => hit.summary);
told.context = (await lore.context("deploy billing")).semantic.length;
told.answer = await lore.run("desk", "When do we deploy billing?", async (run) => {
  told.prompt = run.context.includes("%(rule)s");
  await run.tool("shell", { command: "date" }, "Friday", { exit_code: 0 });
  await run.say("Today.");
  await run.finish({ outcome: "good" });
  return "Today.";
});
const refused = (work) => work().then(() => [], (e) => [e instanceof RunloreError, e.code, e.hint !== ""]);
const fails = () => { throw new Error("half \\ud800 and \\0"); };
told.thrown = await lore.run("desk", "fails", fails).catch((e) => e.message.length);
told.empty = await refused(() => lore.remember(" "));
told.stranger = await refused(() => connect({ token: "no" }).search("x"));
told.nowhere = await refused(() => connect({ url: "http://127.0.0.1:1" }).search("x"));
const fetch = async () => new Response("hm", { status: 502 });
told.elsewhere = await refused(() => connect({ fetch }).search("x"));
const { data } = await lore.api.GET("/v1/inbox", { params: { query: { limit: 5 } } });
told.inbox = data.items.length;
console.log(JSON.stringify(told));
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if made := os.environ.get("DIST"):
        (packed,) = Path(made).glob("*.tgz")
        return packed
    return pack(tmp_path_factory.mktemp("build"), tmp_path_factory.mktemp("dist"))


def install(package: Path, folder: Path) -> Path:
    """What `npm install` of the file leaves, without asking anybody for the one thing that it needs."""
    with tarfile.open(package) as packed:
        packed.extractall(folder, filter="data")
    (folder / "node_modules").mkdir()
    (folder / "package").rename(folder / "node_modules" / "runlore")
    for name in ("openapi-fetch", "openapi-typescript-helpers", "@types", "undici-types"):
        (folder / "node_modules" / name).symlink_to(TOOLS / name)
    return folder


def test_the_daily_acts_work_under_node_against_a_daemon(
    package: Path, clean_home: Path, tmp_path: Path
) -> None:
    (install(package, tmp_path) / "acts.mjs").write_text(ACTS % {"rule": RULE}, "utf-8")
    with serving(Settings(state_root=str(clean_home / "runlore"))) as api:
        at = {"RUNLORE_URL": f"http://127.0.0.1:{api.port}", "RUNLORE_TOKEN": api.secret}
        done = subprocess.run(
            ["node", "acts.mjs"],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"], **at},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        told = json.loads(done.stdout)
        assert told == {
            "waiting": ["constrained", 0],
            "known": ["active", True],
            "found": [RULE],
            "context": 1,
            "answer": "Today.",
            "prompt": True,
            "thrown": len("half ? and ?"),
            "empty": [True, told["empty"][1], True],
            "stranger": [True, "token.unknown", True],
            "nowhere": [True, "daemon.unreachable", True],
            "elsewhere": [True, "answer.form", True],
            "inbox": 0,
        }
        with runlore.connect(url=at["RUNLORE_URL"], token=api.secret) as lore:
            runs = {view.request: view.run for view in lore.operations.list_runs(runlore.RunsRequest()).items}
            good = runs["When do we deploy billing?"]
            events = lore.operations.journal(runlore.JournalRequest(run_id=good.run_id)).items
    assert (good.status.value, good.agent) == ("completed", "typescript")
    assert [event.type.value for event in events][-4:-1] == ["tool_call", "tool_result", "assistant_message"]
    assert (runs["fails"].status.value, (runs["fails"].error or "")[:12]) == ("failed", "Error: half ")


def test_what_is_typed_is_checked_by_the_compiler(package: Path, tmp_path: Path) -> None:
    folder = install(package, tmp_path)
    (example,) = blocks((SOURCES / "README.md").read_text("utf-8"))
    ask = "declare function askYourModel(context: string, text: string): Promise<string>;"
    good = "\n".join([*example.lines, ask, "await lore.run('s', 'r', (run) => run.append({type: 'usage'}));"])
    wrong = "import { connect } from 'runlore';\nawait connect().api.GET('/v1/nothing', {});"
    checked = {}
    for name, source in (("good", good), ("wrong", wrong)):
        (folder / f"{name}.mts").write_text(source, "utf-8")
        options = "--noEmit --strict --module nodenext --target es2022 --types node"
        done = subprocess.run(
            [TOOLS / ".bin" / "tsc", *options.split(), f"{name}.mts"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        checked[name] = done.stdout.splitlines()
    assert checked["good"] == []
    assert "wrong.mts(2," in checked["wrong"][0]


def test_two_builds_are_the_same_and_hold_only_what_is_used(package: Path, tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    again = pack(tmp_path / "build", tmp_path / "dist")
    assert package.read_bytes() == again.read_bytes()
    with tarfile.open(package) as packed:
        names = {name.removeprefix("package/") for name in packed.getnames()}
        described = json.loads(packed.extractfile("package/package.json").read())  # type: ignore[union-attr]
    made = {f"dist/{name}" for name in ("index.js", "index.d.ts", "schema.js", "schema.d.ts")}
    assert names == made | {"package.json", "README.md", "LICENSE"}
    assert described["version"] == runlore.__version__


def test_the_tools_are_pinned_with_hashes_and_no_address() -> None:
    text = (SOURCES / "package-lock.json").read_text("utf-8")
    packages = {name: each for name, each in json.loads(text)["packages"].items() if name}
    assert "://" not in text
    assert [name for name, each in packages.items() if "integrity" not in each] == []
    assert not (SOURCES / "src" / "schema.ts").exists()
