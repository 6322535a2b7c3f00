"""A small MCP server written with FastMCP of mcp 1.x: on stdio, or on HTTP if a port is given."""

import sys

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("small")


@mcp.tool()
def add(a: int, b: int) -> int:
    """Adds two integers."""
    return a + b


@mcp.resource("note://first")
def first() -> str:
    return "a note"


if len(sys.argv) > 1:
    mcp.settings.host, mcp.settings.port = "127.0.0.1", int(sys.argv[1])
    mcp.run("streamable-http")
else:
    mcp.run()
