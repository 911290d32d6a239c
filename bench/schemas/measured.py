"""`python measured.py tokens|speed`: count tokens, or measure converters, in an environment that has litellm.

JSON on standard input and output. Our library needs only Python, so that it runs beside litellm in one process.
"""

# ruff: noqa: TID251  it imports the toolkit; a converter that raises is measured too
# mypy: disable-error-code="import-not-found,import-untyped,unused-ignore"

from __future__ import annotations

import contextlib
import copy
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

ROUNDS = 3

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # otherwise it requests a list of prices


def tokens(texts: list[str]) -> list[int]:
    """Return the number of tokens of each text."""
    from litellm import encoding

    return [len(encoding.encode(text, disallowed_special=())) for text in texts]


def speed(schemas: list[Any]) -> dict[str, list[float]]:
    """Return the best CPU time of each converter for each schema, in microseconds."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "generator"))
    from litellm.llms.vertex_ai.common_utils import build_vertex_schema
    from pydantic_ai.profiles.google import GoogleOpenAPISchemaTransformer

    from toolmason.schema import advertise, project

    converters: dict[str, Callable[[Any], Any]] = {
        "toolmason, gemini-parameters": lambda schema: project(schema, "gemini-parameters"),
        "toolmason, advertise": advertise,
        "litellm": build_vertex_schema,
        "pydantic-ai, Live API": lambda schema: GoogleOpenAPISchemaTransformer(schema).walk(),
    }
    best: dict[str, list[float]] = {label: [] for label in converters}
    for schema in schemas:
        for label, convert in converters.items():
            best[label].append(min(_seconds(convert, schema) for _ in range(ROUNDS)) * 1e6)
    return best


def _seconds(convert: Callable[[Any], Any], schema: Any) -> float:
    copied = copy.deepcopy(schema)  # some change their input
    start = process_time()
    with contextlib.suppress(Exception):
        convert(copied)
    return process_time() - start


def main() -> None:
    """Answer one request."""
    measure: Callable[[Any], Any] = {"tokens": tokens, "speed": speed}[sys.argv[1]]
    answer = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        result = measure(json.load(sys.stdin))
    json.dump(result, answer)


if __name__ == "__main__":
    main()
