"""The options of `toolmason import openapi` that shape the manifest."""

from __future__ import annotations

from dataclasses import dataclass

from toolmason.importers.design.budget import DEFAULT


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of an import. The record beside the manifest has them."""

    name: str = ""
    base_url: str = ""
    endpoint: str = ""
    """Path of the endpoint of a GraphQL API."""
    server_variables: tuple[str, ...] = ()
    """Values of the variables in URLs of servers, as `NAME=VALUE`."""
    security: tuple[str, ...] = ()
    """Security schemes that are preferred where several credentials are accepted."""
    tags: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    read_only: bool = False
    pages: int = 0
    """Pages that a tool reads of a list; 0 for one, without `paginate`."""
    max_tokens: int = DEFAULT
    """Maximum tokens of the parameters of a tool; 0 for no limit."""

    @property
    def is_filtered(self) -> bool:
        """Whether they select some operations."""
        return bool(self.tags or self.operations or self.include or self.exclude or self.read_only)
