"""Emit the normal form as one schema in the dialect of a target."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Final

from toolmason.schema.emit.any_value import any_value_parts, excluded_values
from toolmason.schema.emit.arrays import emit_array
from toolmason.schema.emit.context import (
    CLOSED,
    MAX_BYTES,
    MAX_BYTES_IF_RECURSIVE,
    MAX_DEPTH,
    MAX_NODES,
    MAX_TEXT,
    NO_DESCRIPTIONS,
    NO_REPEATED_LIMITS,
    SHORT_DESCRIPTIONS,
    TOO_MANY_BYTES,
    TOO_MANY_PARTS,
    EmitterContext,
    JsonSchema,
    Part,
    Position,
    SizeLimitError,
)
from toolmason.schema.emit.definitions import Definitions, is_definition
from toolmason.schema.emit.object_unions import merge_required_alternatives, merge_root_objects
from toolmason.schema.emit.objects import emit_object
from toolmason.schema.emit.rules import sort_rules, with_rules
from toolmason.schema.emit.scalars import emit_boolean, emit_number, emit_string
from toolmason.schema.emit.selection import Form, has_properties
from toolmason.schema.emit.unions import emit_union, with_default
from toolmason.schema.emit.values import copy_value
from toolmason.schema.findings import Finding, Severity
from toolmason.schema.keywords import JSON_TYPES, is_small, json_size
from toolmason.schema.mistakes import MISTAKES, root_mistake
from toolmason.schema.names import PropertyNames
from toolmason.schema.normal_form import ALL_TYPES, Branch, Conjunction, Node, identity_key
from toolmason.schema.normalize import Normalizer
from toolmason.schema.wording import append_sentences, first_sentence, join_descriptions, join_words

_MIN_NODE_BYTES: Final = len('{"type":"null"},')


class Emitter(EmitterContext):
    """Emits one schema for one dialect, with the parts that `form` keeps.

    With `keeps_references`, the author's definitions become definitions of the result.
    """

    def __init__(
        self,
        normalizer: Normalizer,
        target: str,
        names: PropertyNames,
        form: Form,
        *,
        keeps_references: bool = False,
    ) -> None:
        super().__init__(normalizer, target, names)
        self.is_recursive = False
        self.max_bytes = MAX_BYTES
        """Bytes above which the result is of no use; 0 if no copy of a recursive object is worth its bytes."""
        self.form = form
        self._keeps_references = keeps_references
        self._definitions = Definitions()
        self._active: dict[Hashable, int] = {}
        """The number of enclosing schemas for each recursion key."""

    def root(self) -> JsonSchema:
        """Return the schema of all arguments, which is one object.

        Raises:
            SizeLimitError: the result is too large, but fewer unrolls may fit.
        """
        node = self.normalizer.node(self.normalizer.root)
        self.report(node.findings)
        objects = node.objects
        self._report_other_types(node, objects)
        if not objects:
            objects, node = [Branch(type="object", pointer="")], node._replace(opaque_rules=())
        branch, sentences = objects[0], list[str]()
        if len(objects) > 1:
            branch, sentences = merge_root_objects(self, objects, node.opaque_rules)
        self._active = dict.fromkeys(self._recursion_keys(node, self.normalizer.root), 1)
        schema, text = emit_object(self, branch, node.description)
        rules = [*node.opaque_rules, *branch.opaque_rules]
        if "properties" not in schema:
            schema = {"type": schema["type"], "properties": {}, **schema}
        if self.dialect.strict_objects and rules and not schema["properties"]:
            self.find("", "additionalProperties", Severity.NARROWED, CLOSED)
        text = append_sentences(text, [*node.sentences, *sentences])
        text = with_rules(self, schema, text, rules, at_root=True)
        schema = sort_rules(self.describe(schema, self.names.in_text(text)))
        if self._keeps_references:
            self._definitions.complete(schema, self._emit_definition)
        return schema

    def report(self, findings: Sequence[Finding]) -> None:
        """Add findings, each once. Omit notes about inlined references if references are kept."""
        if self._keeps_references:
            findings = [item for item in findings if item.pattern != "$ref" or item.severity is not Severity.NOTE]
        super().report(findings)

    @property
    def repeats_limits(self) -> bool:
        """Whether descriptions repeat the limits of the current schema."""
        if not self.dialect.repeats_limits or not (self.form.is_lean and self.level > 1):
            return self.dialect.repeats_limits
        self.find("", "size", Severity.LOSSY, NO_REPEATED_LIMITS)
        return False

    def describe_reference(self, reference: JsonSchema, text: str) -> JsonSchema:
        """Return a reference to the same definition with a description."""
        return self._definitions.describe(reference, text)

    def _emit_definition(self, branch: Branch, description: str) -> JsonSchema:
        self.level = 1
        schema, text = emit_object(self, branch, description)
        return sort_rules(self.describe(schema, with_rules(self, schema, text, branch.opaque_rules)))

    def _report_other_types(self, node: Node, objects: Sequence[Branch]) -> None:
        mistake = root_mistake(self.normalizer.root[0].schema)
        if mistake in MISTAKES:
            self.find("", mistake, Severity.REFUSED, f"{MISTAKES[mistake]}, so no argument is known")
            return
        others = [branch.type for branch in node.branches if branch.type != "object"]
        if objects and not others:
            return
        names = join_words(others or ["no value"], "or")
        severity, message = Severity.NARROWED, f"arguments must be an object; {names} is omitted"
        if not objects:
            severity, message = Severity.REFUSED, f"arguments must be an object, but the schema accepts {names}"
        elif {branch.type for branch in node.branches}.issuperset(JSON_TYPES):
            severity, message = Severity.NOTE, "`type: object` is added"
        self.find("", "root-not-object", severity, message)

    def emit(self, conjunction: Conjunction, pointer: str, position: Position = Position.REQUIRED) -> JsonSchema | None:
        """Return the schema of a value below the root; see `EmitterContext.emit`."""
        node = self.normalizer.node(conjunction) if conjunction else Node(branches=ALL_TYPES, pointer=pointer)
        if node.findings:
            self.report(node.findings)
        if not node.branches:
            return None
        self.node_count += 1
        if self.level >= self.form.description_levels:
            node = self._without_text(node)
        if node.is_scalar and self._exceeded_limit() is None:
            return self._emit_scalar(node, position)
        keys = self._recursion_keys(node, conjunction)
        limit = self._exceeded_object_limit(node, keys) or self._exceeded_limit()
        if limit is not None:
            return self._fallback_schema(node, *limit, position)
        for key in keys:
            self._active[key] = self._active.get(key, 0) + 1
        self.level += 1
        schema = sort_rules(self._emit_node(node, position))
        self.level -= 1
        for key in keys:
            self._active[key] -= 1
        return schema

    def _without_text(self, node: Node) -> Node:
        """Return the node without the author's descriptions; an argument keeps the beginning of its own."""
        branches = tuple(
            [
                branch._replace(description="", enum_descriptions=())
                if branch.description or branch.enum_descriptions
                else branch
                for branch in node.branches
            ]
        )
        description = "" if self.level else first_sentence(node.description)
        if description != node.description or node.sentences or branches != node.branches:
            self.find("", "size", Severity.LOSSY, NO_DESCRIPTIONS if self.level else SHORT_DESCRIPTIONS)
        return node._replace(branches=branches, description=description, sentences=())

    def _recursion_keys(self, node: Node, conjunction: Conjunction) -> Sequence[Hashable]:
        """Return what identifies a recursive node: its objects, however they are wrapped, or else its schemas."""
        objects = node.objects
        if not objects or (self._keeps_references and any(map(is_definition, objects))):
            return [identity_key(conjunction)]
        return [(branch.pointer or node.pointer,) for branch in objects]

    def _exceeded_object_limit(self, node: Node, keys: Sequence[Hashable]) -> tuple[str, str] | None:
        """Return the pattern and message of an exceeded limit of objects."""
        # A cycle may begin at a list of objects, which must not be cut before the objects.
        depth = max(self._active.get(key, 0) for key in keys) - (not node.has_object)
        if depth > 0 and any(keys):
            if not self.is_recursive and self.form.unrolls:
                self.max_bytes = _max_bytes_if_recursive(self.normalizer.root[0].schema)
            self.is_recursive = True
            if depth > self.form.unrolls:
                return "recursion", "recursive schema; deeper levels accept any value"
        selection = self.form.selection
        if selection is None or not node.has_object or tuple(self.path) in selection.objects:
            return None
        return ("size", TOO_MANY_BYTES) if has_properties(node.objects) else None

    def _exceeded_limit(self) -> tuple[str, str] | None:
        """Return the pattern and message of an exceeded limit of all values.

        Raises:
            SizeLimitError: fewer objects may fit.
        """
        if self.dialect.max_levels is not None and self.level >= self.dialect.max_levels:
            self.find("", "depth", Severity.REFUSED, f"the provider accepts {self.dialect.max_levels} levels")
        if self.level >= MAX_DEPTH:
            return "depth", f"more than {MAX_DEPTH} levels; deeper ones accept any value"
        # References to one definition share its description.
        min_bytes = _MIN_NODE_BYTES * self.node_count + (0 if self._keeps_references else self.char_count)
        if min_bytes > self.max_bytes and self.form.selection is None:
            raise SizeLimitError
        return ("size", TOO_MANY_PARTS) if self.node_count > MAX_NODES or self.char_count > MAX_TEXT else None

    def _fallback_schema(self, node: Node, pattern: str, message: str, position: Position) -> JsonSchema:
        """Return only the types of a node beyond a limit."""
        types = list(dict.fromkeys(branch.type for branch in node.branches))
        self.find(node.pointer, pattern, Severity.NARROWED if "array" in types else Severity.LOSSY, message)
        branches = tuple(Branch(type=json_type, pointer=node.pointer) for json_type in types)
        description = node.description if pattern == "size" else ""
        selection = self.form.selection
        like = selection.like(node.objects) if selection is not None and pattern == "size" else ""
        sentences = (f"Like `{like}`",) if like else ()
        bare = Node(branches=branches, pointer=node.pointer, description=description, sentences=sentences)
        if bare.accepts_any_value:
            return self._emit_any_value(bare, position)
        parts = [part for branch in branches if branch.type != "null" for part in self._emit_branch(branch)]
        return emit_union(self, parts, bare, position)

    def _emit_node(self, node: Node, position: Position) -> JsonSchema:
        self._report_title(node)
        emit = self._emit_any_value if node.accepts_any_value else self._emit_types
        schema = emit(node, position)
        for keyword, value in node.annotations.items():
            if keyword in self.dialect.kept_annotations:
                schema[keyword] = copy_value(value)
        return schema

    def _emit_types(self, node: Node, position: Position) -> JsonSchema:
        branches = [
            branch if branch.pointer or not node.pointer else branch._replace(pointer=node.pointer)
            for branch in merge_required_alternatives(self, node)
            if branch.type != "null"
        ]
        if branches and node.description and not self.dialect.allows_keywords_beside_any_of:
            description = join_descriptions(node.description, branches[0].description)
            branches[0] = branches[0]._replace(description=description)
            node = node._replace(description="")
        parts = [part for branch in branches for part in self._emit_branch(branch)]
        return emit_union(self, parts, node, position)

    def _emit_scalar(self, node: Node, position: Position) -> JsonSchema:
        """Return the schema of a scalar, which cannot contain itself."""
        if node.is_plain_scalar and not self.dialect.strict_objects:
            return self._emit_plain(node)
        self.level += 1
        schema = sort_rules(self._emit_node(node, position))
        self.level -= 1
        return schema

    def _emit_plain(self, node: Node) -> JsonSchema:
        self._report_title(node)
        branch = node.branches[0]
        text = append_sentences(join_descriptions(node.description, branch.description), node.sentences)
        return with_default(self, self.describe({"type": self.type_name(branch.type)}, text), node)

    def _report_title(self, node: Node) -> None:
        if node.title:
            self.find(node.pointer, "title", Severity.NOTE, "`title` is omitted")

    def _emit_any_value(self, node: Node, position: Position) -> JsonSchema:
        if self.dialect.allows_empty_schema:
            schema: JsonSchema = {}
            text = append_sentences(node.description, node.sentences)
            text = with_rules(self, schema, text, node.opaque_rules)
            return with_default(self, self.describe(schema, text), node)
        message = f"any value is written as a union of types; {excluded_values(self)}"
        self.find(node.pointer, "any", Severity.NARROWED, message)
        parts = [(part, "") for part in any_value_parts(self, 1)]
        return emit_union(self, parts, node._replace(branches=ALL_TYPES), position)

    def _emit_branch(self, branch: Branch) -> Iterator[Part]:
        match branch.type:
            case "object" if self._keeps_references and is_definition(branch):
                yield self._definitions.refer(branch, ""), branch.description
            case "object":
                schema, text = emit_object(self, branch, branch.description)
                yield schema, with_rules(self, schema, text, branch.opaque_rules)
            case "array":
                yield emit_array(self, branch)
            case "string":
                yield from emit_string(self, branch)
            case "boolean":
                yield emit_boolean(self, branch)
            case "null":
                yield {"type": self.type_name("null")}, branch.description
            case _:
                yield from emit_number(self, branch)


def _max_bytes_if_recursive(original: Any) -> int:
    size = json_size(original) if is_small(original) else MAX_BYTES
    return max(MAX_BYTES_IF_RECURSIVE, size * 3 // 2) if size <= MAX_BYTES // 2 else 0
