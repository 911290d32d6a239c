"""The base of every generated Pydantic model."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Parameters or results of a tool.

    Lax, since models send `"42"` for 42; unknown arguments are dropped here and named in a note by the
    dispatcher. Python's own regular expressions, since Rust's know no lookaround.
    """

    model_config = ConfigDict(
        allow_inf_nan=False,
        populate_by_name=True,
        protected_namespaces=(),
        regex_engine="python-re",
    )
