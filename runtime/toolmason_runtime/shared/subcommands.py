"""The subcommands of every generated server that belong to its tools. A start needs their names, not their code."""

from __future__ import annotations

from typing import Final

TOOLS: Final = "tools"
COMPLETION: Final = "completion"
PROGRAMS: Final = "programs"
SUBCOMMANDS: Final = (
    (TOOLS, "List the tools as commands, or run one: `tools CATEGORY COMMAND`; `tools` is optional in most cases"),
    (COMPLETION, "Print the script that completes commands in bash, zsh or fish"),
    (PROGRAMS, "List, approve and refuse programs of the discovery style `code` that wait for an approval"),
)
"""Their names and summaries."""
