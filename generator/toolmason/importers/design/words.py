"""Names of whole words: at most `MAX_LENGTH` characters, without repeated words and identifiers made by machines."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from toolmason.importers.design.english import ABBREVIATIONS, ALSO_NOUNS, ARTICLES, PREPOSITIONS, VERBS, singular
from toolmason.importers.names import separated

MAX_LENGTH: Final = 40
"""Maximum characters of a name."""

Words = list[str]

_LATIN: Final = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "\u0131": "i", "æ": "ae", "œ": "oe", "þ": "th"})
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
WHOLE: Final = frozenset({"all", "batch", "bulk", "collection", "each", "every", "many", "multiple"})
"""Words of calls that concern several objects; a shortened name keeps them."""


def name_from(text: str, fallback: str, length: int = MAX_LENGTH) -> str:
    """Return a name of the words of a text: `findPeople` becomes `find_people`."""
    return fitting(words_of(text), length) or fallback


def numbered(name: str, number: int, length: int = MAX_LENGTH) -> str:
    """Return a name with a number at its end, of whole words."""
    end = f"_{number}"
    return f"{fitting(name.split('_'), length - len(end))}{end}"


def has_latin_words(text: str) -> bool:
    """Return whether a text consists of Latin letters, so that a name can be made of it."""
    letters = [char for char in text if char.isalpha()]
    return bool(letters) and all(
        unicodedata.name(char, "").startswith(("LATIN", "FULLWIDTH LATIN")) for char in letters
    )


def is_other_script(text: str) -> bool:
    """Return whether a text has letters, none of them Latin."""
    return any(map(str.isalpha, text)) and not any(has_latin_words(char) for char in text)


def words_of(text: str) -> Words:
    """Return the words of a name in lower case, without identifiers that a machine made."""
    return list(_words_of(text))


@lru_cache(maxsize=4096)
def _words_of(text: str) -> tuple[str, ...]:
    """See `words_of`. The paths of an API repeat their segments."""
    if not has_latin_words(text):
        return ()
    plain = unicodedata.normalize("NFKD", text.translate(_LATIN))
    plain = "".join(char for char in plain if not unicodedata.combining(char)).replace("ß", "ss")
    plain = _UUID.sub(" ", plain)
    words: Words = []
    for token in re.split(r"[^A-Za-z0-9]+", plain):
        if not _is_key(token):
            words += separated(token, " ").lower().split()
    return tuple(words)


def _is_key(token: str) -> bool:
    """Return whether a part of a name is an identifier that a machine made, such as `7f3a9c01` or `aB3dE9fGh2`."""
    if re.fullmatch(r"\d{5,}|(?=[a-fA-F]*\d)(?=\d*[a-fA-F])[0-9a-fA-F]{8,}", token):
        return True
    parts = re.findall(r"\d+|[A-Z]?[a-z]+|[A-Z]+", token)
    return len(token) >= 10 and bool(re.search(r"\d", token)) and len(token) / len(parts) < 2.2


def without_repetitions(words: Words) -> Words:
    """Return words without those that repeat the ones before: `search search`, `divisions division`."""
    result: Words = []
    for word in words:
        if result and singular(result[-1]) == singular(word):
            result[-1] = word
        else:
            result.append(word)
        for size in (2, 3):
            if len(result) >= 2 * size and result[-size:] == result[-2 * size : -size]:
                del result[-size:]
    is_verb_again = len(result) > 2 and result[-1] == result[0] and result[0] in VERBS - ALSO_NOUNS
    return result[:-1] if is_verb_again else result


def fitting(words: Words, length: int) -> str:
    """Return a name of at most `length` characters: of shorter words, then without articles and the first nouns."""
    words = list(words)
    while words and not words[0][:1].isalpha():
        words = words[1:]
    if len("_".join(words)) > length:
        words = without_repetitions([ABBREVIATIONS.get(word, word) for word in words if word not in ARTICLES])
    while len("_".join(words)) > length and len(words) > 1:
        place = next((place for place, word in enumerate(words) if place and word not in WHOLE), len(words) - 1)
        del words[place]
        while len(words) > place + 1 and words[place] in PREPOSITIONS:
            del words[place]
        words = without_repetitions(words)
    return "_".join(words)[:length].rstrip("_")


def with_object(words: Words, nouns: Sequence[str], length: int) -> str:
    """Return a reserved name with an object: `search` of `GET /search/books` becomes `search_books`."""
    known = set(map(singular, words))
    noun = next((noun for noun in nouns if singular(noun) not in known), "")
    return fitting([*words, noun], length) if noun else ""
