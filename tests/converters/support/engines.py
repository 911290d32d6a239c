"""xgrammar and outlines: the error of each for a schema, and the values that its grammar accepts.

xgrammar imports torch and transformers (3 GB) for the masks of tokens and for the tokenizers of models. Its compiler
needs neither, so it gets empty modules in their place, and a vocabulary of the 256 bytes.
"""

from __future__ import annotations

import importlib
import json
import sys
from functools import cache
from importlib.machinery import ModuleSpec
from typing import Any
from unittest.mock import MagicMock

import regex
from outlines_core.json_schema import build_regex_from_schema  # type: ignore[import-not-found, unused-ignore]

_END = 256


@cache
def _xgrammar() -> Any:
    importlib.import_module("tvm_ffi")  # it uses torch itself where that is installed
    missing = [name for name in ("torch", "transformers") if name not in sys.modules]
    for name in missing:
        sys.modules[name] = MagicMock(name=name, __spec__=ModuleSpec(name, None))
    try:
        return importlib.import_module("xgrammar")
    finally:
        for name in missing:
            del sys.modules[name]


@cache
def _compiler() -> Any:
    xgrammar = _xgrammar()
    vocabulary = [bytes([byte]) for byte in range(_END)] + [b"</s>"]
    tokens = xgrammar.TokenizerInfo(vocabulary, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[_END])
    return xgrammar.GrammarCompiler(tokens)


def xgrammar_error(schema: Any) -> str:
    """Return the error of xgrammar's converter; an empty string if it accepts the schema."""
    try:
        _xgrammar().Grammar.from_json_schema(json.dumps(schema), strict_mode=False)
    except RuntimeError as error:
        return str(error).strip() or type(error).__name__
    return ""


def xgrammar_accepts(schema: Any, value: Any) -> bool:
    compiled = _compiler().compile_json_schema(json.dumps(schema), strict_mode=False)
    matcher = _xgrammar().GrammarMatcher(compiled)
    return bool(matcher.accept_string(json.dumps(value)) and matcher.accept_token(_END))


def outlines_error(schema: Any) -> str:
    """Return the error of outlines; an empty string if it accepts the schema."""
    try:
        build_regex_from_schema(json.dumps(schema))
    except ValueError as error:
        return str(error)
    return ""


def outlines_accepts(schema: Any, value: Any) -> bool:
    return regex.fullmatch(build_regex_from_schema(json.dumps(schema)), json.dumps(value)) is not None
