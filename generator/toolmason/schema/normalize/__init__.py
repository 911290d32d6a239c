"""Convert a schema of any draft to its normal form."""

from toolmason.schema.normalize.context import MAX_DEPTH
from toolmason.schema.normalize.normalizer import Normalizer
from toolmason.schema.normalize.overlap import MAX_COMPARED_BRANCHES

__all__ = ["MAX_COMPARED_BRANCHES", "MAX_DEPTH", "Normalizer"]
