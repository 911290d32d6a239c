"""The handler of `validate_paths`, which imports no backend: it asks no model."""

from __future__ import annotations

from toolmason_runtime import ToolCall

from workbench_research import paths
from workbench_research.error_codes import with_specified_codes
from workbench_server.research.models import ValidatePathsParams, ValidatePathsResult


@with_specified_codes
async def validate_paths(params: ValidatePathsParams, call: ToolCall) -> ValidatePathsResult:
    """Return where each path leads, whether it exists and whether it may be read."""
    return ValidatePathsResult.model_validate(await paths.validate_paths(params, call))
