"""The English stems of words: the Snowball algorithm "english" (Porter 2) in its version 3.1.

The rules, with the names of the steps and regions: https://snowballstem.org/algorithms/english/stemmer.html. The tests
compare stems with those of the package `snowballstemmer`, which contains all languages and takes twice as long.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_VOWELS = "aeiouy"
_STEMS = {
    "early": "earli",
    "gently": "gentl",
    "idly": "idl",
    "only": "onli",
    "singly": "singl",
    "skies": "sky",
    "skis": "ski",
    "ugly": "ugli",
    **{word: word for word in ("andes", "atlas", "bias", "cosmos", "howe", "news", "sky")},
}
_PREFIXES_BEFORE_R1 = ("arsen", "commun", "emerg", "gener", "inter", "later", "organ", "past", "univers")
_BEFORE_EED = ("succ", "proc", "exc")
_BEFORE_ING = ("even", "cann", "inn", "earr", "herr", "out")
_DOUBLES = ("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt")
_BEFORE_LI = "cdeghkmnrt"

# Suffix: replacement. Only the longest suffix of a word counts, even if its condition is not met.
_STEP_2 = {
    "ational": "ate",
    "fulness": "ful",
    "iveness": "ive",
    "ization": "ize",
    "ousness": "ous",
    "biliti": "ble",
    "lessli": "less",
    "tional": "tion",
    "alism": "al",
    "aliti": "al",
    "ation": "ate",
    "entli": "ent",
    "fulli": "ful",
    "iviti": "ive",
    "ogist": "og",
    "ousli": "ous",
    "abli": "able",
    "alli": "al",
    "anci": "ance",
    "ator": "ate",
    "enci": "ence",
    "izer": "ize",
    "bli": "ble",
    "ogi": "og",
    "li": "",
}
_STEP_3 = {
    "ational": "ate",
    "tional": "tion",
    "alize": "al",
    "ative": "",
    "icate": "ic",
    "iciti": "ic",
    "ical": "ic",
    "ness": "",
    "ful": "",
}
_STEP_4 = (
    *("ement", "able", "ance", "ence", "ible", "ment", "ant", "ate", "ent", "ion", "ism", "iti", "ive", "ize", "ous"),
    *("al", "er", "ic"),
)
"""Each of these is removed. The longest come first."""

_Y_AFTER_A_VOWEL = re.compile("([aeiouy])y")
_UP_TO_A_REGION = re.compile("[^aeiouy]*[aeiouy]+[^aeiouy]")
_SHORT_SYLLABLE_AT_THE_END = re.compile(r"(?:[^aeiouy][aeiouy][^aeiouywxY]|\A[aeiouy][^aeiouy]|past)\Z", re.DOTALL)


def english_stem(word: str) -> str:
    """Return the stem of a word in lower case, for example `generat` of `generating` and `generated`."""
    if word in _STEMS:
        return _STEMS[word]
    if len(word) < 3:
        return word
    word = word.removeprefix("'")
    if word.startswith("y"):
        word = "Y" + word[1:]
    word = _Y_AFTER_A_VOWEL.sub(r"\1Y", word)  # a `Y` is a consonant
    r1, r2 = _regions(word)
    word = _without_plural(word)
    word = _without_past_and_participle(word, r1)
    if word[-1:] in ("y", "Y") and len(word) > 2 and word[-2] not in _VOWELS:
        word = word[:-1] + "i"
    word = _with_shorter_suffix(word, r1)
    word = _without_adjective_suffix(word, r1, r2)
    word = _without_noun_suffix(word, r2)
    word = _without_final_letter(word, r1, r2)
    return word.replace("Y", "y")


def _regions(word: str) -> tuple[int, int]:
    """Return where R1 and R2 begin: each after the first consonant that follows a vowel."""
    end = len(word)
    prefix = next((prefix for prefix in _PREFIXES_BEFORE_R1 if word.startswith(prefix)), "")
    if prefix:
        r1 = len(prefix)
    elif found := _UP_TO_A_REGION.match(word):
        r1 = found.end()
    else:
        return end, end
    found = _UP_TO_A_REGION.match(word, r1)
    return r1, found.end() if found else end


def _without_plural(word: str) -> str:
    """Step 1a, after step 0: `'s`."""
    for suffix in ("'s'", "'s", "'"):
        if word.endswith(suffix):
            word = word[: -len(suffix)]
            break
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith("s") and not word.endswith(("us", "ss")) and _has_a_vowel(word[:-2]):
        return word[:-1]
    return word


def _without_past_and_participle(word: str, r1: int) -> str:
    """Step 1b."""
    suffix = _longest(word, ("eedly", "ingly", "edly", "eed", "ing", "ed"))
    before = word.removesuffix(suffix)
    if suffix in ("", "eed", "eedly"):
        return before + "ee" if suffix and len(before) >= r1 and before not in _BEFORE_EED else word
    if suffix == "ing":
        if len(before) == 2 and before[0] not in _VOWELS and before[1] == "y":
            return before[0] + "ie"  # dying, lying, tying
        if before in _BEFORE_ING:
            return word
    if not _has_a_vowel(before):
        return word
    if before.endswith(("at", "bl", "iz")):
        return before + "e"
    if before.endswith(_DOUBLES):
        return before if len(before) == 3 and before[0] in "aeo" else before[:-1]
    return before + "e" if len(before) == r1 and _SHORT_SYLLABLE_AT_THE_END.search(before) else before


def _with_shorter_suffix(word: str, r1: int) -> str:
    """Step 2."""
    suffix = _longest(word, _STEP_2)
    before = word.removesuffix(suffix)
    if (
        not suffix
        or len(before) < r1
        or (suffix == "ogi" and not before.endswith("l"))
        or (suffix == "li" and not (before and before[-1] in _BEFORE_LI))
    ):
        return word
    return before + _STEP_2[suffix]


def _without_adjective_suffix(word: str, r1: int, r2: int) -> str:
    """Step 3."""
    suffix = _longest(word, _STEP_3)
    before = word.removesuffix(suffix)
    if not suffix or len(before) < (r2 if suffix == "ative" else r1):
        return word
    return before + _STEP_3[suffix]


def _without_noun_suffix(word: str, r2: int) -> str:
    """Step 4."""
    suffix = _longest(word, _STEP_4)
    before = word.removesuffix(suffix)
    if not suffix or len(before) < r2 or (suffix == "ion" and not before.endswith(("s", "t"))):
        return word
    return before


def _without_final_letter(word: str, r1: int, r2: int) -> str:
    """Step 5."""
    before = word[:-1]
    if word.endswith("e"):
        removed = len(before) >= r2 or (len(before) >= r1 and not _SHORT_SYLLABLE_AT_THE_END.search(before))
    else:
        removed = word.endswith("ll") and len(before) >= r2
    return before if removed else word


def _longest(word: str, suffixes: Iterable[str]) -> str:
    """Return the first of `suffixes` (the longest come first) that ends the word, or an empty text."""
    return next((suffix for suffix in suffixes if word.endswith(suffix)), "")


def _has_a_vowel(text: str) -> bool:
    return any(letter in _VOWELS for letter in text)
