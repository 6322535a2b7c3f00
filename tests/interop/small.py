"""A small MCP server for the Python SDK, 1.x or 2.x: on stdio, or on HTTP if a port is given."""

import asyncio
import sys

try:
    from mcp.server.mcpserver import Context, MCPServer as Server

    OLD = False
except ImportError:
    from mcp.server.fastmcp import Context, FastMCP as Server

    OLD = True

mcp = Server("small")


@mcp.tool()
def add(a: int, b: int) -> int:
    """Adds two integers."""
    return a + b


@mcp.tool()
def fail(message: str) -> str:
    """Fails, always."""
    raise ValueError(message)


@mcp.tool()
async def slow(ctx: Context, steps: int = 3) -> str:
    """Takes steps of 100 ms and says after each how far it is."""
    for step in range(steps):
        await asyncio.sleep(0.1)
        await ctx.report_progress(step + 1, steps)
    return f"{steps} steps taken"


@mcp.resource("note://first")
def first() -> str:
    return "a note"


@mcp.resource("note://{name}/text")
def note(name: str) -> str:
    return f"the note {name}"


@mcp.prompt()
def greet(name: str) -> str:
    """Greets somebody."""
    return f"Greet {name}."


if len(sys.argv) == 1:
    mcp.run()
elif OLD:
    mcp.settings.host, mcp.settings.port = "127.0.0.1", int(sys.argv[1])
    mcp.run("streamable-http")
else:
    mcp.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
