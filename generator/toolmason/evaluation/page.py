"""The results of `toolmason eval` as one HTML page without scripts and without other files."""

from __future__ import annotations

from collections.abc import Mapping

from toolmason.evaluation.matrix import category_matrix, picture, tool_matrix
from toolmason.evaluation.results import Results, describe_change, missed_tools
from toolmason.pictures.pages import render_page


def html_report(results: Results, title: str, categories: Mapping[str, str]) -> str:
    """Return the page.

    Args:
        results: the evaluation.
        title: the title of the server.
        categories: the category of each tool, in the order of the manifest.
    """
    evaluation = results.evaluation
    confusion = results.confusion
    return render_page(
        "toolmason.evaluation",
        "evaluation.html.jinja",
        title=title,
        source=results.source,
        evaluation=evaluation,
        misses=[(outcome, list(missed_tools(outcome, evaluation.top))) for outcome in evaluation.misses],
        look_alikes=results.look_alikes,
        suggestions=results.suggestions,
        describe_change=describe_change,
        heat_maps=[
            ("Categories", picture("Categories, wanted by found", category_matrix(confusion, categories))),
            ("Confused tools", picture("Confused tools, wanted by found", tool_matrix(confusion, categories))),
        ],
    )
