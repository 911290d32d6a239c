"""List the constructs of a schema that `providers.toml` has rules about, for any target.

Keywords are recognized by position, so a property named `not` or `$ref` is a property. The scan does not enter data
(`default`, `enum`, `const`, `examples`) or follow references, and its depth and number of steps are limited.
"""

from toolmason.schema.scan.occurrences import Occurrence
from toolmason.schema.scan.recorder import MAX_DEPTH, MAX_STEPS
from toolmason.schema.scan.scanner import scan_schema
from toolmason.schema.scan.values import KNOWN_KEYWORDS

__all__ = ["KNOWN_KEYWORDS", "MAX_DEPTH", "MAX_STEPS", "Occurrence", "scan_schema"]
