"""The default embedder: fastembed, from the extra `semantic`, runs an ONNX sentence model."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType

from toolmason.semantic.embedder import EmbedderError

DEFAULT_MODEL: Final = "sentence-transformers/all-MiniLM-L6-v2"
"""The model that fastembed downloads without `--model`."""
LOCAL_FILES: Final = ("model.onnx", "vocab.txt")
"""The files of `--model`: a BERT-like model with mean pooling, and its WordPiece vocabulary for lower-case text."""
MAX_TOKENS: Final = 256
"""Maximum tokens of a text for a local model, as in sentence-transformers for MiniLM; the rest is cut."""


class FastEmbedder:
    """Runs the model in `directory`, or downloads `DEFAULT_MODEL` to fastembed's cache.

    Raises:
        EmbedderError: `directory` does not have the files, or the model cannot be downloaded.
    """

    def __init__(self, directory: Path | None) -> None:
        try:
            self._engine = _local(directory) if directory else TextEmbedding(DEFAULT_MODEL)
        except (OSError, ValueError) as error:
            if directory:
                raise EmbedderError(f"cannot load the model in {directory}: {error}") from error
            message = f"cannot download {DEFAULT_MODEL}: {error}\nuse --model DIR with local files"
            raise EmbedderError(message) from error
        inner: Any = self._engine.model
        file = directory / LOCAL_FILES[0] if directory else Path(inner._model_dir, inner.model_description.model_file)  # noqa: SLF001  no public attribute has it
        self.model = sha256(file.read_bytes()).hexdigest()
        self.words = sorted(inner.tokenizer.get_vocab())

    def embed(self, texts: Sequence[str]) -> Iterator[Sequence[float]]:
        """Yield the vector of each text.

        Each text is a batch of its own: an int8 model scales a batch as a whole, so the others would affect its vector.
        """
        for vector in self._engine.embed(list(texts), batch_size=1):
            yield vector.tolist()


def _local(directory: Path) -> TextEmbedding:
    """Return the engine for the files in `directory`, with a tokenizer made of its vocabulary."""
    if missing := [name for name in LOCAL_FILES if not (directory / name).is_file()]:
        raise EmbedderError(f"--model {directory} has no {' and no '.join(missing)}")
    from tokenizers import BertWordPieceTokenizer

    name = f"local/{directory.resolve()}"
    with ExitStack() as cleanup:
        prepared = Path(cleanup.enter_context(TemporaryDirectory(prefix="toolmason-model-")))
        shutil.copyfile(directory / LOCAL_FILES[0], prepared / LOCAL_FILES[0])
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
