"""Convert the exceptions of handlers to errors without internal details."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolmason_runtime.calls.call import InputRequired
from toolmason_runtime.calls.secrets import mask
from toolmason_runtime.shared.errors import INTERNAL, MethodError, ToolError

_log = logging.getLogger(__name__)


def to_tool_error(what: str, error: BaseException) -> ToolError:
    """Return the error of a handler for the client; log bugs.

    The exceptions of a group are combined, and secrets are masked.

    Args:
        what: its name in messages, such as `tool search`.
        error: the exception that it raised.

    Raises:
        MethodError: it is in the group; InputRequired likewise.
    """
    errors = list(_leaves(error))
    for method_error in (leaf for leaf in errors if isinstance(leaf, MethodError)):
        raise method_error
    if pending := [leaf for leaf in errors if isinstance(leaf, InputRequired)]:
        raise InputRequired({key: request for leaf in pending for key, request in leaf.requests.items()})
    tool_errors = [leaf for leaf in errors if isinstance(leaf, ToolError)]
    if len(tool_errors) == len(errors):
        first = tool_errors[0]
        text = mask("\n".join(tool_error.message for tool_error in tool_errors))
        return first if text == first.message else ToolError(text, code=first.code, details=_details(errors, first))
    if not isinstance(error, Exception):
        raise error
    _log.error("%s failed", what, exc_info=error)
    # A stub of `generate --stubs` or `add tool` raises it without a text.
    reason = ": it is not implemented yet" if isinstance(error, NotImplementedError) and not error.args else ""
    return ToolError(f"Error executing {what}{reason}", code=INTERNAL)


def _details(errors: Sequence[BaseException], first: ToolError) -> Mapping[str, Any]:
    """Return the details of the only error; a combined error has none."""
    return first.details if len(errors) == 1 else {}


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
