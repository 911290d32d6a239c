from odd_server.tools.models import Table
from toolmason_runtime.programs import approve_handler
async def list_rows(params, call):
    return Table.model_validate({"rows": [{"name": "a\x1b[31m", "size": i} for i in range(3)]})
async def remove_rows(params, call):
    await approve_handler(call, tool="remove_rows", question="Remove all?", key="k")
    return "removed"
