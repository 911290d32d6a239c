"""Convert CLImax's policy files to policies of the runtime."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.shared.toml.problems import quoted
from toolmason_runtime.toolkit import Approval, DefaultAccess, ExecutorName, HeadlessMode, Pattern, PatternError

from toolmason.importers.command_line.climax import Imported, texts
from toolmason.importers.command_line.climax.mapping_reader import Fields
from toolmason.importers.command_line.climax.yaml_nodes import read_yaml
from toolmason.importers.notes import ImporterError, Notes

_KEYS: Final = ("executor", "default", "tools", "approval")
_EXECUTOR_KEYS: Final = ("type", "image", "volumes", "working_dir", "network")
_DEFAULT_NETWORK: Final = "bridge"
"""Default network of docker, which CLImax uses."""


def import_policy(path: Path, imported: Imported, notes: Notes) -> dict[str, Any]:
    """Return the policy for the imported tools.

    Raises:
        ImporterError: it cannot be read, or an invalid rule would allow more than the file does.
    """
    root = read_yaml(path, notes)
    if not isinstance(root.value, dict):
        raise ImporterError(f"{path.as_posix()}:{root.position.line}:{root.position.column}: expected a mapping")
    fields = Fields(node=root, path=path.as_posix(), notes=notes, about="policy", is_strict=True)
    fields.report_unknown(_KEYS)
    default = fields.choice("default", list(DefaultAccess)) or DefaultAccess.DISABLED.value
    policy: dict[str, Any] = {"default": default}
    approval = fields.inner("approval", "policy.approval")
    approved: Mapping[str, bool] = {}
    if approval is not None:
        approval.report_unknown(("global", "headless", "tools"))
        policy["approval"] = approval.choice("global", list(Approval)) or Approval.WRITE.value
        policy["headless"] = approval.choice("headless", list(HeadlessMode)) or HeadlessMode.DENY.value
        approved = _required_approvals(approval)
    policy |= _executor(fields)
    if tools := _tools(fields, default, approved, imported):
        policy["tools"] = tools
    return policy


def replace_descriptions(path: Path, imported: Imported, notes: Notes) -> None:
    """Replace the texts of the tools in `imported` by the descriptions of a policy, as CLImax does.

    Raises:
        ImporterError: the policy cannot be read.
    """
    # `import_policy` notes the problems of the file.
    root = read_yaml(path, Notes())
    if not isinstance(root.value, dict):
        return
    rules = Fields(node=root, path=path.as_posix(), notes=Notes(), about="policy").inner("tools", "policy.tools")
    for original, node in rules.node.value.items() if rules else ():
        name = imported.tool(original)
        if not name or not isinstance(node.value, dict):
            continue
        fields = Fields(node=node, path=path.as_posix(), notes=notes, about=f"policy.tools.{original}")
        if fields.has("description") and (description := fields.text("description").strip()):
            table = imported.data["tools"][name]
            others = {key: value for key, value in table.items() if key not in {"summary", "description"}}
            table.clear()
            table.update({**texts(fields, description, original), **others})


def _required_approvals(approval: Fields) -> dict[str, bool]:
    inner = approval.inner("tools", "policy.approval.tools")
    if inner is None:
        return {}
    return {name: _requires_approval(inner, name) for name in inner.node.value}


def _executor(fields: Fields) -> dict[str, Any]:
    executor = fields.inner("executor", "policy.executor")
    if executor is None:
        return {}
    executor.report_unknown(_EXECUTOR_KEYS)
    if executor.choice("type", list(ExecutorName)) != ExecutorName.DOCKER:
        return {}
    image = executor.text("image")
    if not image:
        position = executor.node.position
        raise ImporterError(f"{fields.path}:{position.line}:{position.column}: an executor `docker` needs an `image`")
    docker: dict[str, Any] = {"image": image, "network": executor.text("network") or _DEFAULT_NETWORK}
    if not executor.has("network"):
        executor.note(f"no `network`: docker uses `{_DEFAULT_NETWORK}`; `none` is safer")
    if directory := executor.text("working_dir"):
        docker["working_dir"] = directory
    if volumes := executor.texts("volumes"):
        docker["volumes"] = [volume for volume in volumes if _is_volume(executor, volume)]
    return {"executor": ExecutorName.DOCKER.value, "docker": docker}


def _is_volume(executor: Fields, volume: str) -> bool:
    if "$" in volume or volume.startswith("~") or ":" not in volume:
        executor.note(f"the volume {quoted(volume)} is left out: use `/host:/container` without variables", "volumes")
        return False
    return True


def _tools(fields: Fields, default: str, approved: Mapping[str, bool], imported: Imported) -> dict[str, Any]:
    tools: dict[str, Any] = {}
    rules = fields.inner("tools", "policy.tools")
    for original, node in rules.node.value.items() if rules else ():
        about = f"policy.tools.{original}"
        if not imported.tool(original):
            fields.called(about).note("unknown tool, left out", "tools")
            continue
        inner = replace(fields, node=node, about=about)
        if node.value is not None and not isinstance(node.value, dict):
            raise (rules or fields).error(original, f"`{original}` must be a mapping")
        tools[imported.tools[original]] = _tool(inner, original, imported) if node.value else {}
    for original, is_required in approved.items():
        name = imported.tool(original)
        if not name or (name not in tools and default == DefaultAccess.DISABLED):
            about = f"policy.approval.tools.{original}"
            fields.called(about).note("unknown or disabled tool, left out", "approval")
        else:
            tools.setdefault(name, {}).setdefault("require_approval", is_required)
    return tools


def _tool(fields: Fields, original: str, imported: Imported) -> dict[str, Any]:
    fields.report_unknown(("description", "args", "require_approval"))
    rule: dict[str, Any] = {}
    if fields.has("require_approval"):
        rule["require_approval"] = _requires_approval(fields, "require_approval")
    arguments = fields.inner("args", f"{fields.about}.args")
    rules = {}
    for argument in arguments.node.value if arguments else ():
        about = f"{fields.about}.args.{argument}"
        name = imported.argument(original, argument)
        inner = arguments.inner(argument, about) if arguments else None
        if not name:
            fields.called(about).note("unknown argument, left out", "args")
        elif inner and (limits := _limits(inner)):
            rules[name] = limits
    return rule | ({"args": rules} if rules else {})


def _requires_approval(fields: Fields, key: str) -> bool:
    if fields.has(key):
        return fields.flag(key)
    raise fields.error(key, f"`{key}` must be true or false")


def _limits(fields: Fields) -> dict[str, Any]:
    fields.report_unknown(("pattern", "min", "max"))
    limits: dict[str, Any] = {}
    if fields.has("pattern"):
        pattern = fields.get("pattern").value
        if not isinstance(pattern, str):
            raise fields.error("pattern", "`pattern` must be a text")
        if reason := _incompatibility(pattern):
            raise fields.error("pattern", f"the pattern {quoted(pattern)} cannot be imported: {reason}")
        if pattern:  # CLImax ignores an empty pattern.
            limits["pattern"] = pattern
    for key in ("min", "max"):
        if fields.has(key):
            limits[key] = fields.number(key)
    return limits


_PARTS: Final = re.compile(r"\[\^?+\]?+(?:\\.?|[^\]\\])*+(?:\]|\Z)|(?P<unlike>\\[<>]|[*+?}]\+)|\\.", re.DOTALL)
"""Character classes, escapes, and syntax with another meaning in Rust's `regex`: `\\<`, `\\>`, `a*+`, `a{2}+`."""


def _incompatibility(pattern: str) -> str:
    """Return why a pattern of Python's `re` is invalid or different in the runtime; empty if it is equivalent."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)  # of `[[`, `&&`, `--` and `~~` in a class
            re.compile(pattern)
        Pattern(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return f"it is not a regular expression: {error}"
    except FutureWarning:
        return "a character class contains a set operation: escape `[`, `&`, `-` and `~` in it with `\\`"
    except PatternError as error:
        return str(error)
    unlike = next((part["unlike"] for part in _PARTS.finditer(pattern) if part["unlike"]), "")
    return f"{quoted(unlike)} has another meaning in the runtime" if unlike else ""
