"""Neutralise results with content of others: of programs, HTTP APIs and other MCP servers.

Text is made visible (`visible_text`). An image, a sound, a resource or a link that its reader could not trust becomes a
text that describes it.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Mapping
from typing import Any, Final

from toolmason_runtime.shared.visible_text import visible, visible_value

_MEDIA_TYPE: Final = re.compile(
    r"[a-z]{1,20}/[a-z0-9][a-z0-9!#$&^_.+-]{0,100}(?:; ?[a-z0-9-]{1,30}=[\w.+-]{1,60}){0,3}"
)
_PLAYABLE: Final = re.compile(r"(image|audio)/[a-z0-9][a-z0-9.+-]{0,60}")
_ACTIVE: Final = frozenset({"image/svg+xml", "image/svg", "image/xml"})
"""Images that can contain scripts."""
_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]{0,30}):", re.IGNORECASE)
_PLAIN_SCHEMES: Final = frozenset({"https", "http", "file", "urn"})
_HANDLED_SCHEMES: Final = frozenset(
    {
        *("javascript", "data", "vbscript", "livescript", "mocha", "blob", "about", "view-source", "jar", "filesystem"),
        *("chrome", "chrome-extension", "moz-extension", "resource", "res", "mhtml", "mk", "its", "hcp", "feed"),
        *("shell", "search", "search-ms", "smb", "nfs", "afp", "ftp", "sftp", "ssh", "telnet", "rdp", "vnc", "ldap"),
        *("mailto", "tel", "sms", "facetime", "intent", "market", "itms-services", "steam", "cursor", "windsurf"),
        *("vscode", "vscode-insiders", "jetbrains", "claude", "slack", "zoommtg", "msteams", "powershell", "cmd"),
    }
)
"""Schemes that browsers and systems execute or open with a program."""
_MAX_SHOWN: Final = 200


def neutral_result(result: dict[str, Any]) -> dict[str, Any]:
    """Return a tool result on the wire with its content neutralised."""
    neutral = {**result, "content": [neutral_block(block) for block in result.get("content", ())]}
    for name in ("structuredContent", "_meta"):
        if name in result:
            neutral[name] = visible_value(result[name])
    return neutral


def neutral_block(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return a content block that is safe to show, or a text that describes the block."""
    kind = block.get("type")
    rest = {name: visible_value(value) for name, value in block.items() if name in ("annotations", "_meta")}
    if kind == "text":
        return {"type": "text", "text": visible(str(block.get("text", ""))), **rest}
    if kind in ("image", "audio"):
        problem = _media_problem(str(kind), block)
        wire = {"type": kind, "data": block.get("data"), "mimeType": block.get("mimeType"), **rest}
        return _left_out(str(kind), problem) if problem else wire
    if kind == "resource" and isinstance(contents := block.get("resource"), dict):
        problem = _uri_problem(contents) or _type_problem(contents)
        if "text" not in contents and not is_base64(contents.get("blob")):
            problem = problem or "its content is not base64"
        if problem:
            text = f"\n{contents['text']}" if isinstance(contents.get("text"), str) else ""
            return {"type": "text", "text": f"{_left_out('resource', problem)['text']}{visible(text)}"}
        texts = visible_value({name: value for name, value in contents.items() if name != "blob"})
        blob = {"blob": contents["blob"]} if "blob" in contents else {}
        return {"type": "resource", "resource": {**texts, **blob}, **rest}
    if kind == "resource_link":
        problem = _uri_problem(block) or _type_problem(block)
        # Clients load icons without a question.
        link = visible_value({name: value for name, value in block.items() if name != "icons"})
        return _left_out(f"link `{_short(block.get('name'))}`", problem) if problem else link
    return _left_out("content", f"its type is `{_short(kind)}`")


def is_base64(data: Any) -> bool:
    """Return whether a value is a text in base64 (RFC 4648, section 4)."""
    try:
        binascii.a2b_base64(data.encode("ascii"), strict_mode=True)
    except (AttributeError, ValueError):
        return False
    return True


def is_allowed_uri(uri: Any) -> bool:
    """Return whether a URI may be passed on: http, https, file and urn, and other schemes with `//` as names.

    The names of resources have schemes of their own, such as `notes://today`. Schemes that a browser or the system
    executes or opens with a program are refused, such as `javascript`, `data`, `vbscript` and `ms-settings`.
    """
    match = _SCHEME.match(uri) if isinstance(uri, str) else None
    if match is None or visible(uri) != uri or any(character.isspace() for character in uri):
        return False
    scheme = match[1].lower()
    is_handled = scheme in _HANDLED_SCHEMES or scheme.startswith(("ms-", "x-", "web+", "microsoft", "chrome"))
    return scheme in _PLAIN_SCHEMES or (uri.startswith("//", match.end()) and not is_handled)


def is_playable(mime_type: Any, kind: str) -> bool:
    """Return whether a media type is one of images or sounds (`kind` is `image` or `audio`) without scripts."""
    match = _PLAYABLE.fullmatch(mime_type.lower()) if isinstance(mime_type, str) else None
    return match is not None and match[1] == kind and mime_type.lower() not in _ACTIVE


def _media_problem(kind: str, block: Mapping[str, Any]) -> str:
    if not is_playable(block.get("mimeType"), kind):
        return f"its type is `{_short(block.get('mimeType'))}`"
    return "" if is_base64(block.get("data")) else "its content is not base64"


def _type_problem(block: Mapping[str, Any]) -> str:
    mime_type = block.get("mimeType")
    is_valid = mime_type is None or (isinstance(mime_type, str) and _MEDIA_TYPE.fullmatch(mime_type.lower()))
    return "" if is_valid else f"its type is `{_short(mime_type)}`"


def _uri_problem(block: Mapping[str, Any]) -> str:
    return "" if is_allowed_uri(block.get("uri")) else f"its URI is `{_short(block.get('uri'))}`"


def _left_out(name: str, problem: str) -> dict[str, Any]:
    return {"type": "text", "text": f"[{name} left out: {problem}]"}


def _short(value: Any) -> str:
    text = visible(str(value).replace("\n", " "))
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."
