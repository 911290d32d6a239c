"""`generate_feature_workflow`: a workflow for one feature, written by the model or from a packaged text."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from toolmason_runtime import ServerInfo, ToolCall, ToolError

from workbench_handlers.state import roots_for
from workbench_handlers.workflows import settings
from workbench_handlers.workflows.answers import RecentAnswers
from workbench_handlers.workflows.command_file import GENERATE_WORKFLOW, check_runs_nothing, workflow_file
from workbench_handlers.workflows.data import Variant, hosts, workflows
from workbench_handlers.workflows.writing import plan_file, with_owner_directory, write_file
from workbench_handlers.workspace.roots import Root
from workbench_research.questions import (
    CALLERS_TEXT,
    JSON_ONLY,
    Answer,
    ask_shared,
    find_object,
    parse_int,
    parse_text,
    parse_texts,
    prompt,
    quoted,
)
from workbench_server.workflows.models import FeatureWorkflowResult, GenerateFeatureWorkflowParams

MODEL: Final = "flash"
HOST: Final = "claude-code"
"""The client whose directory contains the workflow by default."""
MAX_WORKFLOW_CHARS: Final = 16_000
"""Maximum characters of a model's workflow: the user approves the whole text in one question."""
MAX_NAME_CHARS: Final = 50
MINUTES_PER_STEP: Final = 10
"""Estimate for a packaged workflow."""
NO_BACKEND: Final = frozenset({"GEMINI_CLI_NOT_FOUND", "AUTH_MISSING", "NOT_INSTALLED", "SETTING", "UNUSABLE"})
"""Error codes and reasons for a missing model; after any other error, a repeated call may succeed."""
REPEATED: Final = "set overwrite to replace it, or select another path with save_to"

_TASK: Final = """\
Write a workflow for the feature below, for a coding agent that implements it in the project in the current directory. \
First read the files that the feature touches. The workflow is Markdown with a heading, the purpose, and numbered \
steps under `### 1. Title`; each step names files, decisions and tools. {style} {validation} At most {max_chars} \
characters. Start from the packaged workflow."""
_STYLES: Final = {
    "interactive": "After each step, the agent reports to the user and waits for an answer.",
    "automated": "The agent goes through all steps without questions.",
}
_FORM: Final = """\
{"workflow_content": "# ...", "estimated_steps": 6, "estimated_time_minutes": 60, "tools_required": \
["query_codebase"], "files_to_create": ["src/limits.py"], "files_to_modify": ["src/app.py"], "dependencies": ["a \
package"]}"""


async def generate_feature_workflow(params: GenerateFeatureWorkflowParams, call: ToolCall) -> FeatureWorkflowResult:
    """Write the workflow after the user's approval.

    Raises:
        ToolError: the path is not allowed, the file exists, the model failed, or the user did not approve.
    """
    if not params.feature_description.strip():
        raise ToolError("`feature_description` must not be blank", code="INVALID_ARGUMENT")
    if params.save_to and not params.save_to.endswith(".md"):
        raise ToolError("`save_to` must end with `.md`", code="INVALID_ARGUMENT")
    roots = await roots_for(call)
    directory = settings.workflow_directory(hosts()[HOST])
    name = f"{settings.workflow_prefix().text}{_file_name(params.feature_description)}"
    path = params.save_to or f"{directory}/{name}.md"
    permitted = with_owner_directory(roots, directory)

    def plan(text: str) -> Any:
        return plan_file(call, roots[0].path, path, text, permitted, overwrite=bool(params.overwrite))

    planned = await asyncio.to_thread(plan, "")
    if not planned.outcome:  # do not ask the model if the path fails
        result = await _workflow(params, call, roots)
        result["workflow_content"] = workflow_file(result["workflow_content"], tool=GENERATE_WORKFLOW)
        planned.text = result["workflow_content"]
    await write_file(call, planned, REPEATED)
    return FeatureWorkflowResult.model_validate({"workflow_path": params.save_to or planned.shown, **result})


def _file_name(description: str) -> str:
    """Return a file name for a feature: its first words with dashes, `feature` if it has no letters."""
    words = re.sub(r"[\W_]+", "-", description.lower()).strip("-")[:MAX_NAME_CHARS]
    return words.encode()[: 2 * MAX_NAME_CHARS].decode("utf-8", "ignore").strip("-") or "feature"


