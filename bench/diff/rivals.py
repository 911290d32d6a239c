"""Run by an interpreter that has the other packages: read pairs from stdin, write each package's verdicts to stdout.

Each package is called by the function behind its command, with the list of tools that its client receives.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

Tools = list[dict[str, Any]]


def _worst(severities: list[str], names: dict[str, str]) -> str:
    found = {names.get(severity.lower(), "safe") for severity in severities}
    return next((name for name in ("breaking", "dangerous") if name in found), "safe")


def mcp_diff(old: Tools, new: Tools) -> str:
    """Return the worst severity that `mcp-diff` reports."""
    from mcp_diff.diff import classify_changes

    return _worst(
        [change.severity for change in classify_changes(old, new)], {"breaking": "breaking", "warning": "dangerous"}
    )


def mcp_compat(old: Tools, new: Tools) -> str:
    """Return the worst severity that `mcp-compat` reports."""
    from mcp_compat.compat import compare_schemas

    changes = compare_schemas(old, new).changes
    return _worst([change.severity.value for change in changes], {"breaking": "breaking", "warn": "dangerous"})


def mcp_contract(old: Tools, new: Tools) -> str:
    """Return the worst severity that `mcp-contract` reports."""
    from mcp_contract.compare import compare
    from mcp_contract.model import Behaviour, Contract
    from mcp_contract.probe import surface_from_schema

    keys = {"readOnlyHint": "read_only", "destructiveHint": "destructive", "idempotentHint": "idempotent"}
    keys["openWorldHint"] = "open_world"

    def contract(tools: Tools) -> Any:
        return Contract(
            tools=[
                surface_from_schema(
                    tool["name"],
                    tool["description"],
                    tool["inputSchema"],
                    tool.get("outputSchema"),
                    title=tool.get("title", ""),
                    behaviour=Behaviour(**{keys[hint]: value for hint, value in tool.get("annotations", {}).items()}),
                )
                for tool in tools
            ]
        )

    changes = compare(contract(old), contract(new)).changes
    return _worst([change.severity for change in changes], {"breaking": "breaking", "routing": "dangerous"})


def mcpdrift(old: Tools, new: Tools) -> str:
    """Return the worst severity that `mcpdrift` reports."""
    from mcpdrift.diff import diff, normalize_tools

    changes = diff(normalize_tools(old), normalize_tools(new))
    return _worst([change.severity for change in changes], {"breaking": "breaking"})


def mcp_toolguard(old: Tools, new: Tools) -> str:
    """Return the worst severity that `mcp-toolguard` reports."""
    from mcp_toolguard.diff import diff_contents

    def content(tools: Tools) -> dict[str, Any]:
        entries = [
            {
                "name": tool["name"],
                "title": tool.get("title"),
                "description": tool["description"],
                "input_schema": tool["inputSchema"],
                "output_schema": tool.get("outputSchema"),
                "annotations": tool.get("annotations"),
            }
            for tool in tools
        ]
        same: dict[str, Any] = {
            "snapshot_format": 1,
            "server": {"name": "a", "version": "1", "title": None},
            "protocol_version": "",
            "capabilities": {},
        }
        return {**same, "instructions": None, "tools": entries}

    changes = diff_contents(content(old), content(new))
    return _worst([change.level for change in changes], {"breaking": "breaking", "suspicious": "dangerous"})


RIVALS: dict[str, Callable[[Tools, Tools], str]] = {
    "mcp-diff": mcp_diff,
    "mcp-compat": mcp_compat,
    "mcp-contract": mcp_contract,
    "mujin-mcpdrift": mcpdrift,
    "mcp-toolguard": mcp_toolguard,
}


def main() -> None:
    """Write the verdicts of the packages that are installed, by name and version."""
    pairs = json.load(sys.stdin)
    results = {}
    for name, verdict in RIVALS.items():
        try:
            title = f"{name} {version(name)}"
            results[title] = [verdict(old, new) for old, new in pairs]
        except ImportError as error:
            sys.stderr.write(f"{name} is not measured: {error}\n")
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
