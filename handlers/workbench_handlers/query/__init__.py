"""Handlers of the `query` tools: jq on JSON, YAML and TOML files."""

from __future__ import annotations

import asyncio

from toolmason_runtime import ToolCall

from workbench_handlers.first_call import first_call
from workbench_handlers.query import run
from workbench_handlers.state import roots_for
from workbench_handlers.workspace.open import existing
from workbench_server.query.models import QueryJsonParams, QueryTomlParams, QueryYamlParams


@first_call(starts_programs=True)
async def query_json(params: QueryJsonParams, call: ToolCall) -> str:
    """Run a jq expression on a JSON file."""
    located = await asyncio.to_thread(existing, params.file_path, await roots_for(call))
    return await run.query(located, params.jq_expression, "json", params.timeout)


@first_call(starts_programs=True)
async def query_yaml(params: QueryYamlParams, call: ToolCall) -> str:
    """Run a jq expression on a YAML file."""
    located = await asyncio.to_thread(existing, params.file_path, await roots_for(call))
    return await run.query(located, params.yq_expression, "yaml", params.timeout)


@first_call(starts_programs=True)
async def query_toml(params: QueryTomlParams, call: ToolCall) -> str:
    """Run a jq expression on a TOML file."""
    located = await asyncio.to_thread(existing, params.file_path, await roots_for(call))
    return await run.query(located, params.jq_expression, "toml", params.timeout)
