"""Declarations of HTTP APIs and their tools: plain data that generated code creates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Literal

from toolmason_runtime.shared.specs.program import Risk

FORBIDDEN_HEADERS: Final = frozenset(
    {
        *("host", "content-length", "content-encoding", "transfer-encoding", "accept-encoding", "te", "trailer"),
        *("connection", "keep-alive", "proxy-connection", "proxy-authorization", "upgrade", "expect"),
    }
)
"""Headers, in lower case, that only the HTTP client sets."""


class Place(StrEnum):
    """Where a request contains the value of a parameter."""

    PATH = "path"
    QUERY = "query"
    HEADER = "header"
    COOKIE = "cookie"
    BODY = "body"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """How one parameter reaches the request.

    `key` is its name there; `.` is the whole body. `style` is the form of an array or object in the query, a cookie or
    a form; `json` writes any value as JSON.
    `default` is the value of an absent argument (None: no value). Null counts as absent unless the parameter is
    `nullable`; then a JSON body contains it. `format` is `path` for a value that is the path of a file; its content is
    sent. In a multipart body, `binary` makes a file of a text, and `byte` a file of base64.
    """

    name: str
    place: Place
    key: str
    style: Literal["form", "comma", "space", "pipe", "deepObject", "members", "json"] = "form"
    default: Any = None
    nullable: bool = False
    format: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Auth:
    """A credential, with one of `bearer`, `basic`, `header` and `query`. The last two are names of `value`.

    The values contain `$VAR`, as in the manifest. With `optional`, requests have none if a variable is not set.
    """

    bearer: str = ""
    basic: str = ""
    header: str = ""
    query: str = ""
    value: str = ""
    optional: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """`[apis.NAME]`: an HTTP API. `base_url`, `headers` and `auth` contain `$VAR`, as in the manifest."""

    name: str
    base_url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    auth: Auth | None = None
    timeout_s: float = 30.0
    retries: int = 2
    allow_hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pagination:
    """How to get further pages, with one of `next`, `cursor`, `last`, `page` and `offset`.

    `next` is `link` for the `Link` header, else the member with the URL of the next page. `cursor` is the member with
    the value of the query parameter `param`, and `last` is this member of the last item. `page` is the query parameter
    with the number of the page, and `offset` that with the number of items before it; `first` is its first value (None:
    1 for a page, 0 for an offset). `more` is the member that is false on the last page. Members are paths such as
    `meta.next`. `items` is the member with the items; empty if the page is an array.
    """

    next: str = ""
    cursor: str = ""
    last: str = ""
    param: str = ""
    page: str = ""
    offset: str = ""
    first: int | None = None
    more: str = ""
    items: str = ""
    max_pages: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpTool:
    """A tool with `api`: a request with a method and a path, perhaps with a fixed query.

    `path` contains `{name}` for a parameter, or `{+name}` if its value may contain `/`. With `returns_list`, the answer
    is an array, and the model of the result has it as `items`.
    """

    name: str
    api: Api
    method: str
    path: str
    placements: tuple[Placement, ...] = ()
    body: Literal["json", "form", "multipart", "text", "file"] = "json"
    pagination: Pagination | None = None
    select: str = ""
    save: str = ""
    """Parameter with the path of a new file for the answer; empty if answers are not saved."""
    graphql: str = ""
    """GraphQL document with one operation, whose variables are the parameters of the body; empty for other requests."""
    returns_list: bool = False
    timeout_s: float | None = None
    """Limit of a call in seconds; None means that of the API."""
    risk: Risk = Risk.DESTRUCTIVE
    confirm: str = ""
    """The question above the request in an approval prompt; empty for the default question.

    `{name}` is replaced by the value of a parameter, `{{` and `}}` by a brace.
    """

    @property
    def is_repeatable(self) -> bool:
        """Whether a second identical request has no further effect (RFC 9110, 9.2.2)."""
        return self.method in ("GET", "HEAD", "OPTIONS", "PUT", "DELETE") or self.graphql.startswith("query")
