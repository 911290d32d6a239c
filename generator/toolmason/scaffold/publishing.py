"""The files with which a new project is checked and published, as far as its author wants them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_NAMESPACE: Final = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")
"""A namespace of the MCP Registry: a domain in reverse order."""


class NamespaceError(ValueError):
    """The namespace cannot exist in the MCP Registry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publishing:
    """The files that a new project has besides those of every project."""

    ci: bool = False
    """Workflows of GitHub Actions for changes and releases, with the files that they need."""
    pre_commit: bool = False
    """A hook of pre-commit that compares `generated/` with the manifest."""
    docker: bool = False
    """A Dockerfile, and the list of files that Docker reads."""
    bundle: bool = False
    """A bundle for Claude Desktop (`.mcpb`)."""
    surfaces: tuple[str, ...] = ()
    """Directories below `generated/` that `[outputs]` includes, such as `clients`."""
    namespace: str = ""
    """Namespace in the MCP Registry, such as `io.github.ada`; empty for no `server.json`."""

    def __post_init__(self) -> None:
        """Check the namespace.

        Raises:
            NamespaceError: it is not a domain in reverse order.
        """
        if self.namespace and not _NAMESPACE.fullmatch(self.namespace):
            raise NamespaceError(
                f"`{self.namespace}` is not a namespace of the MCP Registry: write `io.github.USER`, or a domain of "
                "yours in reverse order"
            )

    @property
    def has_distribution(self) -> bool:
        """Whether a file names the distribution that installs the server."""
        return self.docker or self.bundle or bool(self.namespace)

    @property
    def included_files(self) -> tuple[str, ...]:
        """Files and directories below `generated/` that the project has besides those of every server."""
        plugins = {"claude-desktop": self.bundle, "docker": self.docker, "mcp-registry": bool(self.namespace)}
        chosen = (f"plugins/{name}" for name, is_wanted in plugins.items() if is_wanted)
        return tuple(sorted({*chosen, *self.surfaces})) if "plugins" not in self.surfaces else self.surfaces

    @property
    def layout(self) -> Mapping[str, str]:
        """Path in the project -> template below `init/`."""
        files = {
            ".github/allowed_signers": ("allowed_signers.jinja", self.ci),
            ".github/dependabot.yml": ("dependabot.yml.jinja", self.ci),
            ".github/workflows/ci.yml": ("ci.yml.jinja", self.ci),
            ".github/workflows/release.yml": ("release.yml.jinja", self.ci),
            "SECURITY.md": ("SECURITY.md.jinja", self.ci),
            ".pre-commit-config.yaml": ("pre-commit.yaml.jinja", self.pre_commit),
            ".dockerignore": ("dockerignore.jinja", self.docker),
        }
        return {path: template for path, (template, is_wanted) in files.items() if is_wanted}


NOTHING: Final = Publishing()
"""A project that is neither checked by a service nor published."""
