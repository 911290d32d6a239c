"""The base class of every generated Pydantic model."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

import pydantic.main
from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidatorFunctionWrapHandler
from pydantic_core import CoreSchema, PydanticKnownError, core_schema
from toolmason_runtime.shared.entry_points import may_be_declared
from toolmason_runtime.shared.values.patterns import is_found

_PLUGIN_SEARCH: Final = "pydantic.plugin._loader"
"""Pydantic's search for its plugins. Its imports take as long as those of a small server."""


def _skip_plugin_search() -> None:
    """Skip Pydantic's search for plugins if no distribution declares one: the search imports `importlib.metadata`.

    The module of the search is private. In a version of Pydantic without it, this function has no effect.
    """
    if not may_be_declared("pydantic"):
        without_plugins = ModuleType(_PLUGIN_SEARCH)
        without_plugins.get_plugins = tuple  # type: ignore[attr-defined]  # called without arguments: no plugins
        sys.modules.setdefault(_PLUGIN_SEARCH, without_plugins)


_skip_plugin_search()


def _replace_patterns(node: Any) -> None:
    """Replace each string schema with a `pattern` in `node`, in place, by one that matches in bounded time.

    Pydantic still generates JSON Schema from the original.
    """
    if isinstance(node, list | tuple):
        for inner in node:
            _replace_patterns(inner)
    if not isinstance(node, dict):
        return
    if node.get("type") == "str" and isinstance(node.get("pattern"), str):
        original = core_schema.str_schema(**{key: value for key, value in node.items() if key != "type"})
        pattern = node.pop("pattern")
        bounded = core_schema.no_info_wrap_validator_function(
            _checker(pattern), dict(node), json_schema_input_schema=original
        )
        node.clear()
        node.update(bounded)
        return
    for key, inner in node.items():
        if key not in {"default", "json_schema_input_schema", "metadata"}:
            _replace_patterns(inner)


def _checker(pattern: str) -> Callable[[Any, ValidatorFunctionWrapHandler], str]:
    def check(value: Any, handler: ValidatorFunctionWrapHandler) -> str:
        text: str = handler(value)
        if not is_found(pattern, text):
            raise PydanticKnownError("string_pattern_mismatch", {"pattern": pattern})
        return text

    return check


class Model(BaseModel):
    """Parameters or results of a tool.

    Validation is lax: `"42"` is 42, and unknown arguments are dropped. A `pattern` has the syntax of Python's `re` and
    is matched in bounded time.
    """

    model_config = ConfigDict(
        allow_inf_nan=False,
        populate_by_name=True,
        protected_namespaces=(),
        # A category may have many models, and a call needs few of them. Without this lock, a version of Pydantic cannot
        # build a model that two threads use at once.
        defer_build=hasattr(pydantic.main, "_rebuild_lock"),
    )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type[BaseModel], handler: GetCoreSchemaHandler, /) -> CoreSchema:
        """Build the schema of this class, with our own engine for patterns."""
        schema = handler(source)
        _replace_patterns(handler.resolve_ref_schema(schema))
        return schema
