from shapes_server.draw.models import ClearCanvasParams, DrawShapeParams
from toolmason_runtime import Content, ToolCall


async def draw_shape(params: DrawShapeParams, call: ToolCall) -> Content:
    return "drawn"


async def clear_canvas(params: ClearCanvasParams, call: ToolCall) -> Content:
    return "cleared"
