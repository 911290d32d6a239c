from shapes_server.draw.models import Circle, ClearCanvasParams, DrawShapeParams, Square
from shapes_server.types import Color
from toolmason_runtime import Content, ToolCall


async def draw_shape(params: DrawShapeParams, call: ToolCall) -> Content:
    match params.shape:
        case Circle():
            size = params.shape.radius
        case Square():
            size = params.shape.side
    line = "red" if params.color is Color.red else "other"
    return f"{type(params.shape).__name__} {size:g}, {line} line"


async def clear_canvas(params: ClearCanvasParams, call: ToolCall) -> Content:
    return f"{params.canvas} is empty"
