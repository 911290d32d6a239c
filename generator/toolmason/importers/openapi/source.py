"""The values of a file or a URL: JSON or YAML."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from toolmason_runtime.shared.addresses import is_metadata_host, private_reason
from toolmason_runtime.shared.budget import DESCRIPTION
from toolmason_runtime.toolkit import RemoteDataError, TooDeepError, TooManyValuesError, parse

from toolmason.importers.notes import ImporterError
from toolmason.importers.openapi.spelling import keep_spelling
from toolmason.importers.yaml_core import core_int, use_core_schema

if TYPE_CHECKING:
    import httpx2

MAX_BYTES: Final = DESCRIPTION.bytes
"""Maximum size of a document."""
MAX_DEPTH: Final = DESCRIPTION.depth
"""Maximum nesting depth of a document."""
MAX_PARTS: Final = DESCRIPTION.values
"""Maximum number of values of a document with each alias of YAML replaced by its value."""
MAX_MERGED: Final = 10_000
"""Maximum number of members that merge keys (`<<`) of YAML give to one object."""
TIMEOUT_S: Final = 60.0
"""Seconds to fetch a document, with its redirects."""
MAX_REDIRECTS: Final = 5
MAX_DIGITS: Final = 308
"""Maximum digits of a number. Python's floats have no more, and it writes no integer of more than 4,300."""
MAX_BITS: Final = 1023
"""Maximum bits of an integer: about `MAX_DIGITS`."""


def is_url(source: str) -> bool:
    """Return whether a source is a URL."""
    return source.startswith(("https://", "http://"))


def without_user(source: str) -> str:
    """Return a source without the user and the password of a URL."""
    return re.sub(r"(?<=://)[^/?#]*@", "", source) if is_url(source) else source


def read(path: Path, shown: str) -> bytes:
    """Return the content of a file; messages name it `shown`.

    Raises:
        ImporterError: it cannot be read, or is too large.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ImporterError(f"{shown}: cannot read: {(error.strerror or str(error)).lower()}") from error
    return _limited(data, shown)


def fetch(url: str, headers: Mapping[str, str], is_allowed: Callable[[str], bool] | None = None) -> bytes:
    """Return the content of a URL. `is_allowed` judges the targets of redirects; by default, their hosts are checked.

    Raises:
        ImporterError: it cannot be fetched, is too large, or redirects to a place that is not allowed.
    """
    import httpx2  # Slow to import.

    deadline = time.monotonic() + TIMEOUT_S
    address = httpx2.URL(url)
    try:
        with httpx2.Client(timeout=TIMEOUT_S) as client:
            for _ in range(MAX_REDIRECTS + 1):
                with client.stream("GET", address, headers=dict(headers)) as answer:
                    if headers or answer.next_request is None:
                        answer.raise_for_status()  # also for a redirect
                        return _body(answer.iter_bytes(), url, deadline)
                    check_redirect(url, answer.next_request)
                    if is_allowed and not is_allowed(str(answer.next_request.url)):
                        raise ImporterError(f"{url}: redirects to {answer.next_request.url}, which is not allowed")
                    address = answer.next_request.url
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise ImporterError(f"{url}: cannot fetch: {error}") from error
    raise ImporterError(f"{url}: cannot fetch: more than {MAX_REDIRECTS} redirects")


def _body(parts: Iterable[bytes], url: str, deadline: float) -> bytes:
    """Return a body. `deadline` is a time of `time.monotonic`: the client's timeout is for each part."""
    data = bytearray()
    for part in parts:
        data += part
        _limited(data, url)
        if time.monotonic() > deadline:
            raise ImporterError(f"{url}: cannot fetch: it takes more than {TIMEOUT_S:g} seconds")
    return bytes(data)


def check_redirect(url: str, request: httpx2.Request) -> None:
    """Check the host of a request to `url`, or to the address to which its host has redirected.

    Raises:
        ImporterError: only the host, not the user, has chosen an address of a private network or a metadata service.
    """
    first, host = urlsplit(url).hostname or "", request.url.host
    hint = "if you trust it, import that address itself"
    if is_metadata_host(host) and not is_metadata_host(first):
        raise ImporterError(f"{url}: redirects to {request.url}, which may be a metadata service")
    if (reason := private_reason(host)) and not private_reason(first):
        raise ImporterError(f"{url}: redirects to {request.url}, whose host {reason}; {hint}")
    if request.url.scheme not in {"http", "https"} or (url.startswith("https:") and request.url.scheme == "http"):
        raise ImporterError(f"{url}: redirects to {request.url}, which is not encrypted; {hint}")


def _limited(data: bytes | bytearray, source: str) -> bytes:
    if len(data) > MAX_BYTES:
        raise ImporterError(f"{source}: the document has more than {MAX_BYTES:,} bytes")
    return data  # type: ignore[return-value]  # a bytearray is only checked


