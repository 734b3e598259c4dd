"""What every test stands on: a clean environment, a real PostgreSQL, and reproducible random examples."""

import gc
import itertools
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from hatch_build import compiler
from runlore.agents.workspace import launcher
from scripts.typescript_client import has_tools
from tests.examples import EVERY_RUN
from tests.memory_folder import find_memory_folder
from tests.postgres_pool import PostgresPool
from tests.postgres_server import PostgresServer
from tests.system_programs import AGENT_PROGRAMS, ProgramMissing, can_mount_images

pytest_plugins = [
    "tests.both_databases",
    "tests.sampled_rows",
    "tests.table_rows",
    "tests.world_fixtures",
]

# What a caller may hand to the long rings: the benchmarks' data folder, a model's file, and other models.
KEPT_VARIABLES = {"RUNLORE_DATA", "RUNLORE_GGUF", "RUNLORE_SOAK_MODEL_OPENAI", "RUNLORE_SOAK_MODEL_ANTHROPIC"}
# And keys of providers, which are kept for them under names that nothing of ours reads.
REAL_KEYS = {name: f"REAL_{name}" for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")}
# Whatever of these a contributor or a CI has set would change what a command prints or connects to.
CLEARED_PREFIXES = ("RUNLORE_", "XDG_", "PG", "OPENAI_", "ANTHROPIC_")
CLEARED_VARIABLES = (
    "FORCE_COLOR",
    "CLICOLOR_FORCE",
    "PY_COLORS",
    "GITHUB_ACTIONS",
    "NO_COLOR",
    "COLUMNS",
    "LINES",
)

# The same examples on every run and every machine: what is red in CI is red at home. Machines are
# noisy, so a slow example is no failure. Many more of them are for the long ring.
settings.register_profile(
    "default",
    max_examples=EVERY_RUN,
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("soak", settings.get_profile("default"), derandomize=False, max_examples=2_000)
settings.load_profile("default")

# Where compiled modules are kept for a caller who wants none beside the sources.
BYTECODE = Path(__file__).parents[1] / ".pytest_cache" / "bytecode"

# The first version of the kernel's confinement that keeps commands inside.
LANDLOCK_ABI = 3

_numbers = itertools.count()


def pytest_configure(config: pytest.Config) -> None:
    """Forget what the caller's environment says about us, our databases and our output.

    And let what the tests write stay in memory where there is room for it: they wait for a disk a third of
    their time otherwise. Those that are about the disk ask for it, with `disk_path`.
    """
    # Whoever starts the tests in the background may leave every program of theirs deaf to Ctrl-C.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("markexpr") == "soak":
        os.environ.update({kept: os.environ[name] for name, kept in REAL_KEYS.items() if name in os.environ})
    for name in list(os.environ):
        is_ours = name.startswith(CLEARED_PREFIXES) or name in CLEARED_VARIABLES
        if is_ours and name not in KEPT_VARIABLES:
            del os.environ[name]
    if sys.dont_write_bytecode:
        # Compiling all modules anew takes longer than most commands that the tests start.
        sys.dont_write_bytecode = False
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(BYTECODE)
    if (memory := find_memory_folder()) is not None:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))


def pytest_xdist_auto_num_workers() -> int:
    """Two more than there are processors: for a third of their time tests wait for something else."""
    return len(os.sched_getaffinity(0)) + 2 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 2


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """What is collected stays to the end: no search for garbage needs to go through it, then or later."""
    gc.disable()
    try:
        _import_share(session.config)
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def _import_share(config: pytest.Config) -> None:
    """Let each worker begin with other modules: what one has compiled, the others load.

    They all collect everything, in one order, and on a fresh clone would compile everything at the same time.
    """
    worker = getattr(config, "workerinput", None)
    if worker is None:
        return
    number, count = int(worker["workerid"].removeprefix("gw")), int(worker["workercount"])
    asked = [config.invocation_params.dir / each.partition("::")[0] for each in config.args]
    modules = sorted({file for folder in asked for file in folder.rglob("test_*.py")})
    for file in modules[number::count]:
        # What cannot be imported is told by whoever collects it.
        with suppress(Exception):
            import_module(".".join(file.relative_to(config.rootpath).with_suffix("").parts))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what this kernel cannot do (the last lines of the run say so). The long rings run every
    property again, with the examples of the `soak` profile."""
    missing = {mark for mark, why in _list_missing() if why}
    if missing:
        kept = [item for item in items if not any(map(item.get_closest_marker, missing))]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept
    if config.getoption("hypothesis_profile") != "soak":
        return
    for item in items:
        if isinstance(item, pytest.Function) and is_hypothesis_test(item.obj):
            item.add_marker(pytest.mark.soak)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the ring of tests that could not be run here."""
    for mark, why in _list_missing():
        if why:
            terminalreporter.write_line(f"not run: tests marked `{mark}` {why}")


def _list_missing() -> list[tuple[str, str]]:
    """The marks of tests, and why they cannot be run here; nothing where they can."""
    has_landlock = launcher.abi() >= LANDLOCK_ABI
    escapes = "(the ring of escapes): this kernel has no Landlock of Linux 6.2"
    agents = "(real agents that are connected): npm could not install them"
    provider = "(a provider of OpenID Connect): npm could not install it"
    power = "(power cuts on a disk of their own): only root may mount one, with loop devices and mkfs.ext4"
    return [
        ("compiler", "" if compiler() else "(the compiled kernel of the index): there is no C compiler"),
        ("landlock", "" if has_landlock else escapes),
        ("loop_devices", "" if can_mount_images() else power),
        ("real_agents", "" if (AGENT_PROGRAMS / "claude").exists() else agents),
        ("real_provider", "" if (AGENT_PROGRAMS.parent / "oidc-provider").exists() else provider),
        ("typescript", "" if has_tools() else "(the TypeScript client): npm could not install its tools"),
    ]


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def clean_home(_homes: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty home for this test alone; RUNLORE_HOME below it is named but not made."""
    folder = _homes / str(next(_numbers))
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("RUNLORE_HOME", str(folder / "runlore"))
    for kind in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(folder / f".{kind.lower()}"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def disk_path() -> Iterator[Path]:
    """An empty folder on a disk, for tests of what a disk does."""
    with tempfile.TemporaryDirectory(prefix="runlore-") as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The server of this test process. Without PostgreSQL these tests fail; they are never skipped."""
    try:
        server = PostgresServer()
    except ProgramMissing as missing:
        pytest.fail(str(missing), pytrace=False)
    with server:
        yield server


@pytest.fixture(scope="session")
def postgres_url(postgres_server: PostgresServer) -> str:
    """The address of the server's own database, for what needs a server and no tables."""
    return postgres_server.url()


@pytest.fixture(scope="session")
def postgres_pool(postgres_server: PostgresServer) -> PostgresPool:
    """The databases of the server that one test after another is lent."""
    return PostgresPool(postgres_server)


@pytest.fixture
def postgres_database(postgres_pool: PostgresPool) -> Iterator[str]:
    """The address of a database for this test alone, with Runlore's tables and nothing in them."""
    with postgres_pool.database() as url:
        yield url


@pytest.fixture
def new_postgres_database(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of a database for this test alone, in which there are no tables yet."""
    with postgres_server.database() as url:
        yield url
