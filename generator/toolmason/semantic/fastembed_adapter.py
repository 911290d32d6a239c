"""The default embedder: fastembed, from the extra `semantic`, runs an ONNX sentence model."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType

from toolmason.semantic.embedder import EmbedderError
from toolmason.semantic.model_files import DEFAULT_FILES, check_files, hash_file

DEFAULT_MODEL: Final = "sentence-transformers/all-MiniLM-L6-v2"
"""The model that fastembed downloads without `--model`."""
LOCAL_FILES: Final = ("model.onnx", "vocab.txt")
"""The files of `--model`: a BERT-like model with mean pooling, and its WordPiece vocabulary for lower-case text."""
MAX_TOKENS: Final = 256
"""Maximum tokens of a text for a local model, as in sentence-transformers for MiniLM; the rest is cut."""


class FastEmbedder:
    """Runs the model in `directory`, or downloads `DEFAULT_MODEL` to fastembed's cache.

    Args:
        directory: the directory with `LOCAL_FILES`; None for the default model.
        sha256: the expected SHA-256 of the model; empty for that of the default model, or any model in `directory`.

    Raises:
        EmbedderError: `directory` does not have the files, the model cannot be downloaded, or it has another hash.
    """

    def __init__(self, directory: Path | None, sha256: str = "") -> None:
        try:
            self._engine = _local(directory, sha256) if directory else _downloaded(sha256)
        except (OSError, ValueError) as error:
            if directory:
                raise EmbedderError(f"cannot load the model in {directory}: {error}") from error
            message = f"cannot download {DEFAULT_MODEL}: {error}\nuse --model DIR with local files"
            raise EmbedderError(message) from error
        inner: Any = self._engine.model
        self.model = hash_file(directory / LOCAL_FILES[0] if directory else _model_file(inner))
        self.words = sorted(inner.tokenizer.get_vocab())

    def embed(self, texts: Sequence[str]) -> Iterator[Sequence[float]]:
        """Yield the vector of each text.

        Each text is a batch of its own: an int8 model scales a batch as a whole, so the others would affect its vector.
        """
        for vector in self._engine.embed(list(texts), batch_size=1):
            yield vector.tolist()


def _downloaded(sha256: str) -> TextEmbedding:
    """Return the engine for the default model. Its files are checked before fastembed loads them."""
    engine = TextEmbedding(DEFAULT_MODEL, lazy_load=True)
    inner: Any = engine.model
    file = _model_file(inner)
    check_files(file.parent, {file.name: sha256} if sha256 else DEFAULT_FILES)
    inner.load_onnx_model()
    return engine


def _model_file(inner: Any) -> Path:
    """Return the path of the model of fastembed's implementation class."""
    return Path(inner._model_dir, inner.model_description.model_file)  # noqa: SLF001  no public attribute has it


def _local(directory: Path, sha256: str) -> TextEmbedding:
    """Return the engine for the files in `directory`, with a tokenizer made of its vocabulary."""
    if missing := [name for name in LOCAL_FILES if not (directory / name).is_file()]:
        raise EmbedderError(f"--model {directory} has no {' and no '.join(missing)}")
    from tokenizers import BertWordPieceTokenizer

    name = f"local/{directory.resolve()}"
    with ExitStack() as cleanup:
        prepared = Path(cleanup.enter_context(TemporaryDirectory(prefix="toolmason-model-")))
        shutil.copyfile(directory / LOCAL_FILES[0], prepared / LOCAL_FILES[0])
        if sha256:
            check_files(prepared, {LOCAL_FILES[0]: sha256})
        BertWordPieceTokenizer(str(directory / LOCAL_FILES[1]), lowercase=True).save(str(prepared / "tokenizer.json"))
        settings = {"model_max_length": MAX_TOKENS, "pad_token": "[PAD]"}
        (prepared / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
        TextEmbedding.add_custom_model(
            name,
            pooling=PoolingType.MEAN,
            normalization=True,
            sources=ModelSource(hf=name),
            dim=0,
            model_file=LOCAL_FILES[0],
        )
        return TextEmbedding(name, specific_model_path=str(prepared))
