"""What the owner of a server says of the programs it runs. Costs nothing at a start without a policy file."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolmason_runtime.protocol.catalogue import Catalogue

if TYPE_CHECKING:
    from toolmason_runtime.programs.execute import Executor
    from toolmason_runtime.programs.policy import Policy

POLICY: Final = "TOOLMASON_POLICY"
"""Environment variable with the policy file, where no flag names one."""


class Commands:
    """How a server runs programs: it stands in the state of every call.

    `policy` is what its owner allows (None: everything, after asking for all that is not only read), and
    `headless_approve` lets run what nobody can be asked about.
    """

    def __init__(
        self, policy: Policy | None = None, *, headless_approve: bool = False, unconfined: tuple[str, ...] = ()
    ) -> None:
        self._policy = policy
        self.unconfined = unconfined
        """Names of the programs that declare no access, so that no sandbox holds them."""
        self._headless_approve = headless_approve

    @cached_property
    def policy(self) -> Policy:
        """What may be run, and what is asked before."""
        from toolmason_runtime.programs.policy import Policy

        return self._policy or Policy()

    @cached_property
    def approves_headless(self) -> bool:
        """Whether a call that needs approval runs where nobody can be asked."""
        return self._headless_approve or self.policy.headless == "approve"

    @cached_property
    def executor(self) -> Executor:
        """What starts a command line: this machine, or a container for each."""
        if self.policy.docker is None:
            from toolmason_runtime.programs.execute import local

            return local
        from toolmason_runtime.programs.docker import in_container

        return in_container(self.policy.docker)

    def allowed(self, catalogue: Catalogue) -> Catalogue:
        """Give `catalogue` without the tools that the policy switches off: they are as if they were not there."""
        if self._policy is None:
            return catalogue
        policy = self._policy
        tools = {
            name: entry
            for name, entry in catalogue["tools"].items()
            if "cli" not in entry or policy.is_enabled(entry["tool"]["name"])
        }
        return {**catalogue, "tools": tools}


def commands_for(catalogue: Catalogue, policy: str = "", *, headless_approve: bool = False) -> Commands | None:
    """Give the settings of a server; None if it runs no programs.

    `policy` is the file with its policy; left out, the environment names it, or there is none.

    Raises:
        ValueError: the policy cannot be used; the text tells each mistake with file and line.
    """
    if not catalogue.get("clis"):
        return None
    path = policy or os.environ.get(POLICY, "")
    unconfined = tuple(name for name, entry in catalogue["clis"].items() if not entry.get("confined"))
    policy_read = _loaded(path, catalogue) if path else None
    return Commands(policy_read, headless_approve=headless_approve, unconfined=unconfined)


def _loaded(path: str, catalogue: Catalogue) -> Policy:
    from toolmason_runtime.programs.handler import command_tools
    from toolmason_runtime.programs.policy_file import PolicyError, load_policy

    try:
        return load_policy(Path(path).expanduser(), command_tools(catalogue))
    except PolicyError as error:
        raise ValueError(str(error)) from error