async def _workflow(params: GenerateFeatureWorkflowParams, call: ToolCall, roots: Sequence[Root]) -> dict[str, Any]:
    """Return the members of the result besides the path."""
    packaged = workflows(call.state(ServerInfo).style)[
        "refactor" if "refactor" in params.feature_description.casefold() else "feature"
    ]
    variant = packaged.complete if params.include_validation_steps else packaged.without_validation
    if params.workflow_style == "template":
        return _from_template(params.feature_description, variant, [])
    try:
        return await _ask_model(params, call, variant, roots)
    except ToolError as error:
        if not NO_BACKEND & {error.code, error.details.get("reason")}:
            raise
        warning = f"no model is available, so this is the packaged workflow: {error.message}"
        return _from_template(params.feature_description, variant, [warning])


def _from_template(feature: str, variant: Variant, warnings: list[str]) -> dict[str, Any]:
    heading, _, rest = settings.with_directories(variant.text).strip().partition("\n")
    check_runs_nothing(feature)
    quoted_feature = "\n".join(f"> {line}".rstrip() for line in feature.strip().splitlines())
    return {
        "workflow_content": f"{heading}\n\n## Feature\n\n{quoted_feature}\n{rest}\n",
        "estimated_steps": variant.steps,
        "estimated_time_minutes": variant.steps * MINUTES_PER_STEP,
        "tools_required": list(variant.tools),
        "files_to_create": [],
        "files_to_modify": [],
        "dependencies": [],
        "source": "template",
        "warnings": warnings or None,
    }


async def _ask_model(
    params: GenerateFeatureWorkflowParams, call: ToolCall, variant: Variant, roots: Sequence[Root]
) -> dict[str, Any]:
    """Return the model's workflow, from a recent answer to the same question if there is one.

    Raises:
        ToolError: there is no model, no answer, or no workflow in it.
    """
    root = roots[0].path
    question = feature_prompt(params, variant)
    recent = call.state(RecentAnswers)
    key = f"{root}\n{question}"
    if (result := recent.get(key)) is None:

        def parse(answer: Answer) -> dict[str, Any]:
            return _parse(answer.text, variant, root, answer.warnings)

        asked = params.model_copy(update={"save_to": None, "overwrite": None})
        projects = [allowed.path for allowed in roots]
        result = await ask_shared(call, asked, root, question, parse, kind=MODEL, projects=projects)
        recent.store(key, result)
    return dict(result)


def feature_prompt(params: GenerateFeatureWorkflowParams, variant: Variant) -> str:
    """Return the question to the model."""
    validation = "Include steps that validate the plan and the result." if params.include_validation_steps else ""
    style = _STYLES[str(params.workflow_style)]
    task = _TASK.format(style=style, validation=validation, max_chars=f"{MAX_WORKFLOW_CHARS:,}").replace("  ", " ")
    texts = (
        quoted("packaged workflow", settings.with_directories(variant.text)),
        quoted("feature", params.feature_description),
    )
    return prompt(task, f"RULES\n{CALLERS_TEXT}", *texts, f"{JSON_ONLY}\n{_FORM}")


def _parse(text: str, variant: Variant, root: Path, warnings: Sequence[str]) -> dict[str, Any]:
    """Return the workflow in an answer. It blocks."""
    parsed = find_object(text, ["workflow_content"])
    content = parse_text(parsed.data["workflow_content"], max_chars=MAX_WORKFLOW_CHARS) if parsed else ""
    if parsed is None or parsed.is_cut or not content:
        message = (
            "the model's answer is not a complete workflow, so nothing was written: repeat the call, or use "
            "workflow_style `template`"
        )
        raise ToolError(message, code="GEMINI_CLI_ERROR")
    check_runs_nothing(content)
    data = parsed.data
    modified = parse_texts(data.get("files_to_modify"))
    missing = [path for path in modified if not os.path.lexists(root / path)]
    return {
        "workflow_content": content,
        "estimated_steps": parse_int(data.get("estimated_steps")) or variant.steps,
        "estimated_time_minutes": parse_int(data.get("estimated_time_minutes")) or variant.steps * MINUTES_PER_STEP,
        "tools_required": parse_texts(data.get("tools_required")),
        "files_to_create": parse_texts(data.get("files_to_create")),
        "files_to_modify": modified,
        "dependencies": parse_texts(data.get("dependencies")),
        "source": "model",
        "warnings": [*warnings, *(f"files_to_modify: `{path}` does not exist" for path in missing)] or None,
    }
