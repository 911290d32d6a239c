"""The facts about clients by `clientInfo.name` in lower case, from `clients.toml`.

Written by `nox -s goldens`; do not edit.
"""

from __future__ import annotations

TYPE_CHECKING = False  # see `boot`: importing `typing` takes long
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

CLIENTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "claude-code": {
        "key": "claude-code",
        "answer_size": 50000,
        "prefixes": True,
        "always_load": "anthropic/alwaysLoad",
        "elicitation": ("form", "url"),
        "prompts": True,
        "skills": True,
        "progress": True,
        "tool_timeout_s": 100000,
    },
    "claude-ai": {
        "key": "claude-desktop",
        "prompts": True,
    },
    "codex-mcp-client": {
        "key": "codex",
        "answer_size": 12000,
        "prefixes": True,
        "elicitation": ("form",),
        "prompts": False,
        "skills": True,
        "tool_timeout_s": 300,
    },
    "codex": {
        "key": "codex",
        "answer_size": 12000,
        "prefixes": True,
        "elicitation": ("form",),
        "prompts": False,
        "skills": True,
        "tool_timeout_s": 300,
    },
    "gemini-cli-mcp-client": {
        "key": "gemini-cli",
        "answer_size": 40000,
        "prefixes": True,
        "elicitation": (),
        "prompts": True,
        "skills": True,
        "tool_timeout_s": 600,
    },
    "opencode": {
        "key": "opencode",
        "answer_size": 51200,
        "prefixes": True,
        "elicitation": (),
        "prompts": True,
        "skills": True,
    },
    "visual studio code": {
        "key": "vscode",
        "answer_size": 8000,
        "prefixes": True,
        "elicitation": ("form", "url"),
        "prompts": True,
        "skills": True,
    },
    "visual-studio-code": {
        "key": "vscode",
        "answer_size": 8000,
        "prefixes": True,
        "elicitation": ("form", "url"),
        "prompts": True,
        "skills": True,
    },
    "cursor-vscode": {
        "key": "cursor",
        "prefixes": True,
        "elicitation": ("form",),
        "prompts": True,
        "skills": True,
    },
    "copilot-cli": {
        "key": "copilot-cli",
        "answer_size": 20000,
        "prefixes": True,
        "elicitation": ("form", "url"),
        "prompts": False,
        "skills": True,
    },
    "github-copilot-developer": {
        "key": "copilot-cli",
        "answer_size": 20000,
        "prefixes": True,
        "elicitation": ("form", "url"),
        "prompts": False,
        "skills": True,
    },
    "cline": {
        "key": "cline",
        "answer_size": 8000,
        "prefixes": True,
        "elicitation": (),
        "prompts": False,
        "progress": False,
        "repeats_structure": True,
    },
    "@cline/core": {
        "key": "cline-cli",
        "answer_size": 8000,
        "prefixes": True,
        "elicitation": (),
        "prompts": False,
        "progress": False,
        "repeats_structure": True,
    },
    "continue-cli-client": {
        "key": "continue",
        "answer_size": 36000,
        "elicitation": (),
        "prompts": True,
        "progress": False,
    },
    "continue-client": {
        "key": "continue",
        "answer_size": 36000,
        "elicitation": (),
        "prompts": True,
        "progress": False,
    },
    "qwen-cli-mcp-client-": {
        "key": "qwen-code",
        "answer_size": 25000,
        "prefixes": True,
        "always_load": "alwaysLoadTools",
        "elicitation": (),
        "prompts": True,
        "skills": True,
    },
    "qwen-code-mcp-client": {
        "key": "qwen-code",
        "answer_size": 25000,
        "prefixes": True,
        "always_load": "alwaysLoadTools",
        "elicitation": (),
        "prompts": True,
        "skills": True,
    },
    "toolmason": {
        "key": "toolmason",
        "answer_size": 36000,
        "prefixes": True,
    },
    "toolmason-install": {
        "key": "toolmason",
        "answer_size": 36000,
        "prefixes": True,
    },
    "toolmason-client": {
        "key": "toolmason-client",
        "answer_size": 500000,
        "prefixes": True,
        "elicitation": ("form", "url"),
        "progress": True,
        "calls_unlisted": True,
    },
}
