"""The tools of a server as objects of an agent framework, in the same process.

    from toolmason.frameworks import tools_for

    async with tools_for("openai-agents", "workbench_server") as tools:
        agent = Agent(name="helper", tools=tools)

The framework is imported when it is used; this module needs none.
"""

from __future__ import annotations

from toolmason.frameworks.tools import FRAMEWORKS, Framework, ToolSet, tools_for

__all__ = ["FRAMEWORKS", "Framework", "ToolSet", "tools_for"]
