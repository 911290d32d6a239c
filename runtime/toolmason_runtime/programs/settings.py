"""Settings of a server for the programs it runs. Without a policy file, loading them imports no other module."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolmason_runtime.protocol.catalogue import Catalogue, has_programs, is_handler

if TYPE_CHECKING:
    from toolmason_runtime.programs.execute import Executor
    from toolmason_runtime.programs.policy import Policy
    from toolmason_runtime.programs.spec import CommandTool

POLICY: Final = "TOOLMASON_POLICY"
"""Environment variable with the policy file, used without `--policy`."""


class ProgramSettings:
    """How a server runs programs; in the state of every call.

    Without a `policy`, every tool is enabled and those that write need approval. With `headless_approve`, they also run
    if the client cannot prompt the user.
    """

    def __init__(
        self, policy: Policy | None = None, *, headless_approve: bool = False, unconfined: tuple[str, ...] = ()
    ) -> None:
        self._policy = policy
        self.unconfined = unconfined
        """Names of the programs that declare no access and run without a sandbox."""
        self._headless_approve = headless_approve

    @cached_property
    def policy(self) -> Policy:
        """The policy of the server."""
        from toolmason_runtime.programs.policy import Policy

        return self._policy or Policy()

    @cached_property
    def approves_headless(self) -> bool:
        """Whether a call that needs approval runs if the client cannot prompt the user."""
        return self._headless_approve or self.policy.headless == "approve"

    @cached_property
    def executor(self) -> Executor:
        """Runs command lines on this machine, or each in a container."""
        if self.policy.docker is None:
            from toolmason_runtime.programs.execute import local

            return local
        from toolmason_runtime.programs.docker import in_container

        return in_container(self.policy.docker)

    def allowed(self, catalogue: Catalogue) -> Catalogue:
        """Return `catalogue` without the tools that the policy disables."""
        if self._policy is None:
            return catalogue
        policy = self._policy
        tools = {
            name: entry
            for name, entry in catalogue["tools"].items()
            if policy.is_enabled(entry["tool"]["name"], is_program=not is_handler(entry))
        }
        return {**catalogue, "tools": tools}


def load_program_settings(
    catalogue: Catalogue, policy: str = "", *, headless_approve: bool = False
) -> ProgramSettings | None:
    """Return the settings of a server; None if it uses neither programs nor APIs nor upstreams.

    `policy` is the path of the policy file; by default `TOOLMASON_POLICY` specifies it.

    Raises:
        ValueError: the policy is invalid; the message lists every error with file and line.
    """
    if not has_programs(catalogue):
        return None
    path = policy or os.environ.get(POLICY, "")
    unconfined = tuple(name for name, entry in catalogue.get("clis", {}).items() if not entry.get("confined"))
    loaded = _load(path, catalogue) if path else None
    return ProgramSettings(loaded, headless_approve=headless_approve, unconfined=unconfined)


def _load(path: str, catalogue: Catalogue) -> Policy:
    from toolmason_runtime.programs.policy_file import PolicyError, load_policy

    try:
        entries = [entry for entry in catalogue["tools"].values() if "cli" not in entry]
        handlers = {
            entry["tool"]["name"]: entry["tool"]["annotations"]["readOnlyHint"] and is_handler(entry)
            for entry in entries
        }
        return load_policy(Path(path).expanduser(), command_tools(catalogue), handlers=handlers)
    except PolicyError as error:
        raise ValueError(str(error)) from error


def command_tools(catalogue: Catalogue) -> Iterator[CommandTool]:
    """Yield every command tool of a generated server. Imports the bindings of their categories."""
    for name, entry in catalogue["tools"].items():
        if "cli" in entry:
            module = catalogue["categories"][entry["category"]]["module"]
            bindings = importlib.import_module(f"{catalogue['server']['package']}.{module}.bindings").BINDINGS
            yield bindings[name].run.tool  # see `handler.CommandRun`
