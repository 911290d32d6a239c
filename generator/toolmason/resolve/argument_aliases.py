"""The other names of the parameters of a tool."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from toolmason_runtime.shared.toml.positions import KeyPath

from toolmason.resolve.context import ResolveContext


def argument_aliases(
    context: ResolveContext, aliases: Mapping[str, tuple[KeyPath, tuple[str, ...]]], names: Collection[str], tool: str
) -> dict[str, str]:
    """Return each alias with the name of its parameter; report one that is also a name, or an alias of another one.

    Args:
        context: receives the diagnostics.
        aliases: by the name of the parameter, the place and the value of its key `aliases`.
        names: the names of all parameters, also of those that callers do not see.
        tool: name of the tool.
    """
    result: dict[str, str] = {}
    for name, (at, others) in aliases.items():
        for index, alias in enumerate(others):
            owner = alias if alias in names else result.get(alias, "")
            if owner:
                message = f"alias `{alias}` of parameter `{name}` is also a name of parameter `{owner}` of `{tool}`"
                context.error("TM306", message, (*at, index), hint="remove it, or choose another name")
            else:
                result[alias] = name
    return result