def decode(data: bytes, source: str) -> str:
    """Return the text of a document.

    Raises:
        ImporterError: it is not UTF-8.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ImporterError(f"{source}: not UTF-8 at byte {error.start}") from error


def values(text: str, source: str) -> Any:
    """Return the values of a JSON or YAML text.

    Raises:
        ImporterError: it is neither, or too large.
    """
    try:
        document = _values(text, source)
        _measure(document, source, 0, {})
    except (RecursionError, TooDeepError):
        raise ImporterError(f"{source}: the document nests more than {MAX_DEPTH} levels") from None
    except TooManyValuesError as error:
        raise ImporterError(f"{source}: the document {str(error).removeprefix('it ')}") from None
    except RemoteDataError as error:
        raise ImporterError(f"{source}: {error}") from error
    except ValueError as error:
        raise ImporterError(f"{source}: not JSON: {error}") from error
    return document


def _values(text: str, source: str) -> Any:
    if not text.lstrip().startswith("{"):
        return _parse_yaml(text, source)
    try:
        return parse(text, DESCRIPTION)
    except RemoteDataError as error:
        if "not JSON" in str(error) and urlsplit(source).path.endswith((".yaml", ".yml")):
            return _parse_yaml(text, source)  # one object in flow style
        raise


def _parse_yaml(text: str, source: str) -> Any:
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # chosen at run time
        """The safe loader with the scalars of YAML 1.2: `2020-01-01` and `no` are strings."""

        depth = 0

        def descend_resolver(self, current_node: Any, current_index: Any) -> None:
            """Count the depth: libyaml nests calls in C, where no `RecursionError` ends them."""
            self.depth += 1
            if self.depth > MAX_DEPTH + 1:  # the values in the innermost list are nodes, too
                raise RecursionError
            super().descend_resolver(current_node, current_index)

        def ascend_resolver(self) -> None:
            """Leave a node."""
            self.depth -= 1
            super().ascend_resolver()

        def flatten_mapping(self, node: yaml.MappingNode) -> None:
            """Replace the merge keys of an object by their members."""
            super().flatten_mapping(node)
            if len(node.value) > MAX_MERGED:
                raise yaml.YAMLError(f"merge keys give an object more than {MAX_MERGED:,} members")

        def construct_number(self, node: yaml.ScalarNode) -> Any:
            """Return a number of limited length."""
            if len(node.value) > MAX_DIGITS:
                raise yaml.YAMLError(f"a number has more than {MAX_DIGITS} characters")
            return core_int(node.value) if node.tag.endswith(":int") else self.construct_yaml_float(node)

    use_core_schema(Loader)
    for kind in ("int", "float"):
        Loader.add_constructor(f"tag:yaml.org,2002:{kind}", Loader.construct_number)
    loader = Loader(text)
    try:
        node = loader.get_single_node()
        keep_spelling(node)
        return _as_json(None if node is None else loader.construct_document(node), {})
    except (yaml.YAMLError, OverflowError) as error:
        if "nesting depth" in str(error):  # the limit of libyaml
            raise RecursionError from None
        raise ImporterError(f"{source}: not YAML: {' '.join(str(error).split())}") from error
    finally:
        loader.dispose()


def _as_json(value: Any, known: dict[int, Any]) -> Any:
    """Return YAML data with the keys of JSON: `200:` is `"200":`. An alias stays one object.

    Raises:
        ValueError: a value has a type that JSON lacks, such as `!!binary`.
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if not isinstance(value, dict | list):
        raise ValueError(f"a value is of the type {type(value).__name__}")  # noqa: TRY004  the document is damaged
    if id(value) not in known:
        copy: Any = {} if isinstance(value, dict) else []
        known[id(value)] = copy
        if isinstance(value, dict):
            copy.update({_key(name): _as_json(inner, known) for name, inner in value.items()})
        else:
            copy.extend(_as_json(inner, known) for inner in value)
    return known[id(value)]


def _key(name: Any) -> str:
    return json.dumps(name) if isinstance(name, bool | int | float) or name is None else str(name)


def _measure(value: Any, source: str, level: int, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """Return the number of values and levels of a document, with each alias of YAML replaced by its value.

    Raises:
        ImporterError: there are too many values, or an integer is too large.
        RecursionError: there are too many levels, or an alias is inside its own anchor.
    """
    if not isinstance(value, dict | list):
        if isinstance(value, int) and value.bit_length() > MAX_BITS:
            raise ImporterError(f"{source}: the document has an integer of more than {MAX_DIGITS} digits")
        return 1, 0
    if id(value) not in known:
        known[id(value)] = (0, MAX_DEPTH)  # while it is open
        inner = [
            _measure(part, source, level + 1, known) for part in (value.values() if isinstance(value, dict) else value)
        ]
        parts, levels = 1 + sum(size for size, _ in inner), 1 + max((height for _, height in inner), default=0)
        if parts > MAX_PARTS:
            raise ImporterError(f"{source}: the document has more than {MAX_PARTS:,} values, with its aliases")
        known[id(value)] = parts, levels
    if level + known[id(value)][1] > MAX_DEPTH:
        raise RecursionError
    return known[id(value)]
