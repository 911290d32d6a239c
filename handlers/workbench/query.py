"""The `query` tools: jq over JSON and YAML files."""

from __future__ import annotations

import asyncio

from toolwright_runtime import ToolCall

from workbench import querying
from workbench.opening import existing
from workbench.state import roots_for
from workbench_server.query.models import QueryJsonParams, QueryYamlParams


async def query_json(params: QueryJsonParams, call: ToolCall) -> str:
    """Run a jq expression over a JSON file."""
    located = await asyncio.to_thread(existing, params.file_path, await roots_for(call))
    return await querying.query(located, params.jq_expression, "json", params.timeout)


async def query_yaml(params: QueryYamlParams, call: ToolCall) -> str:
    """Run a jq expression over a YAML file."""
    located = await asyncio.to_thread(existing, params.file_path, await roots_for(call))
    return await querying.query(located, params.yq_expression, "yaml", params.timeout)
