"""Requests of an upstream to the client, as a person may see them: forms, pages to open, and requests for sampling.

An upstream is a third party. Its texts are quoted under a line of ours, escaped and bounded, and a question that asks
for a secret is refused.
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlsplit, urlunsplit

from toolmason_runtime.shared.specs.upstream import Upstream
from toolmason_runtime.upstreams.foreign_text import MAX_QUOTED_LENGTH, heading, label, quotation, visible_text
from toolmason_runtime.upstreams.secret_words import find_secret_word
from toolmason_runtime.wire.results import compact_json

MAX_QUESTIONS: Final = 5
"""Questions of an upstream in one call. Requests for roots are counted on their own."""
MAX_FIELDS: Final = 20
MAX_CHOICES: Final = 100
MAX_FORM_CHARS: Final = 20_000
"""Maximum characters of a form, as JSON."""
MAX_NAME_LENGTH: Final = 100
"""Maximum characters of the name of a field, and of a choice: longer ones cannot be shortened."""
MAX_URL_LENGTH: Final = 2_000
MAX_SAMPLING_CHARS: Final = 8 * 1024 * 1024
"""Maximum characters of all messages of a request for sampling, pictures and sounds in Base64 included."""
MAX_MESSAGES: Final = 100

_FORMATS: Final = ("email", "uri", "date", "date-time")
_HOST: Final = re.compile(r"[a-z0-9._-]{1,253}")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_INVALID: Final = "MCP does not allow its form"


class QuestionRefusedError(Exception):
    """A question that no person sees. The reason contains no text of the upstream."""


@dataclass(frozen=True, slots=True)
class Form:
    """A question with a form. `names` and `choices` lead from what a person sees to the texts of the upstream."""

    message: str
    schema: dict[str, Any]
    names: Mapping[str, str]
    choices: Mapping[str, Mapping[str, str]]

    def original_answer(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer of a person with the upstream's own names and choices, and with no other fields."""
        content = answer.get("content")
        if not isinstance(content, Mapping):
            return dict(answer)
        fields = {self.names[name]: self._original(name, content[name]) for name in content if name in self.names}
        return {**answer, "content": fields}

    def _original(self, name: str, value: Any) -> Any:
        choices = self.choices.get(name, {})
        if isinstance(value, list):
            return [choices.get(item, item) if isinstance(item, str) else item for item in value]
        return choices.get(value, value) if isinstance(value, str) else value


def form_question(upstream: Upstream, message: str, schema: Mapping[str, Any]) -> Form:
    """Return a question with a form.

    Raises:
        QuestionRefusedError: it asks for a secret, or its form is invalid or too large.
    """
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping) or not all(isinstance(part, Mapping) for part in properties.values()):
        raise QuestionRefusedError(_INVALID)
    if len(properties) > MAX_FIELDS:
        raise QuestionRefusedError(f"its form has more than {MAX_FIELDS} fields")
    names = _shown([*properties])
    fields = {shown: _Field(properties[original]) for shown, original in names.items()}
    wire: dict[str, Any] = {"type": "object", "properties": {name: part.wire for name, part in fields.items()}}
    required = schema.get("required")
    if isinstance(required, list):
        wire["required"] = [shown for shown, original in names.items() if original in required]
    if len(compact_json(wire)) > MAX_FORM_CHARS:
        raise QuestionRefusedError("its form is too large")
    texts = [message[:MAX_QUOTED_LENGTH], *(text for part in fields.values() for text in part.texts)]
    if any(part.is_open for part in fields.values()):
        texts += [text for part in fields.values() for text in part.choice_texts]
    if (word := find_secret_word(texts, names.values())) or any(part.is_secret for part in fields.values()):
        raise QuestionRefusedError(f"it asks for a secret ({word or 'a field for passwords'})")
    choices = {name: part.choices for name, part in fields.items() if part.choices}
    return Form(f"{heading(upstream.name)}\n{quotation(message)}", wire, names, choices)


