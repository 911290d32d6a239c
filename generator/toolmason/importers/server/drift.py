"""Compare the tools of upstreams with the manifest: the part of `check` that starts them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.shared.look_alikes import skeleton
from toolmason_runtime.shared.specs.pins import (
    REVIEW_COMMAND,
    TWICE,
    UNKNOWN_PARTS,
    changed_parts,
    fingerprint,
    is_escalation,
    is_pinned,
    pin_of,
)
from toolmason_runtime.shared.specs.upstream import Upstream
from toolmason_runtime.shared.toml.positions import KeyPath
from toolmason_runtime.shared.toml.problems import quoted
from toolmason_runtime.toolkit import home_directory

from toolmason.diagnostics import Diagnostics, Severity
from toolmason.diagnostics.terminal import Progress
from toolmason.importers.design.texts import clean_text
from toolmason.importers.names import cut, one_line
from toolmason.importers.notes import ImporterError
from toolmason.importers.server.address import Address, ask_server
from toolmason.importers.server.approval import Approval
from toolmason.importers.server.hints import accepted_hints, declared_annotations
from toolmason.importers.server.schemas import as_2020_12, without_texts
from toolmason.importers.server.tools import is_task_only
from toolmason.kinds.upstream.implementation import upstream_of
from toolmason.manifest.document import Document
from toolmason.model.tool import Tool
from toolmason.pipeline import LoadedManifest
from toolmason.resolve.raw_schema import read_raw_schema

UNREACHABLE: Final = "TM611"
"""Code of an upstream that does not answer."""
GONE: Final = "TM612"
ARGUMENTS_CHANGED: Final = "TM613"
TEXT_CHANGED: Final = "TM614"
ADDED: Final = "TM615"
CODES: Final = (UNREACHABLE, GONE, ARGUMENTS_CHANGED, TEXT_CHANGED, ADDED)
"""Codes of all findings. All but the first report a difference."""
MAX_SHOWN_LENGTH: Final = 300
"""Maximum characters of a description in a hint."""
TIMEOUT_S: Final = 60.0
"""Seconds for an upstream to start and answer."""


def _description(tool: Mapping[str, Any]) -> str:
    """Return the beginning of the description of a tool as on the wire, on one line of visible characters."""
    return cut(one_line(clean_text(str(tool.get("description") or ""))), MAX_SHOWN_LENGTH)


def _original(tool: Tool) -> str:
    """Return the name of a tool of an upstream in that server."""
    implementation = upstream_of(tool)
    return implementation.tool.original if implementation else tool.name


@dataclass(frozen=True, slots=True)
class DriftCheck:
    """One comparison of a manifest with its upstreams."""

    manifest: LoadedManifest
    root: Path
    diagnostics: Diagnostics
    approve: Collection[str] = ()
    """The names of tools whose changes are approved instead of reported."""
    approved: list[Approval] = field(default_factory=list)
    """The tools of `approve` that have changed, and all others of the manifest that call the same tools."""

    def run(self, progress: Progress) -> None:
        """Start or ask each upstream, and report its differences from the manifest."""
        tools: dict[str, list[Tool]] = {}
        upstreams: dict[str, Upstream] = {}
        for tool in self.manifest.server.tools:
            if found := upstream_of(tool):
                upstream = found.tool.upstream
                upstreams[upstream.name] = upstream
                tools.setdefault(upstream.name, []).append(tool)
        for name, upstream in upstreams.items():
            progress(f"listing the tools of {name}")
            at = ("upstreams", name)
            try:
                described = ask_server(self._address(upstream), timeout_s=TIMEOUT_S)
            except ImporterError as error:
                first, *stderr = error.mistakes
                message = one_line(" ".join([first, *stderr[-1:]]))
                self._report(UNREACHABLE, message, at, hint="correct its address, or start it")
                continue
            current: dict[str, Mapping[str, Any]] = {}
            twice: set[str] = set()
            for found_tool in described.tools:
                known = current.setdefault(found_tool["name"], found_tool)
                if fingerprint(known) != fingerprint(found_tool):
                    twice.add(found_tool["name"])
            for tool in tools[name]:
                if (original := _original(tool)) in twice:
                    self._report_twice(tool, original)
                    continue
                self._compare(tool, current)
            self._report_added(name, current, tools[name])

    def _compare(self, tool: Tool, found: Mapping[str, Mapping[str, Any]]) -> None:
        """Report the differences of one tool."""
        original = _original(tool)
        table = self._document.data["tools"][tool.name]
        current = found.get(original)
        if current is None:
            hint = "calls fail: remove the tool, or set `upstream_tool` to its new name"
            self._report(GONE, f"the upstream no longer has the tool {quoted(original)}", tool.at, hint=hint)
            return
        schema = read_raw_schema(table["input_schema"], self.root)
        pattern = shlex.quote(one_line(original))
        recorded = table.get("upstream_hash", "")
        is_changed = bool(recorded) and not is_pinned(recorded, fingerprint(current))
        parts = changed_parts(recorded, current) if is_changed else ()
        if self._is_approved(tool) and (pin := pin_of(current)) and pin != recorded:
            self.approved.append(Approval(tool, pin, parts, _description(current)))
            parts = ()
        hint = f"`toolmason import server --include {pattern}` prints the new table; copy `input_schema` and "
        hint += "`upstream_hash` from it"
        if change := schema_change(schema, as_2020_12(current["inputSchema"])):
            self._report(
                ARGUMENTS_CHANGED, f"the arguments of {quoted(original)} changed: {change}", tool.at, hint=hint
            )
            parts = tuple(part for part in parts if part != "arguments" and parts != UNKNOWN_PARTS)
        if table.get("hints_source") == "upstream" and table["hints"] != accepted_hints(current):
            self._report_other_hints(tool, current)
            parts = tuple(part for part in parts if not part.startswith("hints") and parts != UNKNOWN_PARTS)
        if parts:
            self._report_changed(tool, current, parts)

    def _is_approved(self, tool: Tool) -> bool:
        """Return whether `approve` names the tool, or another one that calls the same tool of the upstream."""
        target = upstream_of(tool)
        return any(
            found.name in self.approve and _original(found) == _original(tool)
            for found in self.manifest.server.tools
            if target and (other := upstream_of(found)) and other.tool.upstream.name == target.tool.upstream.name
        )

    def _report_changed(self, tool: Tool, current: Mapping[str, Any], parts: Sequence[str]) -> None:
        """Report the parts of a tool that differ from its pin, with its present description."""
        message = f"{quoted(_original(tool))} changed after the import: {', '.join(parts)}"
        review = "review it"
        if "description" in parts or parts == UNKNOWN_PARTS:
            text = _description(current)
            review = f'review its description, "{text}"' if text else "review it; it has no description"
        hint = f"{review}; approve it with `{REVIEW_COMMAND} --approve {tool.name}`"
        at = (*tool.at, "upstream_hash")
        self._report(TEXT_CHANGED, message, at, hint=hint, is_warning=not is_escalation(parts))

    def _report_twice(self, tool: Tool, original: str) -> None:
        message = f"{quoted(original)} is {', '.join(TWICE)}, so nobody can know which one a call reaches"
        hint = "report it to the author of the server; the tool cannot be approved"
        self._report(TEXT_CHANGED, message, tool.at, hint=hint)

    def _report_other_hints(self, tool: Tool, current: Mapping[str, Any]) -> None:
        """Report hints that were accepted with `--trust-hints`, but that the upstream does not declare."""
        declared = declared_annotations(current)
        text = ", ".join(f"{name} = {str(value).lower()}" for name, value in declared.items()) or "none"
        message = f"`hints` of `{tool.name}` are not those that the upstream declares, which are: {text}"
        hint = "review them; remove `hints_source` once they are your own"
        self._report(TEXT_CHANGED, message, (*tool.at, "hints"), hint=hint, is_warning=True)

    def _report_added(self, name: str, found: Mapping[str, Mapping[str, Any]], tools: list[Tool]) -> None:
        unused = self._document.data["upstreams"][name].get("unused_tools", ())
        known = {*unused, *map(_original, tools)}
        for original, tool in found.items():
            if original not in known and not is_task_only(tool):
                hint = "add it to [tools], or to `unused_tools` of the upstream"
                message = f"the upstream has a further tool, {quoted(original)}"
                if alike := next((name for name in known if skeleton(name) == skeleton(original)), ""):
                    message += (
                        f", whose name looks like {quoted(alike)}; in ASCII: {quoted(json.dumps(original)[1:-1])}"
                    )
                self._report(ADDED, message, ("upstreams", name), hint=hint, is_warning=not alike)

    def _address(self, upstream: Upstream) -> Address:
        return Address(
            name=upstream.name,
            command=upstream.command,
            url=upstream.url,
            headers=upstream.headers,
            env=upstream.env,
            pass_env=upstream.pass_env,
            working_dir=upstream.working_dir,
            memory_mb=upstream.memory_mb,
            permissions=upstream.permissions,
            home=home_directory(self.manifest.server.table.name, upstream.name),
        )

    @property
    def _document(self) -> Document:
        return self.manifest.document

    def _report(self, code: str, message: str, at: KeyPath, *, hint: str, is_warning: bool = False) -> None:
        severity = Severity.WARNING if is_warning else Severity.ERROR
        self._document.report(self.diagnostics, code, message, at, hint=hint, severity=severity)


def schema_change(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return the difference of two schemas for callers, in words; empty if the same calls are valid.

    Descriptions do not count.
    """
    before, after = without_texts(old), without_texts(new)
    if before == after:
        return ""
    old_arguments, new_arguments = before.get("properties", {}), after.get("properties", {})
    old_required, new_required = ({*schema.get("required", ())} for schema in (before, after))
    changes = [f"{quoted(name)} is new" for name in new_arguments if name not in old_arguments]
    changes += [f"{quoted(name)} is gone" for name in old_arguments if name not in new_arguments]
    for name in (name for name in new_arguments if name in old_arguments):
        if old_arguments[name] != new_arguments[name]:
            changes.append(f"{quoted(name)} accepts other values")
        if (name in new_required) != (name in old_required):
            changes.append(f"{quoted(name)} is now {'required' if name in new_required else 'optional'}")
    return "; ".join(changes) or "another rule of the schema differs"
