from shapes_server.find.models import Circle, Filter, FindShapesParams, Found
from shapes_server.types import Color
from toolmason_runtime import ToolCall


def depth(filter: Filter) -> int:
    inner = [*(filter.any or ()), *([filter.without] if filter.without else ())]
    return 1 + max(map(depth, inner), default=0)


async def find_shapes(params: FindShapesParams, call: ToolCall) -> Found:
    return Found(shapes=[Circle(kind="circle", radius=depth(params.filter))], color=Color.red)
