"""Read the JSON output of a program as the structured result of its tool."""

from __future__ import annotations

import json
from types import UnionType
from typing import TYPE_CHECKING, Any, Final, get_args, get_origin

from toolmason_runtime.programs.execute import Outcome
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.wire.results import encodable

if TYPE_CHECKING:
    from pydantic import BaseModel

INVALID_OUTPUT: Final = "INVALID_OUTPUT"
"""Error code: the output of a program is not the declared JSON."""
MAX_OUTPUT_BYTES: Final = 16 * 1024 * 1024
"""Maximum bytes of JSON that a program may print. Members that the type does not declare count as well."""
_SHOWN: Final = 200
_SHOWN_PROBLEMS: Final = 3


def read_json_output(outcome: Outcome, name: str, model: type[BaseModel]) -> BaseModel:
    """Return the stdout of the program `name` as `model`. Members that it does not declare are left out.

    An array, or JSON Lines of any number of lines, becomes the only field of the model.

    Raises:
        ToolError: stdout is too large, or is not JSON that fits the model.
    """
    size = outcome.stdout.size
    if size > MAX_OUTPUT_BYTES or outcome.stdout.dropped_bytes:
        problem = f"{name} printed {size:,} bytes, more than the {MAX_OUTPUT_BYTES:,} that are read as JSON"
        raise ToolError(f"{problem}; ask for less", code=INVALID_OUTPUT)
    text = "".join(outcome.stdout.texts()).removeprefix("\ufeff").strip()
    array = _only_array(model)
    try:
        value = encodable(_parse(text)) if text or not array else []
    except (ValueError, RecursionError) as error:
        raise ToolError(f"{name} printed no JSON ({error}): {text[:_SHOWN]}", code=INVALID_OUTPUT) from error
    if array and not (isinstance(value, dict) and array in value):
        # Programs written in Go print null for an empty list.
        value = {array: value if isinstance(value, list) else [] if value is None else [value]}
    return fit_model(value, model, source=f"The output of {name}")


def _only_array(model: type[BaseModel]) -> str:
    """Return the JSON name of the only field of a model if it is an array; otherwise an empty text."""
    if len(model.model_fields) != 1:
        return ""
    [(name, field)] = model.model_fields.items()
    kind = field.annotation
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    return field.alias or name if any(get_origin(kind) is list for kind in kinds) else ""


def fit_model(value: Any, model: type[BaseModel], *, source: str) -> BaseModel:
    """Return a JSON value as `model`. Members that it does not declare are left out.

    Raises:
        ToolError: the value does not fit the model; `source` describes it in the message.
    """
    from pydantic import ValidationError

    try:
        return model.model_validate(value)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, problem['loc'])) or 'the output'}: {problem['msg']}"
            for problem in error.errors(include_url=False, include_input=False)[:_SHOWN_PROBLEMS]
        )
        raise ToolError(f"{source} does not fit `{model.__name__}`: {problems}", code=INVALID_OUTPUT) from error


def _parse(text: str) -> Any:
    """Return a JSON document, or the list of the documents of JSON Lines."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            raise
        return [json.loads(line) for line in text.split("\n") if line.strip()]
