"""Names of tools: verb and object, from method, path and `operationId`.

`UsersController_findAll` is `find_all_users`, `orders/get` is `get_order`, `GET /v1/users/{id}` is `get_user`, and
`POST /orders/{id}/cancel` is `cancel_order`. A name consists of whole words and has at most `MAX_LENGTH` characters.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from toolmason.importers.design.english import (
    ACTIONS,
    ALSO_NOUNS,
    COMPLETE_VERBS,
    PLAIN_VERBS,
    PREPOSITIONS,
    READING_ACTIONS,
    VERBS,
    is_plural,
    singular,
)
from toolmason.importers.design.words import (
    MAX_LENGTH,
    WHOLE,
    Words,
    fitting,
    is_other_script,
    with_object,
    without_repetitions,
    words_of,
)
from toolmason.importers.names import is_reserved, snake
from toolmason.importers.openapi.document import Operation, text

_METHOD_VERBS: Final = {
    "HEAD": "check",
    "OPTIONS": "check",
    "POST": "create",
    "PUT": "replace",
    "PATCH": "update",
    "DELETE": "delete",
}
_VERSION: Final = re.compile(r"v?\d+(?:[._-]\d+)*(?:(?:alpha|beta|rc)\d*)?", re.IGNORECASE)
_VERSION_WORD: Final = re.compile(r"v\d++(?:(?:alpha|beta)\d*+)?")
_FRAMEWORK: Final = re.compile(r"Using(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)(?:_\d+)?$|_?[Cc]ontroller(?=[_.:/])")
"""What Springfox appends to the name of a method, and what other frameworks append to the name of a class."""
_CONTROLLER: Final = re.compile(r"(\w*?)_?[Cc]ontroller(?:Impl)?(?:[_.:/]|(?=[A-Z]))([A-Za-z].*)", re.DOTALL)
"""Class and method, such as `OrderController_findAll` (NestJS), `OrderController.find` or `orderControllerFind`."""
_MAX_WORD: Final = 32
"""Characters of a word. A longer one is several words in one piece, or none that helps."""
_BATCH: Final = frozenset({"batch", "bulk", "multi"})
_SAME: Final[Mapping[tuple[str, ...], str]] = {
    ("find", "one"): "get",
    ("get", "one"): "get",
    ("find", "unique"): "get",
    ("index",): "list",
}
"""The verb for names of methods that frameworks generate."""
_NO_RESOURCES: Final = frozenset({"api", "apis", "rest", "rpc", "public", "json"})
"""Segments of paths that name no resource."""
_EXTENSION: Final = re.compile(r"\.(?:\{[^{}]*\}|json|xml|html|php|aspx?|csv|svc|do)$", re.IGNORECASE)


def common_beginning(names: Sequence[str]) -> str:
    """Return the first part of all names of operations with its separator: `drive.` of `drive.files.list`."""
    first = re.match(r"[A-Za-z0-9]+[._/:-]", names[0]) if len(names) > 2 else None
    word = first[0] if first else ""
    is_in_all = all(name.startswith(word) and re.search(r"[./]", name[len(word) :]) for name in names)
    return word if word and is_in_all else ""


def names_of(operation: Operation, server: str, common: str = "", length: int = MAX_LENGTH) -> Iterator[str]:
    """Yield names for the tool of an operation, the best one first; they are not compared with other tools.

    Args:
        operation: the operation.
        server: name of the server: the object of a tool whose path names none.
        common: what all names of operations begin with, which distinguishes none.
        length: maximum characters.
    """
    resources = _resources(operation.path)
    from_id = _name_words(operation, operation.id.removeprefix(common), resources)
    from_path = _path_words(operation, resources, 2)
    everything = _path_words(operation, resources, 9)
    choices: list[Words] = [from_id] if from_id else [from_path]
    choices.append([word for word in choices[0] if word] + _version(operation))
    choices += [from_path, everything] if choices[0] != from_path or not from_id else []
    keys = [words_of(key) for key in re.findall(r"\{\+?([^{}]*)\}", operation.path)]
    choices += [
        [*words, "by", *keys[-1]] for words in (choices[0], from_path) if keys and keys[-1] and "by" not in words
    ]
    is_named = False
    for words in choices:
        name = fitting(words, length)
        if is_reserved(name) or name in VERBS - COMPLETE_VERBS:
            nouns = [noun for each in reversed(resources) for noun in each.words]
            name = with_object(words, [*nouns, "_".join(words_of(server)), "data"], length)
        if name and not is_reserved(name):
            is_named = True
            yield name
    if not is_named:
        yield fitting(["call", *words_of(server)], length)


def group_name(tag: str, path: str, fallback: str) -> str:
    """Return the name of the category of a tag: its words, or the resource of the path if it has no Latin letters."""
    if not is_other_script(tag):
        return snake(tag, fallback)
    return snake("_".join(word for resource in _resources(path)[:1] for word in resource.words), fallback)


@dataclass(frozen=True, slots=True)
class _Resource:
    """A segment of a path without its placeholders. `is_item`: a placeholder follows."""

    words: Words
    is_item: bool


@lru_cache(maxsize=256)
def _resources(path: str) -> tuple[_Resource, ...]:
    """Return the segments of a path that name a resource or an action."""
    resources: list[_Resource] = []
    for segment in _EXTENSION.sub("", unquote(path).rstrip("/")).split("/"):
        constant = re.sub(r"\{[^{}]*\}", " ", segment).strip()
        words = [] if _VERSION.fullmatch(constant) or constant.lower() in _NO_RESOURCES else words_of(constant)
        words = [word for word in words if not _VERSION_WORD.fullmatch(word)]
        has_key = "{" in segment
        if words:
            resources.append(_Resource(words, has_key and segment.startswith(constant)))
        elif has_key and resources:
            resources[-1] = _Resource(resources[-1].words, is_item=True)
    return tuple(resources)


def _version(operation: Operation) -> Words:
    return next(
        (
            part.lower().replace(".", "_").split("_")
            for part in operation.path.split("/")
            if re.fullmatch(r"v\d[\w.]*", part)
        ),
        [],
    )


def _name_words(operation: Operation, name: str, resources: Sequence[_Resource]) -> Words:
    """Return the words of an `operationId` as verb and object; none if the path has the same words."""
    if (match := _CONTROLLER.fullmatch(name)) and (
        words := _controller_words(operation, match[1], match[2], resources)
    ):
        return words
    name = _FRAMEWORK.sub("", name)
    words = words_of(name)
    if len(words) == 1 and name[1:].islower():
        words = _split(words[0], operation)
    if any(len(word) > _MAX_WORD for word in words) or words == ["options"]:
        return []
    words = _without_path(words, operation)
    words = without_repetitions([word for word in words if not _VERSION_WORD.fullmatch(word)])
    while len(words) > 1 and words[0] in ("api", "rest", "app"):
        words = words[1:]
    if words[1:2] == ["api"] and not VERBS.isdisjoint(words[2:3]):
        del words[1]
    if not words or _is_short_of_words(words):
        return []
    nouns = {singular(word) for resource in resources for word in resource.words}
    nouns |= {singular(word) for tag in operation.tags[:1] for word in words_of(tag)}
    is_item = bool(resources) and resources[-1].is_item and _ends_with_key(operation.path)
    is_last_part_verb = name.count(".") > 1 or name.count("/") == 1
    verb_at = len(words) - len(words_of(re.split(r"[./]", name)[-1])) if is_last_part_verb else 0
    words = without_repetitions(_verb_first(words, nouns, max(verb_at, 0), is_item=is_item))
    if words[1:2] and words[1] in WHOLE and not is_item:
        last = next((place for place, word in enumerate(words) if word in PREPOSITIONS), len(words)) - 1
        if not any(map(is_plural, words[2:last])):
            words[last] = _plural(words[last], resources)
    is_noun = is_plural(words[0]) and singular(words[0]) in nouns  # `listings`
    has_verb = not VERBS.isdisjoint(words) or (words[0].startswith(tuple(PLAIN_VERBS)) and not is_noun)
    if not has_verb and operation.method in ("GET", "DELETE", "HEAD"):
        words = ["get" if operation.method == "GET" else _METHOD_VERBS[operation.method], *words]
    if len(words) == 1 and words[0] in VERBS - COMPLETE_VERBS:
        rest = [word for resource in resources[-2:] for word in resource.words if word != words[0]]
        words += rest
    return words


def _split(word: str, operation: Operation) -> Words:
    """Return the words of a name without capitals, if the document has them: `getallprices` is `get all prices`."""
    texts = (operation.path, text(operation.data.get("summary")), *operation.tags)
    found = {part for each in texts for piece in re.split(r"[^A-Za-z0-9]+", each) for part in words_of(piece)}
    known = {part for each in found for part in (each, singular(each)) if len(part) > 1}
    known = (known | VERBS | WHOLE | PREPOSITIONS) - ({word} if word.startswith(tuple(PLAIN_VERBS)) else set())
    best: dict[int, Words] = {0: []}
    for end in range(2, len(word) + 1):
        choices = [
            [*best[start], word[start:end]]
            for start in range(max(end - _MAX_WORD, 0), end - 1)
            if start in best and word[start:end] in known
        ]
        if choices:
            best[end] = min(choices, key=len)
    return best.get(len(word)) or [word]


def _controller_words(operation: Operation, owner: str, method: str, resources: Sequence[_Resource]) -> Words:
    """Return verb and object of a method of a class; none if its name begins with another word than a verb."""
    nouns = [word for word in words_of(owner) if word not in ("app", "api", "rest")]
    words = [word for word in words_of(method) if not _VERSION_WORD.fullmatch(word)]
    for same, verb in _SAME.items():
        if tuple(words[: len(same)]) == same:
            words = [verb, *words[len(same) :]]
    size = 2 if words[:1] and words[0] in _BATCH and not VERBS.isdisjoint(words[1:2]) else 1
    if VERBS.isdisjoint(words[size - 1 : size]) or not nouns or nouns[0] in VERBS - ALSO_NOUNS:
        return []
    size += not WHOLE.isdisjoint(words[size : size + 1])
    is_item = bool(resources) and resources[-1].is_item and _ends_with_key(operation.path)
    is_many = not WHOLE.isdisjoint(words[:size]) or (operation.method in ("GET", "HEAD") and not is_item)
    # `findAllLineItems` of orders has an object of its own, `findAllByUser` and `findAllPaginated` have none.
    has_object = bool(words[size:]) and words[size] not in PREPOSITIONS and not words[size].endswith("ed")
    last = _plural(nouns[-1], resources) if is_many and not has_object else singular(nouns[-1])
    nouns = [*map(singular, nouns[:-1]), last]
    return without_repetitions([*words[:size], *nouns, *words[size:]])


def _plural(noun: str, resources: Sequence[_Resource]) -> str:
    """Return the plural of a noun as the path has it, else the noun."""
    plurals = {singular(word): word for resource in resources for word in resource.words if is_plural(word)}
    return plurals.get(singular(noun), noun)


def _is_short_of_words(words: Words) -> bool:
    return len("".join(words)) < 2 or all(word.isdigit() for word in words)


def _without_path(words: Words, operation: Operation) -> Words:
    """Return the words of an `operationId` without a copy of the whole path, which frameworks append or use alone."""
    method = operation.method.lower()
    whole = _all_words(operation.path)
    natural = [word for resource in _resources(operation.path) for word in resource.words]
    unversioned = [word for word in whole if not _VERSION_WORD.fullmatch(word)]
    forms = (whole, unversioned, without_repetitions(whole), without_repetitions(unversioned))
    copies = ["".join(form) for form in forms]
    if operation.path.strip("/") and operation.path in operation.id:
        return []
    if (
        words[:1] == [method]
        and "".join(words[1:]) in copies
        and (words[1:] != natural or method not in ("get", "delete"))
    ):
        return []
    for end in range(1, len(words) + 1):
        tail = "".join(words[end:])
        if whole and any(copy and tail in (copy + method, f"{copy}_{method}") for copy in copies):
            return words[:end]
    return [] if whole and "".join(words) in [copy + method for copy in copies] else words


def _all_words(path: str) -> Words:
    return [word for part in re.split(r"[/{}]+", path) for word in words_of(part)]


def _ends_with_key(path: str) -> bool:
    return _EXTENSION.sub("", path.rstrip("/")).endswith("}")


def _verb_first(words: Words, nouns: Collection[str], verb_at: int, *, is_item: bool) -> Words:
    """Return words with the verb before its object: `orders get` becomes `get order`.

    `verb_at` is where the last part of a name such as `orders/get` begins, which is a verb; 0 for other names.
    """
    plain = next((index for index, word in enumerate(words) if index and word in PLAIN_VERBS), 0)
    is_noun = bool(plain) and words[0] in ALSO_NOUNS - WHOLE
    is_noun = is_noun and (plain == 1 or all(singular(word) in nouns for word in words[:plain]))
    if words[0] in VERBS and not is_noun and (not verb_at or words[verb_at] not in VERBS):
        return words
    index = next((index for index, word in enumerate(words) if index and word in VERBS), 0)
    if verb_at and (index < verb_at or singular(words[verb_at]) not in nouns):
        index = verb_at
    before, verb, rest = words[:index], words[index], words[index + 1 :]
    if not index or (rest and index != verb_at and not all(singular(word) in nouns for word in before)):
        return words
    if rest[:1] and rest[0] in WHOLE:
        return [verb, rest[0], *map(singular, before[:-1]), before[-1], *rest[1:]]
    if not rest or rest[0] in PREPOSITIONS:
        last = singular(before[-1]) if is_item or verb in ("create", "add") else before[-1]
        return [verb, *map(singular, before[:-1]), last, *rest]
    return [verb, *(singular(word) for word in before), *rest]


def _path_words(operation: Operation, resources: Sequence[_Resource], count: int) -> Words:
    """Return verb and object from method and path; the object has the names of at most `count` resources."""
    method, path = operation.method, operation.path
    if not resources:
        is_foreign = any(map(is_other_script, unquote(path).split("/")))
        if is_foreign and method == "GET" and not _ends_with_key(path):
            return ["list", "items"]
        return [_METHOD_VERBS.get(method, "get"), "item"] if "{" in path or is_foreign else []
    *parents, last = resources
    actions = READING_ACTIONS if method in ("GET", "HEAD") else ACTIONS
    index = next((index for index, word in enumerate(last.words) if word in actions), None)
    is_noun = bool(ALSO_NOUNS.intersection(last.words[:1])) and len(last.words) > 1 and is_plural(last.words[-1])
    if index is not None and not is_noun and (index == 0 or len(last.words) > index + 1):
        verb, *rest = last.words[index:]
        owners = [
            _noun(parent, is_last=not rest and number == len(parents) - 1) for number, parent in enumerate(parents)
        ]
        return without_repetitions([verb, *(word for owner in owners[-count + 1 :] for word in owner), *rest])
    is_item = last.is_item and _ends_with_key(path)
    if method in ("GET", "HEAD"):
        verb = "get" if is_item or not is_plural(last.words[-1]) else "list"
    elif method == "POST" and is_item:
        verb = "update"
    else:
        verb = _METHOD_VERBS.get(method, "call")
    noun = [*last.words[:-1], singular(last.words[-1])] if is_item or method == "POST" else last.words
    owners = [_noun(parent, is_last=False) for parent in parents]
    return without_repetitions([verb, *(word for owner in owners[-count + 1 :] for word in owner), *noun])


def _noun(resource: _Resource, *, is_last: bool) -> Words:
    """Return the name of a resource, in the singular before another noun and for one of several."""
    *words, last = resource.words
    return [*words, last if is_last and not resource.is_item else singular(last)]
