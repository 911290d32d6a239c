"""Every code that a diagnostic can bear, with its rule: the one table that `explain`, `report` and the docs read.

TM1xx: the file cannot be read. TM2xx: a key or a value is not as it should be. TM3xx: names and references.
TM4xx: `[[files]]`. TM5xx: lint. TM6xx: drift.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule. `title` is a sentence without its full stop; `bad` and `good` are pieces of a manifest."""

    code: str
    title: str
    why: str
    bad: str
    good: str


_RULES: Final = (
    Rule(
        code="TM101",
        title="The manifest cannot be read",
        why="Everything is made from the manifest, so without it there is nothing to do.",
        bad="# manifest/catalog.toml is missing, a folder, or may not be read",
        good="# manifest/catalog.toml is a file that you may read",
    ),
    Rule(
        code="TM102",
        title="The manifest is not UTF-8",
        why="TOML is always UTF-8. Guessing another encoding would garble texts that every client then shows.",
        bad="# saved as Latin-1: the one byte E9 stands for an accented e",
        good="# saved as UTF-8: the two bytes C3 A9 stand for it",
    ),
    Rule(
        code="TM103",
        title="The manifest is not TOML",
        why="The parser cannot go on behind a mistake in the syntax: this one stands alone: mend it to see the rest.",
        bad="""
[tools.search]
summary = Search the catalog
""",
        good="""
[tools.search]
summary = "Search the catalog"
""",
    ),
    Rule(
        code="TM104",
        title="The manifest starts with a byte order mark",
        why="TOML does not allow one, and other tools that read the file would stumble over it.",
        bad="\ufeffedition = 1",
        good="edition = 1",
    ),
    Rule(
        code="TM105",
        title="A key or table is given twice",
        why="TOML allows each key once. Taking the last one would silently drop what somebody wrote.",
        bad="""
[tools.search]
summary = "Search the catalog"
summary = "Search books"
""",
        good="""
[tools.search]
summary = "Search the catalog"
""",
    ),
    Rule(
        code="TM106",
        title="Arrays or tables nest too deeply to be read",
        why="The parser works level by level and stops at a few hundred. No manifest needs more than a few.",
        bad="# ext.value = [[[[ ... hundreds of brackets ... ]]]]",
        good="ext.value = [[1, 2], [3, 4]]",
    ),
    Rule(
        code="TM107",
        title="A number has too many digits to be read",
        why="TOML's integers have 64 bits, which are nineteen digits; Python refuses to read thousands.",
        bad="# maximum = 999...  (thousands of digits)",
        good="maximum = 9223372036854775807",
    ),
    Rule(
        code="TM108",
        title="There are more findings than are shown",
        why="A list of thousands helps nobody and can fill a terminal or a log. The most severe of them are shown.",
        bad="# thousands of unknown keys",
        good="# the first of them fixed, and the check run again",
    ),
    Rule(
        code="TM201",
        title="The manifest is of an edition that is not known here",
        why="A later edition may give old keys a new meaning, so nothing else in the file is judged.",
        bad="edition = 2",
        good="edition = 1",
    ),
    Rule(
        code="TM202",
        title="A key is missing",
        why="What has no sensible default must be said: without hints, for one, no client runs a tool unasked.",
        bad="""
[categories.films]
tags = ["library"]
""",
        good="""
[categories.films]
summary = "Find and lend films"
tags = ["library"]
""",
    ),
    Rule(
        code="TM203",
        title="A key is not known",
        why="A misspelt key would otherwise be ignored, and its default would win without a word.",
        bad="""
[tools.search]
sumary = "Search the catalog"
""",
        good="""
[tools.search]
summary = "Search the catalog"
""",
    ),
    Rule(
        code="TM204",
        title="A value is of the wrong type",
        why="Nothing is converted here: the text `false` is not the boolean, and a boolean is no number.",
        bad="""
[discovery]
split_calls = "false"
""",
        good="""
[discovery]
split_calls = false
""",
    ),
    Rule(
        code="TM205",
        title="A text is longer than allowed",
        why="Summaries share one search answer with a token budget, and clients cut long texts in mid-sentence.",
        bad="""
[tools.search]
summary = "Search the catalog by title, author, publisher, year, subject or any other field that it has"
""",
        good="""
[tools.search]
summary = "Search the catalog by any of its fields"
""",
    ),
    Rule(
        code="TM206",
        title="A text does not have the form that its key asks for",
        why="Names become Python modules and parts of tool names, where other characters break code or clients.",
        bad="""
[server]
name = "my_server"
""",
        good="""
[server]
name = "my-server"
""",
    ),
    Rule(
        code="TM207",
        title="A value is none of its key's choices",
        why="Each choice is carried out by code of its own; there is none for anything else.",
        bad="""
[discovery]
style = "search"
""",
        good="""
[discovery]
style = "search-call"
""",
    ),
    Rule(
        code="TM208",
        title="A number is smaller than allowed",
        why="Below its limit the setting cannot work: a page with no tools on it, a text of less than no characters.",
        bad="""
[server]
page_size = 0
""",
        good="""
[server]
page_size = 250
""",
    ),
    Rule(
        code="TM209",
        title="Something is empty that must say something",
        why="Models choose tools by these texts, and an empty list of values would allow no call at all.",
        bad="""
[categories.books]
summary = ""
""",
        good="""
[categories.books]
summary = "Find and lend books"
""",
    ),
    Rule(
        code="TM210",
        title="A text that stands in one line holds a line break or a control character",
        why="Summaries and titles are printed in menus, tables and lists, which a second line would tear apart.",
        bad='''
[categories.books]
summary = """
Find books,
and lend them"""
''',
        good="""
[categories.books]
summary = "Find and lend books"
""",
    ),
    Rule(
        code="TM211",
        title="A tool states its parameters twice",
        why="`params` is the grammar, `input_schema` raw JSON Schema for what it cannot say. Two would drift apart.",
        bad="""
[tools.search]
params.query = { type = "string" }
input_schema = { type = "object", properties = { query = { type = "string" } } }
""",
        good="""
[tools.search]
params.query = { type = "string" }
""",
    ),
    Rule(
        code="TM212",
        title="Nothing says how a tool is carried out, or two things do",
        why="A tool that is listed must do something when it is called, by a function of yours (`handler`) or a program (`cli`).",
        bad="""
[tools.search]
summary = "Search the catalog"
""",
        good="""
[tools.search]
summary = "Search the catalog"
handler = "catalog:search"
""",
    ),
    Rule(
        code="TM213",
        title="A value is required and has a default",
        why="A default is what stands in for a value that was left out; a required one never is.",
        bad="""
[types.Page]
fields.size = { type = "integer", required = true, default = 20 }
""",
        good="""
[types.Page]
fields.size = { type = "integer", default = 20 }
""",
    ),
    Rule(
        code="TM214",
        title="A value cannot be carried by JSON",
        why="Arguments, defaults and schemas travel as JSON, which has no dates, no infinity and no endless integers, "
        "and whose readers stop at some depth.",
        bad="""
[types.Page]
fields.since = { type = "string", default = 2026-01-31 }
""",
        good="""
[types.Page]
fields.since = { type = "string", default = "2026-01-31" }
""",
    ),
    Rule(
        code="TM215",
        title="A key has no effect without another",
        why="It was written to change something, and nothing would change.",
        bad="""
[tools.search]
verbatim_schema = true
params.query = { type = "string" }
""",
        good="""
[tools.search]
verbatim_schema = true
input_schema = { type = "object", properties = { query = { type = "string" } } }
""",
    ),
    Rule(
        code="TM216",
        title="A key does not go with how the tool is carried out",
        why="A handler knows nothing of command lines; the hints of a program follow from its risk, and what it gives is text.",
        bad="""
[tools.search]
handler = "catalog:search"
params.query = { type = "string", flag = "--query" }
""",
        good="""
[tools.search]
handler = "catalog:search"
params.query = { type = "string" }
""",
    ),
    Rule(
        code="TM217",
        title="A parameter goes to two places on a command line",
        why="Its value is written once: as an option, as an argument without one, to the standard input, or as the folder.",
        bad="""
[tools.git_show]
summary = "Show one commit"
category = "git"
cli = "git"
argv = ["show"]
risk = "read"
params.commit = { type = "string", flag = "--commit", positional = true }
""",
        good="""
[tools.git_show]
summary = "Show one commit"
category = "git"
cli = "git"
argv = ["show"]
risk = "read"
params.commit = { type = "string", positional = true }
""",
    ),
    Rule(
        code="TM219",
        title="Path in `reads`, `writes` or `executes` is relative or has an unknown placeholder",
        why="`reads`, `writes` and `executes` confine a program. A relative path would confine it to something else each time, "
        "and an unknown placeholder to nothing that exists.",
        bad="""
[clis.git]
command = ["git"]
reads = ["src"]
""",
        good="""
[clis.git]
command = ["git"]
reads = ["{roots}", "~/.gitconfig"]
""",
    ),
    Rule(
        code="TM221",
        title="A key of `ext` is not a `_meta` key of MCP",
        why="`ext` is sent as `_meta`, whose keys are a name or `prefix/name`; the labels of a prefix are joined by dots.",
        bad="""
[tools.search]
ext = { "max size" = 100000 }
""",
        good="""
[tools.search]
ext = { "anthropic/maxResultSizeChars" = 100000 }
""",
    ),
    Rule(
        code="TM222",
        title="A key of `ext` has a prefix that MCP reserves",
        why="Prefixes whose first or second label is `mcp` or `modelcontextprotocol` belong to the protocol itself.",
        bad="""
[tools.search]
ext = { "io.modelcontextprotocol/cost" = 3 }
""",
        good="""
[tools.search]
ext = { "com.example/cost" = 3 }
""",
    ),
    Rule(
        code="TM223",
        title="A bare word is the flag of a parameter that is not a boolean",
        why="Only a boolean can have a bare word as flag; before a value, the word would be a separate argument.",
        bad="""
[tools.git_log]
summary = "Show the latest commits"
category = "git"
cli = "git"
argv = ["log"]
risk = "read"
params.limit = { type = "integer", flag = "limit" }
""",
        good="""
[tools.git_log]
summary = "Show the latest commits"
category = "git"
cli = "git"
argv = ["log"]
risk = "read"
params.limit = { type = "integer", flag = "limit=" }
""",
    ),
    Rule(
        code="TM224",
        title="An exit code cannot occur",
        why="Programs end with a code from 0 to 255. A number outside of that would never match.",
        bad="""
[tools.git_log]
summary = "Show the latest commits"
category = "git"
cli = "git"
argv = ["log"]
risk = "read"
ok_exit_codes = [-1]
""",
        good="""
[tools.git_log]
summary = "Show the latest commits"
category = "git"
cli = "git"
argv = ["log"]
risk = "read"
ok_exit_codes = [1]
""",
    ),
    Rule(
        code="TM301",
        title="A tool stands in a category that is not declared",
        why="Categories order the docs, the models and the search; a misspelt one would make a group of its own.",
        bad="""
[categories.books]
summary = "Find books"

[tools.find_books]
category = "boks"
""",
        good="""
[categories.books]
summary = "Find books"

[tools.find_books]
category = "books"
""",
    ),
    Rule(
        code="TM302",
        title="A value has a type that is not declared",
        why="A type is a primitive or a name from `[types]`. Anything else could only be guessed at, and clients would be sent a lie.",
        bad='params.filter = { type = "Fliter" }',
        good="""
params.filter = { type = "Filter" }

[types.Filter]
fields.author = { type = "string" }
""",
    ),
    Rule(
        code="TM303",
        title="A type is not written as one, or its name is none",
        why="The grammar is small on purpose: `string`, `integer`, `number`, `boolean`, `object`, a name, `T[]` and `map<T>`.",
        bad='params.words = { type = "list of string" }',
        good='params.words = { type = "string[]" }',
    ),
    Rule(
        code="TM304",
        title="A related or replacing tool does not exist",
        why="Models follow these names. One that leads nowhere costs them a call and their trust in the rest.",
        bad='related = ["find_author"]',
        good='related = ["find_authors"]',
    ),
    Rule(
        code="TM305",
        title="A pinned tool, a command or a workflow names a tool that does not exist",
        why="What people and models are told to use must be there.",
        bad="""
[discovery]
pinned = ["find_book"]
""",
        good="""
[discovery]
pinned = ["find_books"]
""",
    ),
    Rule(
        code="TM306",
        title="Two names are different here and the same in the output",
        why="Tools and types become Python classes and constants, categories modules and options flags, and aliases are called "
        "like tools. One would hide the other.",
        bad="""
[tools.find-books]
[tools.find_books]
""",
        good="""
[tools.find_books]
[tools.find_old_books]
""",
    ),
    Rule(
        code="TM307",
        title="A parameter has a type that contains itself",
        why="No schema without references can say that, and references are what clients lose first. Results may be recursive.",
        bad="""
[types.Folder]
fields.folders = { type = "Folder[]" }

[tools.sort]
params.tree = { type = "Folder" }
""",
        good="""
[types.Folder]
fields.path = { type = "string" }

[tools.sort]
params.folders = { type = "Folder[]" }
""",
    ),
    Rule(
        code="TM308",
        title="A constraint does not apply to the type",
        why="JSON Schema would ignore it without a word, and so the limit its author wanted would not be there.",
        bad='params.query = { type = "string", minimum = 1 }',
        good='params.query = { type = "string", min_length = 1 }',
    ),
    Rule(
        code="TM309",
        title="A default does not fit its own type or limits",
        why="The default is what runs when the model says nothing; it must be a call that the tool would take.",
        bad='params.limit = { type = "integer", maximum = 50, default = 100 }',
        good='params.limit = { type = "integer", maximum = 50, default = 50 }',
    ),
    Rule(
        code="TM310",
        title="An example does not fit the schema of its tool",
        why="Examples are copied by models as they stand. One that is refused teaches a mistake.",
        bad="""
params.query = { type = "string" }

[[tools.find_books.examples]]
description = "By title"
arguments = { qurey = "Dune" }
""",
        good="""
params.query = { type = "string" }

[[tools.find_books.examples]]
description = "By title"
arguments = { query = "Dune" }
""",
    ),
    Rule(
        code="TM311",
        title="A tool, an alias or a meta-tool has a name that clients refuse",
        why="Providers take letters, digits, underscores and dashes, 64 characters with the `mcp__<server>__` that clients put before it. One name beyond that fails the whole request.",
        bad='[tools."books.find"]',
        good="[tools.find_books]",
    ),
    Rule(
        code="TM312",
        title="The function that carries a tool out, the lifespan, or another one of the server is not there",
        why="The generated package imports it. Without it every tool of the category would fail at its first call.",
        bad='handler = "books:serach"',
        good='handler = "books:search"',
    ),
    Rule(
        code="TM313",
        title="A raw `input_schema` cannot be served",
        why="It must be JSON Schema 2020-12 with an object at its root, and no reference may be left when it is sent.",
        bad='input_schema = { "$ref" = "https://example.com/schema.json" }',
        good='input_schema = { type = "object", properties = { query = { type = "string" } } }',
    ),
    Rule(
        code="TM314",
        title="A choice is of the wrong type, empty or given twice",
        why="Gemini refuses the whole request for an empty choice, and every client for one of another type.",
        bad='params.order = { type = "string", enum = ["title", ""] }',
        good='params.order = { type = "string", enum = ["title", "author"] }',
    ),
    Rule(
        code="TM315",
        title="The result type of a tool is not declared",
        why="`returns` names a type from `[types]`: results are objects in every version of the protocol.",
        bad='returns = "SearchResults"',
        good="""
returns = "SearchResult"

[types.SearchResult]
fields.titles = { type = "string[]" }
""",
    ),
    Rule(
        code="TM316",
        title="A parameter or field has a name that providers refuse",
        why="Anthropic takes letters, digits, `_`, `.` and `-`, 64 at most, and Vertex no digit in front. One such name fails every request.",
        bad='params."$top" = { type = "integer" }',
        good='params.top = { type = "integer" }',
    ),
    Rule(
        code="TM317",
        title="A name is taken by what is generated",
        why="Categories become modules beside `catalogue` and `server`, tools stand beside the meta-tools of every style, options "
        "beside the server's own flags, subcommands beside `serve`, and packages beside all that Python can import.",
        bad="""
[categories.server]
summary = "About the server"
""",
        good="""
[categories.about]
summary = "About the server"
""",
    ),
    Rule(
        code="TM318",
        title="A lower bound lies above its upper bound",
        why="No value could ever satisfy it, so the tool could not be called.",
        bad='params.limit = { type = "integer", minimum = 50, maximum = 1 }',
        good='params.limit = { type = "integer", minimum = 1, maximum = 50 }',
    ),
    Rule(
        code="TM319",
        title="A pattern is not a regular expression that the server and clients both read",
        why="The server checks arguments with it; one that does not compile would fail at the first call. Clients read it "
        "as ECMA 262, so what is Python's alone would fail there.",
        bad='params.isbn = { type = "string", pattern = "[0-9" }',
        good='params.isbn = { type = "string", pattern = "[0-9]" }',
    ),
    Rule(
        code="TM320",
        title="A command or workflow has a name that cannot be a file's",
        why="Each becomes a file in every host's folder, and a slash in its name would put it elsewhere.",
        bad='[commands."../find"]',
        good="[commands.find]",
    ),
    Rule(
        code="TM321",
        title="A type nests too deep, or is too large when written out",
        why="Clients lose references, so each type is written out wherever it is used. Providers refuse what nests beyond "
        "about ten levels, and no model reads twenty thousand values.",
        bad="# nine types, each with a field of the next",
        good="# the innermost as `object`, or two tools instead of one",
    ),
    Rule(
        code="TM322",
        title="A tool is named where that says nothing",
        why="A tool that is related to itself, or pinned twice, or pinned but never listed: its author meant another.",
        bad="""
[tools.lend]
related = ["lend"]
""",
        good="""
[tools.lend]
related = ["reserve"]
""",
    ),
    Rule(
        code="TM323",
        title="A tool runs a program that is not declared",
        why="`[clis.NAME]` says what is started and what it may know; without it there is nothing to run.",
        bad="""
[clis.git]
command = ["git"]

[tools.git_log]
cli = "gti"
""",
        good="""
[clis.git]
command = ["git"]

[tools.git_log]
cli = "git"
""",
    ),
    Rule(
        code="TM324",
        title="A parameter is of a type that has no place on a command line",
        why="A command line is a list of texts. Objects, maps and null have no form there, and true or false only as an option.",
        bad="""
[tools.git_log]
cli = "git"
params.filter = { type = "map<string>" }
""",
        good="""
[tools.git_log]
cli = "git"
params.filter = { type = "string[]", flag = "--filter=" }
""",
    ),
    Rule(
        code="TM325",
        title="Parameters of a command line stand in each other's way",
        why="Behind an optional or repeated argument nobody can tell which is which, and a program has one standard input, one "
        "folder, and one meaning for each option.",
        bad="""
params.paths = { type = "string[]", positional = true }
params.branch = { type = "string", positional = true }
""",
        good="""
params.branch = { type = "string", positional = true }
params.paths = { type = "string[]", positional = true }
""",
    ),
    Rule(
        code="TM326",
        title="The risk of a tool does not fit its parameters",
        why="A value that is not listed counts as destructive, so a misspelt or forgotten one asks people for what is harmless.",
        bad="""
risk.method = { GET = "read", DELTE = "destructive" }
params.method = { type = "string", enum = ["GET", "DELETE"] }
""",
        good="""
risk.method = { GET = "read", DELETE = "destructive" }
params.method = { type = "string", enum = ["GET", "DELETE"] }
""",
    ),
    Rule(
        code="TM327",
        title="A default or a choice can never be passed to the program",
        why="A text that starts with `-` could be taken for an option, and a line break ends an operand: the runtime refuses both, "
        "so a tool with such a default would refuse every call that leaves the parameter out.",
        bad="""
params.range = { type = "string", positional = true, default = "-1" }
""",
        good="""
params.range = { type = "string", flag = "--range=", default = "-1" }
""",
    ),
    Rule(
        code="TM337",
        title="The project's pyproject.toml cannot be read",
        why="Its `[project.scripts]` decides how client files start the server: by its own command, or by `toolmason run`.",
        bad='# pyproject.toml\n[project.scripts\ncatalog = "catalog_server.__main__:main"',
        good='# pyproject.toml\n[project.scripts]\ncatalog = "catalog_server.__main__:main"',
    ),
    Rule(
        code="TM339",
        title="`confirm` names something that is not a parameter of its tool",
        why="`{name}` in the question is replaced by the value of that parameter. A misspelt one would leave the person without it.",
        bad="""
confirm = "Delete {pth}?"
params.path = { type = "string" }
""",
        good="""
confirm = "Delete {path}?"
params.path = { type = "string" }
""",
    ),
    Rule(
        code="TM401",
        title="Two files have the same path",
        why="Each path under generated/ belongs to one row: to one of the server's own files, or to one of `[[files]]`. Paths that "
        "differ in upper and lower case only are the same on some file systems, and a file cannot be a directory of another.",
        bad="""
[[files]]
path = "docs/reference.md"
template = "docs/tool.md.jinja"
for_each = "tool"
""",
        good="""
[[files]]
path = "docs/{tool.name}.md"
template = "docs/tool.md.jinja"
for_each = "tool"
""",
    ),
    Rule(
        code="TM402",
        title="The path of a file is not a path under generated/",
        why="Files are written under generated/ and nowhere else, and a path must work on every file system. Its parts consist of "
        "letters, digits and `.`, `_`, `@`, `+`, `-`; a placeholder names a field, such as `{tool.name}`, and is not evaluated.",
        bad="""
[[files]]
path = "../docs/{tool.title}.md"
template = "docs/tool.md.jinja"
for_each = "tool"
""",
        good="""
[[files]]
path = "docs/{tool.name}.md"
template = "docs/tool.md.jinja"
for_each = "tool"
""",
    ),
    Rule(
        code="TM403",
        title="A file has no template",
        why="A template is named by its path below the project's templates/ directory, or below the packaged templates.",
        bad="""
[[files]]
path = "docs/summary.md"
template = "templates/summary.md.jinja"
""",
        good="""
# templates/docs/summary.md.jinja exists
[[files]]
path = "docs/summary.md"
template = "docs/summary.md.jinja"
""",
    ),
    Rule(
        code="TM501",
        title="A use case does not find its tool",
        why="Most tools are hidden behind a search. Use cases are requests in a user's own words; if one of them does not "
        "bring the tool into the first three hits, a model that words its wish so will not find it either.",
        bad="""
[tools.lend]
summary = "Lend a book"
use_cases = ["Take a volume home for two weeks"]
""",
        good="""
[tools.lend]
summary = "Lend a book"
keywords = ["borrow", "take home", "volume"]
use_cases = ["Take a volume home for two weeks"]
""",
    ),
    Rule(
        code="TM502",
        title="A description says no more than the summary",
        why="The description is what a model decides by: when to use the tool, what comes back, what it cannot do.",
        bad="""
[tools.lend]
summary = "Lend a book"
""",
        good="""
[tools.lend]
summary = "Lend a book"
description = "Lend a book to a member for two weeks. Fails if it is out; reserve it then."
""",
    ),
    Rule(
        code="TM503",
        title="A tool has no example",
        why="Examples are checked against the schema, shown in docs and search, and quoted when a call goes wrong. One call "
        "that works tells a model more than a page.",
        bad="""
[tools.lend]
params.isbn = { type = "string", description = "ISBN-13, with or without dashes" }
""",
        good="""
[tools.lend]
params.isbn = { type = "string", description = "ISBN-13, with or without dashes" }

[[tools.lend.examples]]
description = "Lend one book"
arguments = { isbn = "978-0-441-47812-5" }
""",
    ),
    Rule(
        code="TM504",
        title="A parameter or field has no description",
        why="A name alone leaves a model guessing units, forms and limits, and it guesses with confidence.",
        bad="""
[tools.lend]
params.days = { type = "integer" }
""",
        good="""
[tools.lend]
params.days = { type = "integer", description = "How long, in days", minimum = 1 }
""",
    ),
    Rule(
        code="TM505",
        title="A description is longer than clients keep",
        why="OpenAI refuses a tool whose description has more than 1,024 characters in chat completions, or the client cuts "
        "it there first; Claude Code cuts at 4,096. What stands behind the cut was never said.",
        bad="""
[tools.lend]
description = "... 1,500 characters, the one limit that matters in the last sentence ..."
""",
        good="""
[tools.lend]
description = "... what matters first; the rest in parameters and examples ..."
""",
    ),
    Rule(
        code="TM506",
        title="A name leaves no room for a client's prefix",
        why="Clients put their own words and the server's name before a tool's. Beyond 40 characters the prefix of a plugin "
        "and its server may no longer fit into the 64 that models take.",
        bad="""
[tools.search_the_catalog_of_the_library_by_title_or_author]
""",
        good="""
[tools.search_catalog]
aliases = ["search_the_catalog_of_the_library_by_title_or_author"]
""",
    ),
    Rule(
        code="TM507",
        title="A name is not of lower-case letters, digits and underscores",
        why="Dashes, dots and capitals are rewritten by one client or another, so permissions, docs and prompts that name "
        "the tool no longer agree.",
        bad="[tools.Lend-Book]",
        good="[tools.lend_book]",
    ),
    Rule(
        code="TM508",
        title="A client shows two tools under one name",
        why="Clients rewrite names: Codex makes dashes underscores. Of two tools that come out the same one is gone, and no "
        "client says which. Names alike in Python are refused before; this is about tools and meta-tools. An old name "
        "that comes out as another tool is a warning: what was allowed for the one is then allowed for the other.",
        bad="[tools.discover-tools]",
        good="[tools.discover_devices]",
    ),
    Rule(
        code="TM509",
        title="More tools are listed than a model is sent",
        why="OpenAI, VS Code and Vertex AI take 128 tools in one request. With more, tools are dropped or requests fail. "
        "Cursor is said to take 80, of all servers together: that is a note.",
        bad="""
[discovery]
style = "classic" # and 200 tools
""",
        good="""
[discovery]
style = "search-call"
""",
    ),
    Rule(
        code="TM510",
        title="Hints contradict each other",
        why="Headless clients decide by the hints what may run unasked. A tool that changes nothing cannot destroy anything.",
        bad="""
[tools.lend]
hints = { read_only = true, destructive = true, idempotent = false, open_world = false }
""",
        good="""
[tools.lend]
hints = { read_only = false, destructive = false, idempotent = false, open_world = false }
""",
    ),
    Rule(
        code="TM511",
        title="A summary ends with a full stop",
        why="Summaries stand in lists, tables and menus, where a full stop is a stray mark.",
        bad="""
[tools.lend]
summary = "Lend a book."
""",
        good="""
[tools.lend]
summary = "Lend a book"
""",
    ),
    Rule(
        code="TM512",
        title="A summary repeats the name",
        why="The name stands beside the summary wherever it is shown, so those are words that say nothing.",
        bad="""
[tools.lend_book]
summary = "Lend book"
""",
        good="""
[tools.lend_book]
summary = "Hand a book to a member for two weeks"
""",
    ),
    Rule(
        code="TM513",
        title="A related tool does not point back",
        why="Whoever finds one of two related tools should learn of the other. Sometimes one way is right: this is a note.",
        bad="""
[tools.lend]
related = ["reserve"]

[tools.reserve]
""",
        good="""
[tools.lend]
related = ["reserve"]

[tools.reserve]
related = ["lend"]
""",
    ),
    Rule(
        code="TM514",
        title="An `allow` switches nothing off",
        why="An exception that is no longer needed hides the next mistake of its kind; one without a reason cannot be judged.",
        bad="""
[[tools.lend.allow]]
rule = "TM503"
reason = "takes no arguments"

[[tools.lend.examples]]
description = "Lend one book"
arguments = {}
""",
        good="""
[[tools.lend.examples]]
description = "Lend one book"
arguments = {}
""",
    ),
    Rule(
        code="TM515",
        title="A listed name is too long for a client",
        why="Clients put their own words and the server's name before a tool's, and models take 64 characters. Where not "
        "even a meta-tool fits, nothing can be called. A plugin of Claude Code needs more room, for its own name as well: "
        "`mcp__plugin_library_library__`. That is a note.",
        bad="""
[server]
name = "the-library-of-the-town-with-many-readers"

[discovery]
style = "list-describe" # with `get_tool_description`
""",
        good="""
[server]
name = "library"

[discovery]
style = "list-describe"
""",
    ),
    Rule(
        code="TM516",
        title="A parameter's description is longer than clients keep",
        why="VS Code cuts each description inside a schema at 1,024 characters for the GPT-4 family, without a word. The "
        "limits of a parameter are said at the end of its description, so they go first.",
        bad="""
[tools.lend]
params.isbn = { type = "string", description = "... 1,500 characters ...", max_length = 17 }
""",
        good="""
[tools.lend]
description = "... how books are numbered ..."
params.isbn = { type = "string", description = "ISBN-13, with or without dashes", max_length = 17 }
""",
    ),
    Rule(
        code="TM517",
        title="A parameter has a name that providers refuse, and is sent so",
        why="Anthropic takes letters, digits, `_`, `.` and `-`, 64 at most, and looks at the outermost names: one that does "
        "not fit fails every request, with the tools of every other server. Such a name is replaced on the way, unless "
        "`verbatim_schema` is set. Deeper down only Vertex AI minds: a warning.",
        bad="""
[tools.search]
verbatim_schema = true
input_schema = { type = "object", properties = { "$top" = { type = "integer" } } }
""",
        good="""
[tools.search]
input_schema = { type = "object", properties = { "$top" = { type = "integer" } } }
""",
    ),
    Rule(
        code="TM518",
        title="A parameter has a name that not every provider takes",
        why="Vertex AI documents letters, digits and underscores, no digit in front, and dashes and dots are what models "
        "misspell. The name is replaced on the way and put back in each call, so docs and models know the parameter by "
        "two names. In a raw schema, which is often another's, this is a note.",
        bad='params.due-date = { type = "string", description = "When it is due" }',
        good='params.due_date = { type = "string", description = "When it is due" }',
    ),
    Rule(
        code="TM519",
        title="A parameter has a name that a client takes for its own",
        why="Gemini CLI puts `wait_for_previous`, a boolean, into every tool, over one that is there, and sends it on to the "
        "server. Models then never see yours, and what arrives under its name is not meant for you.",
        bad='params.wait_for_previous = { type = "string", description = "The job to wait for" }',
        good='params.after_job = { type = "string", description = "The job to wait for" }',
    ),
    Rule(
        code="TM520",
        title="A pattern cannot be matched in linear time",
        why="The server matches patterns with Rust's `regex`, whose time grows with the length of the text and no faster. It has "
        "no look-around, backreferences, inline flags or possessive repeats. A pattern with these is matched by "
        "backtracking with a time limit, so a long value that is valid may be refused.",
        bad='params.name = { type = "string", description = "Any name but `root`", pattern = "^(?!root$)[a-z]+$" }',
        good='params.name = { type = "string", description = "Any name; `root` is refused", pattern = "^[a-z]+$" }',
    ),
    Rule(
        code="TM522",
        title="A program is not isolated",
        why="A program that declares none of `reads`, `writes`, `executes` and `network` can use whatever the server can: "
        "every file of the user, and the network. One that declares them is confined to that by the kernel, even when the "
        "files that it works on have it start other programs. The finding belongs to its first tool, which can allow it.",
        bad="""
[clis.git]
command = ["git"]
""",
        good="""
[clis.git]
command = ["git"]
reads = ["{roots}", "~/.gitconfig"]
writes = ["{roots}"]
network = false
""",
    ),
    Rule(
        code="TM525",
        title="The server's command is not installed by the project",
        why="Client files start the server by its command where pyproject.toml declares it, else by `toolmason run`. "
        "A command that nobody installs would fail in every client.",
        bad='[server]\nname = "catalog"\ncommand = "catalog-server"  # and no such name in [project.scripts]',
        good='[server]\nname = "catalog"\ncommand = "catalog-server"  # and pyproject.toml declares it',
    ),
    Rule(
        code="TM601",
        title="A generated file is missing",
        why="The manifest gives it, and what reads generated/ counts on it.",
        bad="# generated/docs/index.md was deleted",
        good="# nox -s generate",
    ),
    Rule(
        code="TM602",
        title="A generated file is stale",
        why="The manifest or a template has changed since it was written, so what is served is not what the manifest says.",
        bad="# the manifest was edited and committed without its output",
        good="# nox -s generate, and commit both",
    ),
    Rule(
        code="TM603",
        title="A generated file is no longer produced",
        why="It was made from something that is gone from the manifest, and would be served or shipped for ever.",
        bad="# [categories.loans] was removed, generated/docs/loans.md is still there",
        good="# nox -s generate removes it",
    ),
    Rule(
        code="TM604",
        title="A generated file was edited",
        why="Its text does not match the hash it carries: somebody edited it, or a merge put two versions together. "
        "Generating would lose that work.",
        bad="# a fix typed into generated/catalog_server/server.py",
        good="# the fix in the manifest, in a template of your own or in a handler",
    ),
    Rule(
        code="TM605",
        title="Something is in the way of a generated file",
        why="A file, link or folder that toolmason did not make stands where it would write. It is not ours to remove.",
        bad="# your own notes in generated/docs/index.md",
        good="# your own notes anywhere outside generated/",
    ),
    Rule(
        code="TM606",
        title="A run was ended in the middle of writing",
        why="Some files are of the new state and some of the old. The next `generate` finishes or undoes it, whichever the journal says.",
        bad="# `generate` was killed, and generated/.toolmason-staging/ is still there",
        good="# `nox -s generate` has run once more",
    ),
    Rule(
        code="TM607",
        title="`generated/` or the lock file is a symbolic link or not a regular file",
        why="Through a link in a clone, a run would read and write files outside the project.",
        bad="# generated/ is a link to /home/me/bin",
        good="# generated/ is a folder, or is not there yet",
    ),
    Rule(
        code="TM608",
        title="A template cannot be read safely",
        why="A template that leads out of the project would copy a file of yours into output that is committed. A pipe "
        "or a device never ends, and no template has more than 16 MiB.",
        bad="# templates/docs/index.md.jinja is a link to /etc/passwd",
        good="# templates/docs/index.md.jinja is a file of the project",
    ),
    Rule(
        code="TM609",
        title="A template takes too much time or memory",
        why="The templates of a project may be a stranger's. They are rendered in a process with limits that are far above "
        "what those of toolmason need.",
        bad="# templates/docs/index.md.jinja: {{ 'a' * 10000000000 }}",
        good="# templates/docs/index.md.jinja: {{ 'a' * 10 }}",
    ),
)
"""Sorted by code."""

RULES: Final[Mapping[str, Rule]] = MappingProxyType({rule.code: rule for rule in _RULES})
"""Code -> rule."""
