"""A client of the Agent Client Protocol on the official Python SDK: acp_client.py PROGRAM

Starts `PROGRAM acp`, approves every call, and prints what the agent says to one prompt. Whatever the SDK cannot parse
is an error."""

import asyncio
import logging
import os
import sys

import acp
from acp import schema


class Client:
    def on_connect(self, conn):
        pass

    async def request_permission(self, session_id, tool_call, options, **more):
        chosen = next(option for option in options if option.kind == "allow_once")
        outcome = schema.AllowedOutcome(outcome="selected", option_id=chosen.option_id)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def session_update(self, session_id, update, **more):
        if update.session_update == "agent_message_chunk":
            print(update.content.text, end="")
        else:
            print(f"[{update.session_update}]")


class Strict(logging.Handler):
    def emit(self, record):
        sys.exit(f"not parsed: {record.getMessage()} {record.exc_info}")


async def main():
    logging.getLogger().addHandler(Strict(logging.WARNING))
    async with acp.spawn_agent_process(Client(), sys.argv[1], "acp", env=dict(os.environ)) as (conn, _):
        await conn.initialize(protocol_version=acp.PROTOCOL_VERSION)
        session = await conn.new_session(cwd=os.getcwd(), mcp_servers=[])
        done = await conn.prompt(session_id=session.session_id, prompt=[acp.text_block("go")])
        print()
        return done.stop_reason


sys.exit(0 if asyncio.run(asyncio.wait_for(main(), 60)) == "end_turn" else 1)
