"""The names of profiles and places to publish, for the help of commands: this module imports no other one."""

from __future__ import annotations

from typing import Final

PROFILES: Final = (
    *("mcp-registry", "claude-directory", "openai-apps", "gemini-extension", "docker-catalog", "smithery", "npm"),
)
"""Registries and directories with written rules."""
PLACES: Final = (
    *("mcp-registry", "claude-directory", "claude-code", "openai-apps", "gemini-extension", "docker-catalog", "npm"),
    "smithery",
)
"""Places to publish."""
PACKAGES: Final = ("pypi", "npm", "oci", "mcpb")
"""Kinds of packages that an entry of the MCP Registry can list."""
