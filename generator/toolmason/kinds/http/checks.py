"""Checks of `[apis]`, and of tools that send an HTTP request to one."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from toolmason_runtime.shared.specs.request import FORBIDDEN_HEADERS
from toolmason_runtime.shared.toml.problems import either, quoted, table_name
from toolmason_runtime.shared.toml.reader import TableContext

from toolmason.manifest.checks import REQUEST_LOCATIONS, RISKS, check_headers, check_one_risk, table_of

PARAM_KEYS: Final = (*REQUEST_LOCATIONS, "style", "file")
"""Keys of a parameter that only tools with `api` have."""

_CREDENTIALS: Final = ("bearer", "basic", "header", "query")
_PAGES: Final = ("next", "cursor", "last", "page", "offset")
_HOST: Final = re.compile(r"(?:[A-Za-z0-9_-]+\.)*[A-Za-z0-9_-]+(?::\d{1,5})?")
"""A host with an optional port: `uploads.example.com`, `localhost:8080`, `127.0.0.1:8080`."""


def check_api(context: TableContext) -> None:
    """Report headers and hosts that a request cannot have."""
    check_headers(context)
    if re.search(r"//[^/]*@|[?#]", str(context.data.get("base_url", ""))):
        message = f"`base_url` of {table_name(context.at)} contains a user, a query or a fragment"
        context.error(
            "TM241", message, "base_url", hint="write `auth` for credentials, and a query in `http`", value=False
        )
    for name in table_of(context.data, "headers"):
        check_header_name(context, name, "headers", name)
    hosts = context.data.get("allow_hosts")
    for index, host in enumerate(hosts if isinstance(hosts, list) else ()):
        if isinstance(host, str) and not _HOST.fullmatch(host) and not _is_network(host):
            message = f"{quoted(host)} in `allow_hosts` of {table_name(context.at)} is not a host, address or network"
            context.error("TM241", message, "allow_hosts", index, hint="write a host without `https://` and path")


def check_header_name(context: TableContext, name: object, *path: str) -> None:
    """Report a header that the HTTP client sets itself."""
    if isinstance(name, str) and name.lower() in FORBIDDEN_HEADERS:
        message = f"the header {quoted(name)} cannot be set in {table_name(context.at)}"
        context.error("TM241", message, *path, hint="remove it: the HTTP client sets it", value=False)


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return True


def check_auth(context: TableContext) -> None:
    """Report a credential without a place or with two, and one without a value."""
    places = [key for key in _CREDENTIALS if key in context.data]
    where = table_name(context.at)
    if not places:
        hint = 'write `auth = { bearer = "$TOKEN" }`, or `header` or `query` with `value`'
        context.error("TM242", f"{where} has no credential", hint=hint)
    for extra in places[1:]:
        message = f"`{extra}` cannot be combined with `{places[0]}` in {where}"
        context.error("TM242", message, extra, hint="keep one of them", value=False)
    needs_value = places[:1] in (["header"], ["query"])
    if places and needs_value != ("value" in context.data):
        verb, hint = ("requires", 'add `value = "$KEY"`') if needs_value else ("cannot have", "remove `value`")
        context.error("TM242", f"`{places[0]}` in {where} {verb} `value`", places[0], hint=hint, value=False)
    if context.data.get("basic") and ":" not in str(context.data["basic"]):
        hint = 'write `basic = "$USER:$PASSWORD"`'
        context.error("TM242", f"`basic` in {where} has no password", "basic", hint=hint)
    check_header_name(context, context.data.get("header"), "header")
    for key in ("bearer", "basic", "value"):
        if "$" not in str(context.data.get(key, "$")):
            message = f"`{key}` in {where} is the credential itself, which generated code would contain"
            context.error("TM242", message, key, hint=f'write `{key} = "$VARIABLE"`', value=False)


def check_paginate(context: TableContext) -> None:
    """Report pages without a successor or with two, and a cursor that is not sent."""
    ways = [key for key in _PAGES if key in context.data]
    where = table_name(context.at)
    if not ways:
        context.error("TM243", f"{where} does not specify the next page", hint=f"add {either(_PAGES)}")
    for extra in ways[1:]:
        message = f"`{extra}` cannot be combined with `{ways[0]}` in {where}"
        context.error("TM243", message, extra, hint="keep one of them", value=False)
    if ways and (ways[0] in ("cursor", "last")) != ("param" in context.data):
        name = "last" if ways[0] == "last" else "cursor"
        hint = f"write `{name}` with the member of the answer, and `param` with the query parameter that receives it"
        context.error("TM243", f"`{name}` and `param` in {where} require each other", ways[0], hint=hint, value=False)
    if ways and "first" in context.data and ways[0] not in ("page", "offset"):
        message = f"`first` cannot be combined with `{ways[0]}` in {where}"
        context.error("TM243", message, "first", hint="remove it: only `page` and `offset` count", value=False)


def check_api_tool(context: TableContext) -> None:
    """Report missing and contradicting keys of a tool with `api`."""
    context.missing("http", '"GET /..."')
    risk, method = context.data.get("risk"), str(context.data.get("http", "")).partition(" ")[0]
    if isinstance(risk, dict):
        hint = f"write {either(RISKS)}, or split the tool by risk"
        context.error("TM244", f"`risk` in {table_name(context.at)} depends on a parameter", "risk", hint=hint)
    elif risk is not None:
        check_one_risk(context, risk, "risk")
    if "paginate" in context.data and method not in ("GET", ""):
        message = f"`paginate` cannot be combined with {method} in {table_name(context.at)}"
        context.error("TM244", message, "paginate", hint="remove it: only GET has pages", value=False)
    check_save(context)
    if "graphql" in context.data:
        for other in ("body", "paginate", "save"):
            if other in context.data:
                message = f"`graphql` cannot be combined with `{other}` in {table_name(context.at)}"
                context.error("TM244", message, other, hint="remove it", value=False)
        if method != "POST":
            message = f"`graphql` in {table_name(context.at)} requires POST"
            context.error("TM244", message, "http", hint='write `http = "POST /graphql"`')
    for name, param in table_of(context.data, "params").items():
        if isinstance(param, dict) and str(param.get("header", "")).lower() in FORBIDDEN_HEADERS:
            message = f"the header {quoted(str(param['header']))} cannot be a parameter in {table_name(context.at)}"
            context.error("TM244", message, "params", name, "header", hint="remove it: the HTTP client sets it")


def check_save(context: TableContext) -> None:
    """Report answers that cannot be saved: for another key that reads them, or without a parameter with the path."""
    save = context.data.get("save")
    if not isinstance(save, str):
        return
    where = table_name(context.at)
    for other in ("paginate", "returns", "select"):
        if other in context.data:
            message = f"`save` cannot be combined with `{other}` in {where}"
            context.error("TM244", message, "save", hint="remove one of them", value=False)
    param = table_of(context.data, "params").get(save)
    if not isinstance(param, dict):
        hint = f'add `params.{save}` with `type = "string"` and `required = false`'
        context.error("TM244", f"`save` in {where} is not one of its parameters", "save", hint=hint)
        return
    for place in (key for key in PARAM_KEYS if key in param):
        message = f"{quoted(save)} is where the answer is saved, so it is not sent"
        context.error("TM244", message, "params", save, place, hint="remove it", value=False)
    if param.get("type") != "string":
        context.error(
            "TM244",
            f"{quoted(save)} is the path of a file",
            "params",
            save,
            hint='write `type = "string"`',
            value=False,
        )
