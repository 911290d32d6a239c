"""Pydantic models of one category, written by datamodel-code-generator.

Importing that costs about a second, so it is asked only when a schema has changed: the hash of what it was
given stands in the file it made.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from toolwright import compile_schema
from toolwright.model import Category

_MARK = re.compile(r"^# schemas: sha256 ([0-9a-f]{32})$", re.MULTILINE)


def schemas(category: Category) -> dict[str, Any]:
    """Give the schemas that the models of `category` are made from: its types, then a tool's parameters each."""
    definitions = compile_schema.definitions(category.types)
    for tool in category.tools:
        if tool.params_class:
            definitions[tool.params_class] = compile_schema.exact(tool.params, f"Arguments of `{tool.name}`.")
    return {"$defs": definitions}


def digest(source: dict[str, Any]) -> str:
    """Give the hash of `source` as it stands in the file."""
    return hashlib.sha256(json.dumps(source).encode()).hexdigest()[:32]


def models(category: Category, before: str) -> str:
    """Give the models of `category` as source below the module's docstring: a mark, imports and classes.

    `before` is the file of an earlier run, or empty: where its mark says that the schemas are the same,
    what follows the mark there is given again.
    """
    source = schemas(category)
    mark = _MARK.search(before)
    if mark is not None and mark[1] == digest(source):
        return before[mark.start() :]
    return f"# schemas: sha256 {digest(source)}\n{_sorted_imports(_generated(source))}"


_IMPORT = re.compile(r"^from (\S+) import (.+)$", re.MULTILINE)


def _sorted_imports(text: str) -> str:
    """Group the imports as this project does; datamodel-code-generator leaves that to a formatter."""
    found = {module: f"from {module} import {names}" for module, names in _IMPORT.findall(text)}
    groups = [
        [line for module, line in sorted(found.items()) if module in group]
        for group in (("__future__",), ("typing",), ("pydantic", "toolwright_runtime.model"))
    ]
    known = sum(len(group) for group in groups)
    if known != len(found):
        raise AssertionError(f"datamodel-code-generator imports something new: {sorted(found)}")
    head = "\n\n".join("\n".join(group) for group in groups if group)
    return f"{head}\n\n\n{_IMPORT.sub('', text).strip()}\n"


def _generated(source: dict[str, Any]) -> str:
    if not source["$defs"]:
        return "from __future__ import annotations\n"
    from datamodel_code_generator import InputFileType, LiteralType, PythonVersion, generate
    from datamodel_code_generator.enums import DataModelType

    text = generate(
        json.dumps(source),
        input_file_type=InputFileType.JsonSchema,
        output_model_type=DataModelType.PydanticV2BaseModel,
        target_python_version=PythonVersion.PY_311,
        base_class="toolwright_runtime.model.Model",
        custom_file_header=" ",
        disable_timestamp=True,
        enum_field_as_literal=LiteralType.All,
        field_constraints=True,
        formatters=[],
        skip_root_model=True,
        strict_nullable=True,
        use_annotated=True,
        use_double_quotes=True,
        use_field_description=True,
        use_schema_description=True,
        use_single_line_docstring=True,
        use_standard_collections=True,
        use_union_operator=True,
    )
    return str(text)
