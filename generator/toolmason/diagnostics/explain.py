"""What `toolmason explain CODE` prints: the rule behind a diagnostic, why it exists, a bad and a good example."""

from __future__ import annotations

import textwrap

from toolmason_runtime.suggestions import did_you_mean

from toolmason.diagnostics.rules import RULES


class UnknownCodeError(LookupError):
    """There is no such code. The message says which one may have been meant."""


def explain(code: str) -> str:
    """Explain one code, written in any case and with or without its `TM`. Ends with a newline.

    Raises:
        UnknownCodeError: no rule has that code.
    """
    wanted = code.strip().upper()
    wanted = f"TM{wanted}" if wanted.isdecimal() else wanted
    rule = RULES.get(wanted)
    if rule is None:
        hint = did_you_mean(wanted, RULES) or f"the codes are {min(RULES)} to {max(RULES)}"
        raise UnknownCodeError(f"unknown code `{code}`: {hint}")
    why = textwrap.fill(rule.why, 88)
    bad, good = (textwrap.indent(example.strip("\n"), "    ") for example in (rule.bad, rule.good))
    return f"{rule.code}: {rule.title}\n\n{why}\n\nBad:\n\n{bad}\n\nGood:\n\n{good}\n"
