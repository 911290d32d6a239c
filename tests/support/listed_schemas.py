"""The results of Workbench's tools, held against the schemas in the catalogue. Each schema is checked once."""

from __future__ import annotations

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from workbench_server.catalogue import CATALOGUE


def assert_fits(tool: str, result: Any) -> None:
    """Compare the structure of a result with the schema that is listed for its tool, and with that of its handler."""
    for validator in _validators(tool):
        validator.validate(result)


@cache
def _validators(tool: str) -> list[Draft202012Validator]:
    entry = CATALOGUE["tools"][tool]
    schemas = [entry["tool"]["outputSchema"], *([entry["result_schema"]] if "result_schema" in entry else [])]
    for schema in schemas:
        Draft202012Validator.check_schema(schema)
    return [Draft202012Validator(schema) for schema in schemas]