@dataclass(slots=True)
class _Field:
    """One field of a form: only keywords that MCP defines, with texts for people."""

    source: Mapping[str, Any]
    wire: dict[str, Any] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    choice_texts: list[str] = field(default_factory=list)
    choices: dict[str, str] = field(default_factory=dict)
    is_open: bool = False
    """Whether a person can enter any text or number."""
    is_secret: bool = False

    def __post_init__(self) -> None:
        self.source = source = _without_null(self.source)
        self.is_secret = bool(find_secret_word([str(source.get("format"))[:MAX_NAME_LENGTH]])) or (
            source.get("writeOnly") is True
        )
        kind = source.get("type")
        self.wire["type"] = kind
        for key in ("title", "description"):
            if isinstance(text := source.get(key), str):
                self.wire[key] = label(text, 500)
                self.texts.append(text[:500])
        if kind == "boolean":
            self._copy(bool, "default")
        elif kind == "string" and ("enum" in source or "oneOf" in source):
            self._add_choices(source, self.wire, "oneOf")
            self._add_default(source.get("default"))
        elif kind == "string":
            self._add_text()
        elif kind in ("number", "integer"):
            self.is_open = True
            self._copy((int, float), "minimum", "maximum", "default")
        elif kind == "array" and isinstance(items := source.get("items"), Mapping):
            self.wire["items"] = {} if "anyOf" in items else {"type": "string"}
            self._add_choices(items, self.wire["items"], "anyOf")
            self._copy(int, "minItems", "maxItems")
            self._add_default(source.get("default"))
        else:
            raise QuestionRefusedError(_INVALID)

    def _add_text(self) -> None:
        self.is_open = True
        if (name := self.source.get("format")) in _FORMATS:
            self.wire["format"] = name
        self._copy(int, "minLength", "maxLength")
        if isinstance(default := self.source.get("default"), str):
            self.wire["default"] = label(default, 500)
            self.texts.append(default[:500])

    def _add_choices(self, source: Mapping[str, Any], wire: dict[str, Any], titled: str) -> None:
        """Add the choices of `enum`, or of `oneOf` and `anyOf` with titles."""
        values: Any = source.get("enum")
        titles: Any = source.get("enumNames", [])
        if has_titles := titled in source:
            options = source[titled] if isinstance(source[titled], list) else [None]
            parts = [option if isinstance(option, Mapping) else {} for option in options]
            values = [part.get("const") for part in parts]
            titles = [part.get("title", part.get("const")) for part in parts]
        if not (_are_texts(values) and _are_texts(titles)) or len(titles) > MAX_CHOICES:
            raise QuestionRefusedError(_INVALID)
        self.choices = _shown(values)
        self.choice_texts += [text[:MAX_NAME_LENGTH] for text in (*values, *titles)]
        if has_titles:
            wire[titled] = [
                {"const": shown, "title": label(title)} for shown, title in zip(self.choices, titles, strict=True)
            ]
        else:
            wire["enum"] = [*self.choices]
            if len(titles) == len(values):
                wire["enumNames"] = [label(title) for title in titles]

    def _add_default(self, default: Any) -> None:
        shown = {original: name for name, original in self.choices.items()}
        if isinstance(default, str) and default in shown:
            self.wire["default"] = shown[default]
        elif isinstance(default, list) and all(isinstance(item, str) and item in shown for item in default):
            self.wire["default"] = [shown[item] for item in default]

    def _copy(self, kinds: type | tuple[type, ...], *keys: str) -> None:
        for key in keys:
            value = self.source.get(key)
            is_number = isinstance(value, int | float) and math.isfinite(value)
            if is_number and isinstance(value, kinds) and (kinds is bool or not isinstance(value, bool)):
                self.wire[key] = value


