"""Estimated tokens of original and transformed schemas."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from toolmason_runtime.shared.tokens import estimate_tokens

from toolmason.audit.audit import AuditedTool


def schema_tokens(tool: AuditedTool) -> dict[str, int]:
    """Return the estimated tokens of the original and the transformed schema."""
    return {"original": _tokens(tool.tool.source_schema), "transformed": _tokens(tool.projection.schema)}


def token_line(tools: Sequence[AuditedTool]) -> str:
    """Return the sums for all tools: "Schemas: about 1,200 tokens as declared, 900 transformed."."""
    costs = [schema_tokens(tool) for tool in tools]
    original, transformed = (sum(cost[key] for cost in costs) for key in ("original", "transformed"))
    return f"Schemas: about {original:,} tokens as declared, {transformed:,} transformed."


def _tokens(schema: Any) -> int:
    return 0 if schema is None else estimate_tokens(json.dumps(schema, ensure_ascii=False, separators=(",", ":")))
