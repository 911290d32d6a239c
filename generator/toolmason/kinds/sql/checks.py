"""Checks of `[databases]`, and of tools that run a statement in one."""

from __future__ import annotations

from typing import Final

from toolmason_runtime.shared.specs.database import DIALECTS, dialect_of
from toolmason_runtime.shared.toml.problems import either, quoted, table_name
from toolmason_runtime.shared.toml.reader import TableContext
from toolmason_runtime.toolkit import url_secrets

from toolmason.manifest.checks import RISKS, check_one_risk

_SCHEMES: Final = "sqlite:///books.db"


def check_database(context: TableContext) -> None:
    """Report a database without URL or dialect, and a URL with a password."""
    url, dialect, where = context.data.get("url"), context.data.get("dialect"), table_name(context.at)
    if not url and not context.data.get("url_env"):
        hint = f'write `url = "{_SCHEMES}"`, or `url_env` with a variable and `dialect`'
        context.error("TM245", f"{where} has neither `url` nor `url_env`", hint=hint)
    elif not url and not dialect:
        context.error("TM245", f"{where} has no dialect", hint=f"add `dialect`: {either(DIALECTS)}")
    if not isinstance(url, str) or not url:
        return
    found = dialect_of(url)
    if found is None:
        schemes = ", ".join(f"`{scheme}:`" for scheme in DIALECTS)
        context.error("TM245", f"{quoted(url)} is not the URL of a database", "url", hint=f"schemes are {schemes}")
    elif dialect and dialect != found:
        message = f"`dialect` of {where} is not that of its URL, `{found}`"
        context.error("TM245", message, "dialect", hint="remove `dialect`")
    if url_secrets(url):
        message = f"`url` of {where} contains a password, which generated code would contain"
        context.error("TM245", message, "url", hint='write `url_env = "DATABASE_URL"`', value=False)


def check_schema(context: TableContext) -> None:
    """Report a schema of a database other than SQLite."""
    dialect = context.data.get("dialect") or dialect_of(str(context.data.get("url", "")))
    if "schema" in context.data and dialect not in ("sqlite", None, ""):
        message = f"`schema` of {table_name(context.at)} cannot be used: only statements of SQLite are prepared"
        context.error("TM245", message, "schema", hint="remove it", value=False)


def check_database_table(context: TableContext) -> None:
    """Report an invalid address and schema."""
    check_database(context)
    check_schema(context)


def check_sql_tool(context: TableContext) -> None:
    """Report a risk that depends on a parameter, and one that is invalid."""
    risk = context.data.get("risk")
    if isinstance(risk, dict):
        hint = f"write {either(RISKS)}, or split the tool by risk"
        context.error("TM246", f"`risk` in {table_name(context.at)} depends on a parameter", "risk", hint=hint)
    elif risk is not None:
        check_one_risk(context, risk, "risk")
