"""What the book tools do."""


async def serach() -> None:
    """Hold a slip in its name."""
