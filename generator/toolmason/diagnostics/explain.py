"""Format the rule of a diagnostic code with its reason and examples."""

from __future__ import annotations

import textwrap

from toolmason_runtime.shared.suggestions import did_you_mean

from toolmason.diagnostics.rules import RULES


class UnknownCodeError(LookupError):
    """Unknown code. The message suggests the nearest one."""


def explain(code: str) -> str:
    """Return the explanation of a code, which may be in any case and without its `TM`. Ends with a newline.

    Raises:
        UnknownCodeError: there is no such code.
    """
    name = code.strip().upper()
    name = f"TM{name}" if name.isdecimal() else name
    rule = RULES.get(name)
    if rule is None:
        hint = did_you_mean(name, RULES) or f"the codes are {min(RULES)} to {max(RULES)}"
        raise UnknownCodeError(f"unknown code `{code}`: {hint}")
    why = textwrap.fill(rule.why, 88)
    bad, good = (textwrap.indent(example, "    ") for example in (rule.bad, rule.good))
    return f"{rule.code}: {rule.title}\n\n{why}\n\nBad:\n\n{bad}\n\nGood:\n\n{good}\n"
