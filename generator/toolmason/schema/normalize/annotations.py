"""Normalize annotations: description, title, default, examples and deprecation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolmason.schema.findings import Finding
from toolmason.schema.normal_form import Node
from toolmason.schema.normalize.collector import FindingCollector, quote
from toolmason.schema.normalize.context import Keywords
from toolmason.schema.normalize.valid_keywords import KEPT_ANNOTATIONS

_ANNOTATIONS: Final = frozenset(
    {"default", "deprecated", "description", "example", "examples", "title", *KEPT_ANNOTATIONS}
)
_MAX_EXAMPLE_LENGTH: Final = 50


def with_annotations(node: Node, keywords: Keywords, collector: FindingCollector) -> Node:
    """Add the annotations and findings of one schema object to its node."""
    if _ANNOTATIONS.isdisjoint(keywords):
        return node._replace(findings=_all_findings(node, collector)) if collector.findings else node
    sentences = node.sentences
    for keyword in ("deprecated", "examples", "example"):
        if keyword in keywords:
            collector.note(keyword, f"`{keyword}` is moved to the description if short")
            sentences = (*node.sentences, *_sentences(keywords))
    kept = {keyword: keywords[keyword] for keyword in KEPT_ANNOTATIONS if keyword in keywords}
    return Node(
        branches=node.branches,
        pointer=collector.pointer,
        description=keywords.get("description", "").strip() or node.description,
        title=keywords.get("title", "") or node.title,
        sentences=sentences,
        default=keywords.get("default", node.default),
        has_default="default" in keywords or node.has_default,
        opaque_rules=node.opaque_rules,
        annotations={**node.annotations, **kept} if kept else node.annotations,
        findings=_all_findings(node, collector) if collector.findings else node.findings,
    )


def _all_findings(node: Node, collector: FindingCollector) -> tuple[Finding, ...]:
    return tuple(dict.fromkeys((*node.findings, *collector.findings)))


def _sentences(keywords: Keywords) -> Iterator[str]:
    if keywords.get("deprecated") is True:
        yield "Deprecated"
    examples = keywords.get("examples", [keywords["example"]] if "example" in keywords else [])
    scalars = (value for value in examples if isinstance(value, str | int | float))
    short = [quote(value) for value in scalars if len(str(value)) <= _MAX_EXAMPLE_LENGTH][:2]
    if short:
        yield f"For example {' or '.join(short)}"
