"""stdio and streamable HTTP."""