def _without_null(source: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a field without the alternative null: Python servers write optional fields as `anyOf` with it."""
    options = source.get("anyOf")
    if not isinstance(options, list):
        return source
    others = [option for option in options if option != {"type": "null"}]
    if len(others) != 1 or not isinstance(others[0], Mapping):
        return source
    return {**others[0], **{key: value for key, value in source.items() if key != "anyOf"}}


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _shown(texts: Sequence[str]) -> dict[str, str]:
    """Return texts by their visible form.

    Raises:
        QuestionRefusedError: one is too long, there are too many, or two look alike.
    """
    if len(texts) > MAX_CHOICES or any(len(text) > MAX_NAME_LENGTH for text in texts):
        raise QuestionRefusedError("a name or a list of choices in its form is too long")
    shown = {label(text): text for text in texts}
    if len(shown) < len(texts):
        raise QuestionRefusedError("two names or choices in its form look the same")
    return shown


def url_question(upstream: Upstream, message: str, url: str) -> tuple[str, str]:
    """Return the message and the URL of a request to open a page. The message begins with the host of the page.

    Raises:
        QuestionRefusedError: the upstream may not ask for it, or the URL is not that of a public or local page.
    """
    if "url" not in upstream.allow:
        raise QuestionRefusedError(_not_allowed(upstream, "url", "open a page"))
    url, host = _checked_url(url)
    return f"{heading(upstream.name)}\nOpen a page on {host}?\n{quotation(message)}", url


def _checked_url(url: str) -> tuple[str, str]:
    """Return a URL in ASCII, and its host."""
    refusal = QuestionRefusedError("the URL of the page is invalid")
    if len(url) > MAX_URL_LENGTH or visible_text(url) != url or "\\" in url or " " in url:
        raise refusal
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna").decode("ascii") if len(parts.hostname or "") < 254 else ""
        port = parts.port
    except (ValueError, UnicodeError):
        raise refusal from None
    if "@" in parts.netloc:
        raise QuestionRefusedError("the URL of the page contains a user name or a password")
    if not (_HOST.fullmatch(host) or _address(host)):
        raise refusal
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_loopback(host)):
        raise QuestionRefusedError("the URL of the page is not https")
    netloc = (f"[{host}]" if ":" in host else host) + ("" if port is None else f":{port}")
    rest = (quote(part, safe="%/:?#[]@!$&'()*+,;=~") for part in (parts.path, parts.query, parts.fragment))
    return urlunsplit((parts.scheme, netloc, *rest)), netloc


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _is_loopback(host: str) -> bool:
    address = _address(host)
    return host == "localhost" if address is None else address.is_loopback


def sampling_request(upstream: Upstream, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request to the client's model. Its first message, and its system prompt, name the upstream.

    Raises:
        QuestionRefusedError: the upstream may not ask for it, or the request is too large, or has tools.
    """
    if "sampling" not in upstream.allow:
        raise QuestionRefusedError(_not_allowed(upstream, "sampling", "use the client's model"))
    if params.get("tools") or params.get("toolChoice"):
        raise QuestionRefusedError("its request for sampling contains tools")
    messages = [
        {"role": message["role"], "content": _sampling_content(block)}
        for message in params["messages"]
        for block in (message["content"] if isinstance(message["content"], list) else [message["content"]])
    ]
    size = sum(len(text) for message in messages for text in message["content"].values())
    if size > MAX_SAMPLING_CHARS or len(messages) > MAX_MESSAGES:
        raise QuestionRefusedError("its request for sampling is too large")
    head = heading(upstream.name)
    if messages and messages[0]["content"]["type"] == "text":
        messages[0]["content"]["text"] = f"{head}\n\n{messages[0]['content']['text']}"
    else:
        messages.insert(0, {"role": "user", "content": {"type": "text", "text": head}})
    request: dict[str, Any] = {"messages": messages, "maxTokens": params["maxTokens"], "includeContext": "none"}
    if "context" in upstream.allow and "includeContext" in params:
        request["includeContext"] = params["includeContext"]
    if system := params.get("systemPrompt"):
        source = heading(upstream.name, "sets these instructions, which are neither the user's nor this server's")
        request["systemPrompt"] = f"{source}\n{quotation(system, 8_000, 200)}"
    if "temperature" in params:
        request["temperature"] = params["temperature"]
    if stops := params.get("stopSequences"):
        request["stopSequences"] = stops[:MAX_CHOICES]
    if preferences := params.get("modelPreferences"):
        hints = [{"name": label(hint.get("name") or "")} for hint in (preferences.get("hints") or [])[:10]]
        request["modelPreferences"] = {**preferences, "hints": hints} if hints else preferences
    return request


def _sampling_content(block: Mapping[str, Any]) -> dict[str, str]:
    kind = block["type"]
    if kind == "text":
        return {"type": "text", "text": visible_text(block["text"], keep="\n\t")}
    is_valid = kind in ("image", "audio") and block["mimeType"].startswith(f"{kind}/")
    if not is_valid or not _BASE64.fullmatch(block["data"]):
        raise QuestionRefusedError("its request for sampling has content other than text, images and audio")
    return {"type": kind, "data": block["data"], "mimeType": label(block["mimeType"], MAX_NAME_LENGTH)}


def _not_allowed(upstream: Upstream, key: str, purpose: str) -> str:
    return f'it may not {purpose} without `allow = ["{key}"]` in [upstreams.{upstream.name}]'
