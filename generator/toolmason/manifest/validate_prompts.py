"""Checks of `[prompts]` and `[resources]`, their messages and arguments."""

from __future__ import annotations

from toolmason_runtime.toml.problems import either, table_name
from toolmason_runtime.toml.reader import TableContext

from toolmason.manifest.checks import check_value
from toolmason.manifest.function_names import check_function_name


def check_prompt(context: TableContext) -> None:
    """Report a prompt without content or with two."""
    _check_alternatives(context, "text", "messages", "handler")
    check_function_name(context, "handler")
    if context.data.get("messages") == []:
        context.error("TM209", f"`messages` in {table_name(context.at)} is empty", "messages", hint="add a message")


def check_message(context: TableContext) -> None:
    """Report a message without content or with two."""
    _check_alternatives(context, "text", "image", "resource")


def check_resource(context: TableContext) -> None:
    """Report a resource without content or with two, and keys that need a handler."""
    _check_alternatives(context, "file", "handler")
    check_function_name(context, "handler")
    uri = context.data.get("uri")
    if isinstance(uri, str) and "{" in uri and "file" in context.data:
        message = f"`file` cannot be combined with a URI template in {table_name(context.at)}"
        context.error("TM231", message, "file", hint="write a `handler` that returns the content", value=False)
    if context.data.get("subscribe") is True and "file" in context.data:
        message = f"`subscribe` in {table_name(context.at)} requires `handler`"
        context.error("TM215", message, "subscribe", hint="remove it: the file does not change", value=False)


def check_argument(context: TableContext) -> None:
    """Report an argument with a contradiction or with two kinds of completion."""
    check_value(context)
    check_function_name(context, "complete")
    if "complete" in context.data and "suggestions" in context.data:
        message = f"`suggestions` cannot be combined with `complete` in {table_name(context.at)}"
        context.error("TM231", message, "suggestions", hint="keep one of them", value=False)


def _check_alternatives(context: TableContext, *keys: str) -> None:
    """Report a table without exactly one of `keys`."""
    if not any(context.has(key) for key in keys):
        context.error("TM231", f"{table_name(context.at)} has no content", hint=f"add {either(keys)}")
    present = [key for key in keys if key in context.data]
    for extra in present[1:]:
        message = f"`{extra}` cannot be combined with `{present[0]}` in {table_name(context.at)}"
        context.error("TM231", message, extra, hint="keep one of them", value=False)
