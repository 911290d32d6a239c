"""`query_codebase`: several questions at once, each answered in facts within its budget of tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolmason_runtime import ToolError

from workbench_handlers.model_backends.question import Ask
from workbench_handlers.research.analysis import prompts
from workbench_handlers.research.analysis.budgets import RESULT_TOKENS, within
from workbench_handlers.research.analysis.parsing import Parsed, object_of, text_of
from workbench_handlers.research.analysis.result import Review
from workbench_handlers.research.analysis.scope import Scope, scope_of

if TYPE_CHECKING:
    from workbench_server.research.models import QueryCodebaseParams

MAX_QUESTION_CHARACTERS: Final = 4_000
"""Characters of one question."""
ECHO_CHARACTERS: Final = 200
"""Characters of a question that stand in the result, beside its number."""
MAX_ANSWER_LENGTH: Final = 200_000
"""Characters of an answer that are weighed; no budget comes near."""

_WORDS_PER_TOKEN: Final = 0.75


async def run(params: QueryCodebaseParams, ask: Ask, root: Path) -> dict[str, Any]:
    """Answer each question, in order.

    Raises:
        ToolError: a question is blank or too long, a folder or glob is not allowed, or as `ask`.
    """
    questions = _checked(params.questions)
    scope = await asyncio.to_thread(
        scope_of,
        root,
        places=(params.scope,),
        include=params.include_patterns or (),
        exclude=params.exclude_patterns or (),
    )
    budget = min(params.max_tokens_per_answer, RESULT_TOKENS // len(questions))
    review = Review("query_codebase", await ask(query_prompt(questions, scope, budget)), root, scope)
    if budget < params.max_tokens_per_answer:
        message = f"each answer was given {budget} tokens, since {len(questions)} answers share {RESULT_TOKENS}"
        review.warnings.append(message)
    return await asyncio.to_thread(_answered, questions, review, budget)


def query_prompt(questions: Sequence[str], scope: Scope, budget: int) -> str:
    """Give the prompt: every question has a label, by which its answer is known again."""
    return prompts.prompt(
        prompts.QUERY.format(budget=budget, words=int(budget * _WORDS_PER_TOKEN)),
        prompts.scope_text(scope),
        prompts.RULES,
        *(prompts.quoted(_label(number), text) for number, text in enumerate(questions, 1)),
        f"{prompts.JSON_ONLY}\n{prompts.QUERY_FORM}",
    )


def _checked(questions: Sequence[str]) -> Sequence[str]:
    for number, question in enumerate(questions, 1):
        if not question.strip() or len(question) > MAX_QUESTION_CHARACTERS:
            wrong = "blank" if not question.strip() else f"longer than {MAX_QUESTION_CHARACTERS} characters"
            raise ToolError(f"question {number} is {wrong}", code="INVALID_ARGUMENT", details={"question": number})
    return questions


def _label(number: int) -> str:
    return f"q{number}"


def _answered(questions: Sequence[str], review: Review, budget: int) -> dict[str, Any]:
    parsed = review.read("answers", *(_label(number) for number in range(1, len(questions) + 1)))
    said = _said(parsed)
    answers = [
        _entry(number, question, said.get(_label(number)), review, budget)
        for number, question in enumerate(questions, 1)
    ]
    _weigh(answers, said, len(questions), review, is_cut=parsed is not None and parsed.is_cut)
    # Text that is no JSON, and JSON that answers nothing: either may hold what was asked for.
    is_raw = all(entry["status"] == "missing" for entry in answers)
    if is_raw and parsed is not None:
        review.warnings.append("the model's answer holds no answer in the form it was asked for: see rawAnswer")
    return review.result({"answers": answers}, is_raw=is_raw)


def _said(parsed: Parsed | None) -> dict[str, Any]:
    """Give what was said by label, whatever the case. A list of objects with labels is as good as an object of them."""
    value = parsed.data.get("answers", parsed.data) if parsed else None
    if isinstance(value, list):
        labels = ((text_of(object_of(each).get("label") or object_of(each).get("id")), each) for each in value)
        value = {label: each for label, each in labels if label}
    return {label.strip().casefold(): each for label, each in object_of(value).items()}


def _entry(number: int, question: str, said: Any, review: Review, budget: int) -> dict[str, Any]:
    text = text_of(said if isinstance(said, str) else object_of(said).get("answer"), most=MAX_ANSWER_LENGTH)
    found = object_of(said).get("found")
    status = "not_found" if found is False else "answered" if text else "missing"
    answer, is_cut = within(text, budget)
    return {
        "number": number,
        "question": text_of(question, most=ECHO_CHARACTERS),
        "status": status,
        "answer": answer,
        "references": review.evidence.references(object_of(said).get("places")),
        "truncated": is_cut,
    }


def _weigh(answers: list[dict[str, Any]], said: Mapping[str, Any], asked: int, review: Review, *, is_cut: bool) -> None:
    """Note what is missing, what is cut and what nobody asked for."""
    if is_cut and (last := next((each for each in reversed(answers) if each["status"] != "missing"), None)):
        last["truncated"] = True  # the answer that was being written when the text ended
    review.truncated = review.truncated or any(each["truncated"] for each in answers)
    if missing := [str(each["number"]) for each in answers if each["status"] == "missing"]:
        review.warnings.append(f"no answer came to question {', '.join(missing)} of {asked}: ask again for these alone")
    if unknown := said.keys() - {_label(number) for number in range(1, asked + 1)}:
        review.warnings.append(f"{len(unknown)} answers of the model belong to no question and are left out")
