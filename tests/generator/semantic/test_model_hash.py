"""A model is used only if its SHA-256 is the expected one, and no library parses its files before."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from click.testing import Result

from toolmason.project import Project
from toolmason.semantic import model_files
from toolmason.semantic.embedder import EmbedderError, load_embedder

Run = Callable[..., Result]
MAKE, OTHER = (("--embedder", f"concept_embedder:{name}") for name in ("make", "make_other"))
ADAPTER = "toolmason.semantic.fastembed_adapter"
CONTENT = b"a model"
HASH = sha256(CONTENT).hexdigest()


def test_a_model_with_another_hash_is_refused(project: Project, run: Run) -> None:
    assert run("embed", *MAKE).exit_code == 0
    before = project.postings.read_bytes()

    replaced = run("embed", *OTHER)

    assert replaced.exit_code == 2
    assert f"the SHA-256 of the model is {'b' * 64}, not {'a' * 64}" in replaced.stderr
    assert f"--model-sha256 {'b' * 64}" in replaced.stderr
    assert project.postings.read_bytes() == before
    assert run("embed", *OTHER, "--model-sha256", "b" * 64).exit_code == 0
    assert b"model " + b"b" * 64 in project.postings.read_bytes()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("b" * 64, f"the SHA-256 of the model is {'a' * 64}"),
        ("B" * 64, "must be 64 hexadecimal digits in lower case"),
        ("b" * 63, "must be 64 hexadecimal digits in lower case"),
        ("sha256:" + "b" * 64, "must be 64 hexadecimal digits in lower case"),
        ("latest", "must be 64 hexadecimal digits in lower case, not `latest`"),
    ],
)
def test_the_first_model_must_have_the_given_hash(project: Project, run: Run, given: str, message: str) -> None:
    result = run("embed", *MAKE, "--model-sha256", given)

    assert result.exit_code == 2
    assert message in result.stderr
    assert not project.postings.exists()


@pytest.fixture
def parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Replace fastembed by a module that records which files it parses; return the record."""
    record: list[str] = []
    for name in model_files.DEFAULT_FILES:
        (tmp_path / name).write_bytes(CONTENT)

    class TextEmbedding:
        def __init__(self, _name: str, specific_model_path: str = "", *, lazy_load: bool = False) -> None:
            folder = specific_model_path or str(tmp_path)
            self.model = SimpleNamespace(
                _model_dir=folder,
                model_description=SimpleNamespace(model_file="model.onnx"),
                load_onnx_model=lambda: record.append(folder),
                tokenizer=SimpleNamespace(get_vocab=lambda: {"note": 1}),
            )
            if not lazy_load:
                self.model.load_onnx_model()

        @staticmethod
        def add_custom_model(*_arguments: Any, **_settings: Any) -> None:
            """Accept every model."""

    class Tokenizer:
        def __init__(self, _vocabulary: str, *, lowercase: bool) -> None:
            assert lowercase

        def save(self, path: str) -> None:
            Path(path).touch()

    modules: dict[str, dict[str, Any]] = {
        "fastembed": {"TextEmbedding": TextEmbedding},
        "fastembed.common": {},
        "fastembed.common.model_description": {"ModelSource": dict, "PoolingType": SimpleNamespace(MEAN=1)},
        "tokenizers": {"BertWordPieceTokenizer": Tokenizer},
    }
    for name, content in modules.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    adapter = sys.modules.pop(ADAPTER, None)
    yield record
    sys.modules.pop(ADAPTER, None)
    if adapter:
        sys.modules[ADAPTER] = adapter


@pytest.mark.parametrize("name", model_files.DEFAULT_FILES)
def test_no_file_of_the_default_model_may_have_another_hash(
    name: str, parsed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_files, "DEFAULT_FILES", dict.fromkeys(model_files.DEFAULT_FILES, HASH))
    assert load_embedder("", None).model == HASH
    parsed.clear()
    del sys.modules[ADAPTER]

    (tmp_path / name).write_bytes(b"another file")
    with pytest.raises(EmbedderError, match=f"{name} is {sha256(b'another file').hexdigest()}, not {HASH}"):
        load_embedder("", None)
    assert not parsed
    (tmp_path / name).unlink()
    with pytest.raises(EmbedderError, match=f"{name} is missing"):
        load_embedder("", None)
    assert not parsed


def test_the_hashes_of_the_default_model_are_in_force(parsed: list[str]) -> None:
    with pytest.raises(EmbedderError, match=model_files.DEFAULT_FILES["config.json"]):
        load_embedder("", None)
    assert not parsed


@pytest.mark.parametrize("is_local", [False, True], ids=["downloaded", "local"])
def test_an_expected_hash_decides_before_the_model_is_parsed(is_local: bool, parsed: list[str], tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("note\n", encoding="utf-8")
    directory = tmp_path if is_local else None

    with pytest.raises(EmbedderError, match=f"model.onnx is {HASH}, not {'0' * 64}"):
        load_embedder("", directory, "0" * 64)
    assert not parsed

    assert load_embedder("", directory, HASH).model == HASH
    assert len(parsed) == 1
