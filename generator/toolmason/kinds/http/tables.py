"""The tables of HTTP APIs, and the keys of tools that send requests to them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from toolmason_runtime.shared.toml.tables import Idiom, PartialTable, Table, key, matching

from toolmason.manifest.idioms import API_KEYS
from toolmason.manifest.rules import HEADER, MEMBER, SUMMARY, TEXT, WEB_ADDRESS, WIRE_NAME, param_name
from toolmason.manifest.tables import TierDefaultsTable

PLACEHOLDER: Final = re.compile(r"\{\+?(?P<name>[A-Za-z_][A-Za-z0-9_.-]*)\}")
"""`{owner}` or `{+path}` in `http`."""
_NO_DEFAULTS: Final = TierDefaultsTable()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthTable(Table):
    """`auth` of `[apis.NAME]`: a credential, with exactly one of `bearer`, `basic`, `header` and `query`."""

    bearer: str = ""
    """Token of `Authorization: Bearer ...`, such as `$GITHUB_TOKEN`."""
    basic: str = ""
    """User and password of `Authorization: Basic ...`: `$USER:$PASSWORD`."""
    header: str = key(HEADER, default="")
    """Name of the HTTP header with `value`, such as `X-Api-Key`."""
    query: str = key(WIRE_NAME, default="")
    """Name of the query parameter with `value`. Prefer a header: servers log URLs."""
    value: str = ""
    """Value of `header` or `query`, such as `$API_KEY`."""
    optional: bool = False
    """Whether the API also answers without a credential: requests have none while a variable is not set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiTable(PartialTable):
    """`[apis.NAME]`: an HTTP API, and the settings of all requests to it."""

    idioms: ClassVar[Mapping[str, Idiom]] = API_KEYS

    base_url: str = key(WEB_ADDRESS)
    """URL before the path of each request; `$VAR` is expanded.

    Requests reach a private address, such as `127.0.0.1`, only if this URL or `allow_hosts` contains it.
    """
    summary: str = key(SUMMARY, default="")
    """Purpose of the API in one line."""
    category: str = ""
    """Default category of its tools."""
    tags: tuple[str, ...] = ()
    """Labels shown when tools are searched and browsed."""
    headers: Mapping[str, str] = key(default={})
    """HTTP headers of every request; `$VAR` is expanded."""
    auth: AuthTable | None = None
    """Credential of every request. It is never sent to another host, and never shown."""
    timeout: float = key({"minimum": 0.1}, default=30)
    """Seconds until a call is cancelled, with its retries and pages."""
    retries: int = key({"minimum": 0}, default=2)
    """Maximum number of retries of a request that the server did not process, or that can be repeated safely."""
    allow_hosts: tuple[str, ...] = ()
    """Further hosts that redirects and pages may lead to, such as `uploads.example.com` or `localhost:8080`.

    An address, or a network such as `10.1.0.0/16`, also allows the private addresses in it.
    """
    defaults: TierDefaultsTable = _NO_DEFAULTS
    """Values for its tools that do not set them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaginateTable(Table):
    """`paginate` of a tool with `api`: how to get further pages.

    It has exactly one of `next`, `cursor`, `last`, `page` and `offset`.
    """

    next: str = key(MEMBER, default="")
    """`link` for the `Link` header with `rel="next"`, else the member of the answer with the URL of the next page."""
    cursor: str = key(MEMBER, default="")
    """Member of the answer with the cursor of the next page, sent as `param`."""
    last: str = key(MEMBER, default="")
    """Member of the last item, such as `id`, that is the cursor of the next page, sent as `param`."""
    param: str = key(WIRE_NAME, default="")
    """Query parameter that receives the cursor."""
    page: str = key(WIRE_NAME, default="")
    """Query parameter with the number of the page. A page without items is the last one."""
    offset: str = key(WIRE_NAME, default="")
    """Query parameter with the number of items before the page. A page without items is the last one."""
    first: int | None = key({"minimum": 0}, default=None)
    """Number of the first page, 1 by default, or offset of the first item, 0 by default."""
    more: str = key(MEMBER, default="")
    """Member of the answer that is false on the last page, such as `has_more`."""
    items: str = key(MEMBER, default="")
    """Member of the answer with the items, which are joined. Default: the answer is an array.

    They alone are the result if `returns` is an array and `select` is absent.
    """
    max_pages: int = key({"minimum": 1}, default=5)
    """Maximum number of pages of one call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpKeys(Table):
    """The keys of `[tools.NAME]` for a tool that sends a request."""

    api: str = ""
    """API of `[apis]` that implements the tool, instead of a handler."""
    http: str = key(
        matching(
            r"(?:GET|HEAD|OPTIONS|POST|PUT|PATCH|DELETE) /(?:[^\s{}#]|\{\+?[A-Za-z_][A-Za-z0-9_.-]*\})*",
            "a method and a path, such as `GET /repos/{owner}/issues`",
        )
        | param_name(PLACEHOLDER.pattern),
        default="",
    )
    """Method and path of the request to its `api`, perhaps with a fixed query: `GET /users/{id}?format=full`.

    `{name}` is a parameter; `{+name}` may contain `/`.
    """
    body: Literal["json", "form", "multipart", "text", "file"] = "json"
    """Encoding of the body of the request. `text` and `file` send the content of one parameter."""
    graphql: str = key(
        matching(
            r"(?:query|mutation)\b[\s\S]*\{[\s\S]*\}\s*",
            "a GraphQL document, such as `query user($id: ID!) { user(id: $id) { name } }`",
        ),
        default="",
    )
    """GraphQL document with one operation and one field. The parameters of the body are its variables.

    The value of the field is the answer; an answer with errors and without a value is an error.
    """
    save: str = key(param_name(), default="")
    """Parameter with the path of a new file, to which the answer is saved. It is not part of the request."""
    paginate: PaginateTable | None = None
    """How to get further pages of the answer of its `api`."""
    select: str = key(TEXT, default="")
    """jq program that reduces the answer of its `api` before `returns` and before the model sees it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpTables(Table):
    """The top-level tables of HTTP APIs."""

    apis: Mapping[str, ApiTable] = key(default={})
    """HTTP APIs that tools call."""
