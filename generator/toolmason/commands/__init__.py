"""The command line. A command is imported when it is used or listed, and imports other packages when it runs."""

from __future__ import annotations

from toolmason.commands.options import toolmason

toolmason.targets |= {
    "add": "toolmason.commands.add:add",
    "audit": "toolmason.commands.audit_log:audit",
    "call": "toolmason.commands.call:call",
    "check": "toolmason.commands.generate:check",
    "cli": "toolmason.commands.cli:cli",
    "client": "toolmason.commands.client:client",
    "completion": "toolmason.commands.completion:completion",
    "dev": "toolmason.commands.dev:dev",
    "diff": "toolmason.commands.diff:diff",
    "embed": "toolmason.commands.embed:embed",
    "eval": "toolmason.commands.eval:evaluate_search",
    "explain": "toolmason.commands.explain:explain",
    "fmt": "toolmason.commands.fmt:fmt",
    "generate": "toolmason.commands.generate:generate",
    "import": "toolmason.commands.import_:importing",
    "init": "toolmason.commands.init:init",
    "inspect": "toolmason.commands.call:inspect",
    "lint": "toolmason.commands.lint:lint",
    "move": "toolmason.commands.rename:move",
    "publish": "toolmason.commands.publish:publish",
    "release": "toolmason.commands.release:release",
    "rename": "toolmason.commands.rename:rename",
    "report": "toolmason.commands.report:report",
    "run": "toolmason.commands.run:run",
    "schema": "toolmason.commands.schema:schema",
    "search": "toolmason.commands.search:search",
    "stats": "toolmason.commands.stats:stats",
    "templates": "toolmason.commands.templates:templates",
    "upgrade": "toolmason.commands.upgrade:upgrade",
}

__all__ = ["toolmason"]
