"""An MCP server whose every list comes in three pages: 25 items, ten a page. Needs mcp 1.x; stdio."""

import asyncio

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

ITEMS, PAGE = 25, 10
server = Server("pager")


def slice_of(request, make):
    """The items of the page that the request asks for, and the cursor of the next one."""
    params = getattr(request, "params", None)
    begin = int(params.cursor) if params and params.cursor else 0
    end = min(begin + PAGE, ITEMS)
    return [make(i) for i in range(begin, end)], str(end) if end < ITEMS else None


@server.list_tools()
async def list_tools(request: types.ListToolsRequest) -> types.ListToolsResult:
    schema = {"type": "object"}
    items, cursor = slice_of(request, lambda i: types.Tool(name=f"turn_{i}", description="Turns a page", inputSchema=schema))
    return types.ListToolsResult(tools=items, nextCursor=cursor)


@server.list_resources()
async def list_resources(request: types.ListResourcesRequest) -> types.ListResourcesResult:
    items, cursor = slice_of(request, lambda i: types.Resource(uri=f"book://leaf/{i}", name=f"leaf {i}"))
    return types.ListResourcesResult(resources=items, nextCursor=cursor)


@server.list_prompts()
async def list_prompts(request: types.ListPromptsRequest) -> types.ListPromptsResult:
    items, cursor = slice_of(request, lambda i: types.Prompt(name=f"quote_{i}", description="Quotes the book"))
    return types.ListPromptsResult(prompts=items, nextCursor=cursor)


@server.call_tool()
async def call_tool(name: str, arguments: dict) -> list[types.TextContent]:
    return [types.TextContent(type="text", text=f"{name}: done")]


@server.read_resource()
async def read_resource(uri) -> str:
    return f"what {uri} says"


async def main():
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


asyncio.run(main())
