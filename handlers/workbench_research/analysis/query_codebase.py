"""`query_codebase`: answer several questions at once, each within a token budget."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolmason_runtime import ToolError

from workbench_research.analysis import prompts
from workbench_research.analysis.answer_json import Parsed, parse_object, parse_text
from workbench_research.analysis.result import ResultBuilder
from workbench_research.analysis.scope import Scope, parse_scope
from workbench_research.analysis.token_budget import RESULT_TOKENS, cut_to_budget
from workbench_research.backends.question import Ask

if TYPE_CHECKING:
    from workbench_server.research.models import QueryCodebaseParams

MAX_QUESTION_CHARS: Final = 4_000
"""Maximum characters of one question."""
MAX_ECHO_CHARS: Final = 200
"""Maximum characters of a question in the result."""
MAX_ANSWER_CHARS: Final = 200_000
"""Maximum characters of an answer whose tokens are estimated, far above any budget."""

_WORDS_PER_TOKEN: Final = 0.75


async def run(params: QueryCodebaseParams, ask: Ask, root: Path) -> dict[str, Any]:
    """Answer each question, in order.

    Raises:
        ToolError: a question is blank or too long, a directory or glob is not allowed, or as `ask`.
    """
    questions = _check_questions(params.questions)
    scope = await asyncio.to_thread(
        parse_scope,
        root,
        directories=(params.scope,),
        include=params.include_patterns or (),
        exclude=params.exclude_patterns or (),
    )
    budget = min(params.max_tokens_per_answer, RESULT_TOKENS // len(questions))
    builder = ResultBuilder("query_codebase", await ask(query_prompt(questions, scope, budget)), root, scope)
    if budget < params.max_tokens_per_answer:
        message = f"each answer was limited to {budget} tokens, since {len(questions)} answers share {RESULT_TOKENS}"
        builder.warnings.append(message)
    return await asyncio.to_thread(_build_result, questions, builder, budget)


def query_prompt(questions: Sequence[str], scope: Scope, budget: int) -> str:
    """Return the prompt. Each question has a label, by which its answer is identified."""
    return prompts.prompt(
        prompts.QUERY.format(budget=budget, words=int(budget * _WORDS_PER_TOKEN)),
        prompts.scope_text(scope),
        prompts.RULES,
        *(prompts.quoted(_label(number), text) for number, text in enumerate(questions, 1)),
        f"{prompts.JSON_ONLY}\n{prompts.QUERY_FORM}",
    )


def _check_questions(questions: Sequence[str]) -> Sequence[str]:
    for number, question in enumerate(questions, 1):
        if not question.strip() or len(question) > MAX_QUESTION_CHARS:
            problem = "blank" if not question.strip() else f"longer than {MAX_QUESTION_CHARS} characters"
            raise ToolError(f"question {number} is {problem}", code="INVALID_ARGUMENT", details={"question": number})
    return questions


def _label(number: int) -> str:
    return f"q{number}"


def _build_result(questions: Sequence[str], builder: ResultBuilder, budget: int) -> dict[str, Any]:
    parsed = builder.read("answers", *(_label(number) for number in range(1, len(questions) + 1)))
    answers = _parse_answers(parsed)
    entries = [
        _entry(number, question, answers.get(_label(number)), builder, budget)
        for number, question in enumerate(questions, 1)
    ]
    _note_gaps(entries, answers, builder, is_cut=parsed is not None and parsed.is_cut)
    # Text without JSON, or JSON without an answer, may still contain what the caller needs.
    is_raw = all(entry["status"] == "missing" for entry in entries)
    if is_raw and parsed is not None:
        builder.warnings.append("the model's answer is not in the requested form: see rawAnswer")
    return builder.build({"answers": entries}, is_raw=is_raw)


def _parse_answers(parsed: Parsed | None) -> dict[str, Any]:
    """Return the answers by label, ignoring case. A list of objects with labels is accepted as well."""
    value = parsed.data.get("answers", parsed.data) if parsed else None
    if isinstance(value, list):
        labels = (
            (parse_text(parse_object(answer).get("label") or parse_object(answer).get("id")), answer)
            for answer in value
        )
        value = {label: answer for label, answer in labels if label}
    return {label.strip().casefold(): answer for label, answer in parse_object(value).items()}


def _entry(number: int, question: str, data: Any, builder: ResultBuilder, budget: int) -> dict[str, Any]:
    text = parse_text(data if isinstance(data, str) else parse_object(data).get("answer"), max_chars=MAX_ANSWER_CHARS)
    is_found = parse_object(data).get("found")
    answer, is_cut = cut_to_budget(text, budget)
    return {
        "number": number,
        "question": parse_text(question, max_chars=MAX_ECHO_CHARS),
        "status": "not_found" if is_found is False else "answered" if text else "missing",
        "answer": answer,
        "references": builder.citations.check_all(parse_object(data).get("places")),
        "truncated": is_cut,
    }


def _note_gaps(
    entries: list[dict[str, Any]], answers: Mapping[str, Any], builder: ResultBuilder, *, is_cut: bool
) -> None:
    """Add warnings about missing, cut and unknown answers."""
    if is_cut and (last := next((entry for entry in reversed(entries) if entry["status"] != "missing"), None)):
        last["truncated"] = True  # the answer in which the text ended
    builder.truncated = builder.truncated or any(entry["truncated"] for entry in entries)
    if missing := [str(entry["number"]) for entry in entries if entry["status"] == "missing"]:
        numbers = ", ".join(missing)
        builder.warnings.append(f"question {numbers} of {len(entries)} was not answered: ask it again alone")
    if unknown := answers.keys() - {_label(entry["number"]) for entry in entries}:
        builder.warnings.append(f"{len(unknown)} answers of the model to unknown questions are omitted")
