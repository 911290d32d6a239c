"""The results of `toolmason eval` as one HTML page without scripts and without other files."""

from __future__ import annotations

from collections.abc import Mapping

from jinja2 import Environment, PackageLoader, StrictUndefined

from toolmason.evaluation.matrix import CELL, category_matrix, heat_map, tool_matrix
from toolmason.evaluation.results import Results, describe_change, missed_tools


def html_report(results: Results, title: str, categories: Mapping[str, str]) -> str:
    """Return the page.

    Args:
        results: the evaluation.
        title: the title of the server.
        categories: the category of each tool, in the order of the manifest.
    """
    environment = Environment(
        loader=PackageLoader("toolmason.evaluation", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    evaluation = results.evaluation
    confusion = results.confusion
    return environment.get_template("page.html.jinja").render(
        title=title,
        source=results.source,
        evaluation=evaluation,
        misses=[(outcome, list(missed_tools(outcome, evaluation.top))) for outcome in evaluation.misses],
        look_alikes=results.look_alikes,
        suggestions=results.suggestions,
        describe_change=describe_change,
        cell=CELL,
        heat_maps=[
            ("Categories", heat_map(category_matrix(confusion, categories))),
            ("Confused tools", heat_map(tool_matrix(confusion, categories))),
        ],
    )
