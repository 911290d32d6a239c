async def echo(params, call):
    await call.progress(1, 2, "half")
    print("noise")
    return params.model_dump_json(exclude_unset=True)
