from shapes_server.find.models import FindShapesParams, Found
from toolmason_runtime import ToolCall


async def find_shapes(params: FindShapesParams, call: ToolCall) -> Found:
    return Found(shapes=[], color=None)
