"""Runtime library of generated MCP servers: the names that handlers use.

Importing this package loads none of its modules: each name is imported when it is first used. Generated code also
imports `toolmason_runtime.serving` and `toolmason_runtime.boot`, handlers that run programs import
`toolmason_runtime.programs`, and tests of a server import `toolmason_runtime.testing`. Everything else is private.
"""

from __future__ import annotations

TYPE_CHECKING = False  # see `boot`: importing `typing` takes long

if TYPE_CHECKING:
    from toolmason_runtime.calls.call import ServerInfo as ServerInfo
    from toolmason_runtime.calls.call import ToolCall as ToolCall
    from toolmason_runtime.calls.completion import Completion as Completion
    from toolmason_runtime.calls.functions import ImportedFunction as ImportedFunction
    from toolmason_runtime.calls.page import show_page as show_page
    from toolmason_runtime.calls.principal import Principal as Principal
    from toolmason_runtime.calls.text_store import KeptText as KeptText
    from toolmason_runtime.chunks.cutting import truncated as truncated
    from toolmason_runtime.chunks.store import ChunkStore as ChunkStore
    from toolmason_runtime.server.logging import FIELDS as FIELDS
    from toolmason_runtime.server.logging import LogLines as LogLines
    from toolmason_runtime.server.package_files import server_files as server_files
    from toolmason_runtime.shared.answer_size import BLOCK_OVERHEAD as BLOCK_OVERHEAD
    from toolmason_runtime.shared.answer_size import fitting_length as fitting_length
    from toolmason_runtime.shared.answer_size import size_of as size_of
    from toolmason_runtime.shared.answer_size import text_budget as text_budget
    from toolmason_runtime.shared.errors import MethodError as MethodError
    from toolmason_runtime.shared.errors import ToolError as ToolError
    from toolmason_runtime.shared.placeholders import Placeholders as Placeholders
    from toolmason_runtime.shared.placeholders import placeholders_of as placeholders_of
    from toolmason_runtime.shared.prefixes import Prefix as Prefix
    from toolmason_runtime.shared.prefixes import parse_prefix as parse_prefix
    from toolmason_runtime.shared.prefixes import prefix_from_environment as prefix_from_environment
    from toolmason_runtime.shared.search.stemmer import english_stem as english_stem
    from toolmason_runtime.shared.styles import STYLES as STYLES
    from toolmason_runtime.shared.suggestions import MAX_CHARS as MAX_CHARS
    from toolmason_runtime.shared.suggestions import closest_matches as closest_matches
    from toolmason_runtime.shared.suggestions import did_you_mean as did_you_mean
    from toolmason_runtime.shared.tokens import estimate_tokens as estimate_tokens
    from toolmason_runtime.upstreams.report import upstream_warnings as upstream_warnings
    from toolmason_runtime.wire.content import Audio as Audio
    from toolmason_runtime.wire.content import Content as Content
    from toolmason_runtime.wire.content import Image as Image
    from toolmason_runtime.wire.content import Message as Message
    from toolmason_runtime.wire.content import PromptContent as PromptContent
    from toolmason_runtime.wire.content import Reply as Reply
    from toolmason_runtime.wire.content import Resource as Resource
    from toolmason_runtime.wire.content import ResourceContent as ResourceContent
    from toolmason_runtime.wire.content import ResourceLink as ResourceLink
    from toolmason_runtime.wire.content import Text as Text

EXPORTS = {
    "toolmason_runtime.chunks.cutting": ("truncated",),
    "toolmason_runtime.chunks.store": ("ChunkStore",),
    "toolmason_runtime.shared.placeholders": ("Placeholders", "placeholders_of"),
    "toolmason_runtime.shared.search.stemmer": ("english_stem",),
    "toolmason_runtime.shared.styles": ("STYLES",),
    "toolmason_runtime.shared.prefixes": ("Prefix", "parse_prefix", "prefix_from_environment"),
    "toolmason_runtime.shared.answer_size": ("BLOCK_OVERHEAD", "fitting_length", "size_of", "text_budget"),
    "toolmason_runtime.calls.call": ("ServerInfo", "ToolCall"),
    "toolmason_runtime.calls.completion": ("Completion",),
    "toolmason_runtime.calls.page": ("show_page",),
    "toolmason_runtime.wire.content": (
        *("Audio", "Content", "Image", "Message", "PromptContent", "Reply", "Resource", "ResourceContent"),
        *("ResourceLink", "Text"),
    ),
    "toolmason_runtime.shared.errors": ("MethodError", "ToolError"),
    "toolmason_runtime.calls.functions": ("ImportedFunction",),
    "toolmason_runtime.calls.principal": ("Principal",),
    "toolmason_runtime.calls.text_store": ("KeptText",),
    "toolmason_runtime.shared.tokens": ("estimate_tokens",),
    "toolmason_runtime.server.logging": ("FIELDS", "LogLines"),
    "toolmason_runtime.server.package_files": ("server_files",),
    "toolmason_runtime.shared.suggestions": ("MAX_CHARS", "closest_matches", "did_you_mean"),
    "toolmason_runtime.upstreams.report": ("upstream_warnings",),
}


def __getattr__(name: str) -> object:
    from toolmason_runtime._lazy import lazy_exports

    return lazy_exports(__name__, EXPORTS)(name)
