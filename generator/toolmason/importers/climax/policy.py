"""CLImax's policy files, turned into a policy as the runtime reads it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.programs.linear_regex import Pattern, PatternError
from toolmason_runtime.programs.policy import Approval, ExecutorName, Headless, Listing
from toolmason_runtime.toml.problems import quoted

from toolmason.importers.climax import Imported
from toolmason.importers.climax.mapping_reader import Fields
from toolmason.importers.climax.yaml_nodes import read_yaml
from toolmason.importers.notes import ImportFailed, Notes

_KEYS: Final = ("executor", "default", "tools", "approval")
_EXECUTOR_KEYS: Final = ("type", "image", "volumes", "working_dir", "network")
_USUAL_NETWORK: Final = "bridge"
"""What docker uses where nothing is said, as CLImax does."""


def import_policy(path: Path, imported: Imported, notes: Notes) -> dict[str, Any]:
    """Read a policy for the tools that were imported.

    Raises:
        ImportFailed: it cannot be read, or what it asks for cannot be kept to, so that more would be allowed.
    """
    root = read_yaml(path, notes)
    if not isinstance(root.value, dict):
        raise ImportFailed(f"{path.as_posix()}:{root.place.line}:{root.place.column}: this is no mapping")
    fields = Fields(node=root, path=path.as_posix(), notes=notes, about="policy", is_strict=True)
    fields.known(_KEYS)
    default = fields.choice("default", list(Listing)) or Listing.DISABLED.value
    policy: dict[str, Any] = {"default": default}
    approval = fields.inner("approval", "policy.approval")
    approved: Mapping[str, bool] = {}
    if approval is not None:
        approval.known(("global", "headless", "tools"))
        policy["approval"] = approval.choice("global", list(Approval)) or Approval.WRITE.value
        policy["headless"] = approval.choice("headless", list(Headless)) or Headless.DENY.value
        approved = _approved(approval)
    policy |= _executor(fields)
    if tools := _tools(fields, default, approved, imported):
        policy["tools"] = tools
    return policy


def _approved(approval: Fields) -> dict[str, bool]:
    inner = approval.inner("tools", "policy.approval.tools")
    if inner is None:
        return {}
    return {name: _asked(inner, name) for name in inner.node.value}


def _executor(fields: Fields) -> dict[str, Any]:
    executor = fields.inner("executor", "policy.executor")
    if executor is None:
        return {}
    executor.known(_EXECUTOR_KEYS)
    if executor.choice("type", list(ExecutorName)) != ExecutorName.DOCKER:
        return {}
    image = executor.text("image")
    if not image:
        place = executor.node.place
        raise ImportFailed(f"{fields.path}:{place.line}:{place.column}: an executor `docker` needs an `image`")
    docker: dict[str, Any] = {"image": image, "network": executor.text("network") or _USUAL_NETWORK}
    if not executor.has("network"):
        executor.note(f"no network was named, which is docker's `{_USUAL_NETWORK}`: `none` would be safer")
    if folder := executor.text("working_dir"):
        docker["working_dir"] = folder
    if volumes := executor.texts("volumes"):
        docker["volumes"] = [each for each in volumes if _is_volume(executor, each)]
    return {"executor": ExecutorName.DOCKER.value, "docker": docker}


def _is_volume(executor: Fields, volume: str) -> bool:
    if "$" in volume or volume.startswith("~") or ":" not in volume:
        executor.note(
            f"the volume {quoted(volume)} is left out: it would be `/here:/there`, without variables", "volumes"
        )
        return False
    return True


def _tools(fields: Fields, default: str, approved: Mapping[str, bool], imported: Imported) -> dict[str, Any]:
    found: dict[str, Any] = {}
    listed = fields.inner("tools", "policy.tools")
    for original, node in listed.node.value.items() if listed else ():
        about = f"policy.tools.{original}"
        if not imported.tool(original):
            fields.called(about).note("there is no such tool, left out", "tools")
            continue
        inner = replace(fields, node=node, about=about)
        if node.value is not None and not isinstance(node.value, dict):
            raise (listed or fields).refused(original, f"`{original}` must be a mapping")
        found[imported.tools[original]] = _tool(inner, original, imported) if node.value else {}
    for original, is_asked in approved.items():
        name = imported.tool(original)
        if not name or (name not in found and default == Listing.DISABLED):
            about = f"policy.approval.tools.{original}"
            fields.called(about).note("there is no such tool, or it is not enabled: left out", "approval")
        else:
            found.setdefault(name, {}).setdefault("require_approval", is_asked)
    return found


def _tool(fields: Fields, original: str, imported: Imported) -> dict[str, Any]:
    fields.known(("description", "args", "require_approval"))
    if fields.has("description"):
        fields.note("a policy describes no tools: write its `description` in the manifest", "description")
    rule: dict[str, Any] = {}
    if fields.has("require_approval"):
        rule["require_approval"] = _asked(fields, "require_approval")
    arguments = fields.inner("args", f"{fields.about}.args")
    rules = {}
    for argument in arguments.node.value if arguments else ():
        about = f"{fields.about}.args.{argument}"
        name = imported.argument(original, argument)
        inner = arguments.inner(argument, about) if arguments else None
        if not name:
            fields.called(about).note("there is no such argument, left out", "args")
        elif inner and (limits := _limits(inner)):
            rules[name] = limits
    return rule | ({"args": rules} if rules else {})


def _asked(fields: Fields, key: str) -> bool:
    if fields.has(key):
        return fields.flag(key)
    raise fields.refused(key, f"`{key}` must be true or false")


def _limits(fields: Fields) -> dict[str, Any]:
    fields.known(("pattern", "min", "max"))
    found: dict[str, Any] = {}
    if fields.has("pattern"):
        pattern = fields.get("pattern").value
        if not isinstance(pattern, str):
            raise fields.refused("pattern", "`pattern` must be a text")
        if reason := _unlike(pattern):
            raise fields.refused("pattern", f"the pattern {quoted(pattern)} does not carry over: {reason}")
        if pattern:  # CLImax asks nothing by an empty one
            found["pattern"] = pattern
    for key in ("min", "max"):
        if fields.has(key):
            found[key] = fields.number(key)
    return found


_PARTS: Final = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<unlike>\\[<>]|[*+?}]\+)|\\.", re.DOTALL)
"""Character classes, escapes, and what is sound for Python's `re` and for Rust's `regex`, but not the same."""


def _unlike(pattern: str) -> str:
    """Say why a pattern for Python's `re` is not, or not the same, as one of the runtime; empty if it is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)  # of `[[`, `&&`, `--` and `~~` in a class
            re.compile(pattern)
        Pattern(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return f"it is no regular expression: {error}"
    except FutureWarning:
        return "a class would be read as one made of others: put `\\` before `[`, `&`, `-` and `~` in it"
    except PatternError as error:
        return str(error)
    unlike = next((part["unlike"] for part in _PARTS.finditer(pattern) if part["unlike"]), "")
    return f"{quoted(unlike)} would be read otherwise" if unlike else ""
