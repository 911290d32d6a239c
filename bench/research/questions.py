"""Thirty questions with known places, written by hand before anything was measured, in words and not in identifiers.

Half of them, `is_tuning`, may be looked at while the ranking is changed. The others are only measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a tree. The answer is at the line of `path` that begins with `line`, apart from indentation."""

    tree: str
    text: str
    path: str
    line: str
    is_tuning: bool


def _questions(tree: str, is_tuning: bool, *rows: tuple[str, str, str]) -> tuple[Question, ...]:
    return tuple(Question(tree, text, path, line, is_tuning) for text, path, line in rows)


QUESTIONS: Final = (
    *_questions(
        "toolmason",
        True,
        (
            (
                "When a person approves a suggested edit, which code finally writes the new content to disk, and what "
                "happens if the file was changed in the meantime?"
            ),
            "handlers/workbench_handlers/editing/reviews/settle.py",
            "def settle(",
        ),
        (
            (
                "How are invisible or direction-changing characters made visible before text from strangers reaches "
                "the model?"
            ),
            "runtime/toolmason_runtime/shared/visible_text.py",
            "def visible(",
        ),
        (
            (
                "How does the server make sure that a symbolic link which is swapped in at the last moment is not "
                "followed when a file is opened?"
            ),
            "handlers/workbench_handlers/workspace/open.py",
            "def _open_beneath(",
        ),
        (
            "Where does it wait before asking the model again after a temporary failure, and how long?",
            "handlers/workbench_research/backends/retry.py",
            "def calculate_delay(",
        ),
        (
            "How is the shape of a parameter simplified for providers that cannot handle several alternative objects?",
            "generator/toolmason/schema/emit/object_unions.py",
            "def merge_root_objects(",
        ),
    ),
    *_questions(
        "toolmason",
        False,
        (
            (
                "Where is the secret that clients have to send to the web endpoint created, and how does it survive a "
                "restart?"
            ),
            "runtime/toolmason_runtime/transports/bearer_token.py",
            "def own_token(",
        ),
        (
            "How does it work out how many tokens a piece of text costs without a vocabulary?",
            "runtime/toolmason_runtime/shared/tokens.py",
            "def estimate_tokens(",
        ),
        (
            "If a tool is called with wrong arguments, where is the suggestion of what to send instead put together?",
            "runtime/toolmason_runtime/calls/correction.py",
            "def corrected(",
        ),
        (
            "How does the import of a command line program figure out the order of its arguments from a help text?",
            "generator/toolmason/importers/command_line/help/usage.py",
            "def parse_usage(",
        ),
        (
            "What keeps a foreign website from talking to the local page on which edits are approved?",
            "handlers/workbench_handlers/editing/surfaces/pages/access.py",
            "class AccessMiddleware",
        ),
    ),
    *_questions(
        "pydantic",
        True,
        (
            "How is a validated object turned back into a plain dictionary, leaving out values that were not set?",
            "main.py",
            "def model_dump(",
        ),
        (
            "Where is a size with a unit, such as 3 kB or 2 MiB, read into a count of bytes?",
            "types.py",
            "class ByteSize(",
        ),
        (
            "How does it pick which of several classes to use for a value, based on one field that tells them apart?",
            "_internal/_discriminated_union.py",
            "def apply_discriminator(",
        ),
        (
            "What makes camel case names for fields automatically?",
            "alias_generators.py",
            "def to_camel(",
        ),
        (
            "How are the comments under attributes in the source used as their descriptions?",
            "_internal/_docs_extraction.py",
            "def extract_docstrings_from_cls(",
        ),
    ),
    *_questions(
        "pydantic",
        False,
        (
            "How are the arguments of an ordinary decorated function checked each time it is called?",
            "_internal/_validate_call.py",
            "class ValidateCallWrapper",
        ),
        (
            "Where is it enforced that the number of a payment card has a correct check digit?",
            "types.py",
            "def validate_luhn_check_digit(",
        ),
        (
            "What makes assigning to an attribute of an immutable instance fail?",
            "main.py",
            "def _check_frozen(",
        ),
        (
            "What tells a static type checker about the generated constructor of a class?",
            "mypy.py",
            "def add_initializer(",
        ),
        (
            "How are references to shared definitions named when the schema document describing the data is produced?",
            "json_schema.py",
            "def get_defs_ref(",
        ),
    ),
    *_questions(
        "sqlalchemy",
        True,
        (
            "What happens when more connections are requested than the pool may hold, and how long does a caller wait?",
            "pool/impl.py",
            '"QueuePool limit of size',
        ),
        (
            "In which order are changed objects written to the database when pending work is flushed?",
            "orm/unitofwork.py",
            "def _generate_actions(",
        ),
        (
            "What happens to generated names in a statement that are longer than the database allows?",
            "sql/compiler.py",
            "def _truncated_identifier(",
        ),
        (
            "How can a part of a transaction be undone on its own while the outer one goes on?",
            "engine/base.py",
            "class NestedTransaction(",
        ),
        (
            "How is the old value of an attribute remembered after it was changed on an object?",
            "orm/attributes.py",
            "class History(",
        ),
    ),
    *_questions(
        "sqlalchemy",
        False,
        (
            "How is a compiled statement reused from a cache when the same query is made again with other values?",
            "sql/elements.py",
            "def _compile_w_cache(",
        ),
        (
            "Where does it find out that the server closed an idle connection, before handing it out of the pool?",
            "pool/base.py",
            "if pool._pre_ping:",
        ),
        (
            "How is the password in a database address hidden when it is printed?",
            "engine/url.py",
            "def render_as_string(",
        ),
        (
            "What loads the related rows of many parents with one additional query that has a list of their keys?",
            "orm/strategies.py",
            "class _SelectInLoader(",
        ),
        (
            "How can rows be fetched in growing batches instead of all being read into memory at once?",
            "engine/cursor.py",
            "class BufferedRowCursorFetchStrategy(",
        ),
    ),
)
