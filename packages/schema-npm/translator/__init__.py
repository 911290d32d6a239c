"""Translate the schema library from Python to JavaScript, so that the npm package and the wheel have one source.

The translator accepts the plain subset of Python that the library uses, and stops with the file and the line of
anything else. Values keep their Python semantics: `src/runtime.js` has the operators, methods and builtins.

    dict -> Map            list, tuple -> Array     set, frozenset -> Set       None -> null
    int  -> number, or bigint beyond 2**53          float -> number             StrEnum member -> its string
    NamedTuple, dataclass -> class with the same attributes; functions take positional arguments only
"""

from translator.program import Program
from translator.regexes import to_js_pattern
from translator.statements import translate

__all__ = ["Program", "to_js_pattern", "translate"]
