"""Short summaries of schemas for descriptions: `array of integer`, `object with name: string, age?: integer`."""

from __future__ import annotations

from typing import Final

from toolmason.schema.emit.context import EmitterContext
from toolmason.schema.emit.values import quote_value
from toolmason.schema.normal_form import Branch, Conjunction, to_inclusive_bounds
from toolmason.schema.wording import end_sentence, join_words, limit_sentences, without_sentinel_bounds

_MAX_LISTED: Final = 12
"""Maximum enum values or properties in a summary."""
_MAX_LABEL_LENGTH: Final = 60


def join_descriptions(first: str, second: str) -> str:
    """Join two texts; text that both contain appears once."""
    if not first or second.startswith(first):
        return second
    return first if not second or second in first else f"{end_sentence(first)} {second}"


def summarize(context: EmitterContext, conjunction: Conjunction, *, nested: bool = False) -> str:
    """Summarize the accepted values in a few words; `nested` allows no further nesting."""
    node = context.normalizer.node(conjunction)
    if node.accepts_any_value:
        return "anything"
    types = list(dict.fromkeys(_summarize_branch(context, branch, nested=nested) for branch in node.branches))
    text = join_words(types, "or") if types else "nothing"
    text = f"({text})" if nested and len(types) > 1 else text
    label = node.description if not nested and len(node.description) <= _MAX_LABEL_LENGTH else ""
    return f"{text} ({label.rstrip('.')})" if label else text


def _summarize_branch(context: EmitterContext, branch: Branch, *, nested: bool) -> str:
    if branch.enum is not None:
        return join_words([quote_value(value) for value in branch.enum[:_MAX_LISTED]], "or")
    if nested:
        return branch.type
    if branch.type == "array" and branch.items is not None:
        return f"array of {summarize(context, branch.items, nested=True)}"
    if branch.type == "object" and branch.properties:
        properties = [
            f"{context.names.name_for(name)}{'' if name in branch.required else '?'}: "
            f"{summarize(context, conjunction, nested=True)}"
            for name, conjunction in list(branch.properties.items())[:_MAX_LISTED]
        ]
        return f"object with {', '.join(properties)}"
    limits = without_sentinel_bounds(to_inclusive_bounds(branch)) if branch.is_numeric else branch.limits
    sentences = [sentence[:1].lower() + sentence[1:] for sentence in limit_sentences(limits)]
    return f"{branch.type} ({'; '.join(sentences)})" if sentences else branch.type
