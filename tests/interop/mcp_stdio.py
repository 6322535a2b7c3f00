"""An MCP client of `gosling mcp NAME` on stdio, one request at a time."""

import json
import os
import subprocess


class Client:
    def __init__(self, name, program=None, env=None):
        program = program or os.environ.get("GOSLING", "target/debug/gosling")
        pipe = subprocess.PIPE
        self.child = subprocess.Popen([program, "mcp", name], stdin=pipe, stdout=pipe, env=env)
        self.last = 0
        info = {"name": "interop", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        self.ask("initialize", hello)
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.child.stdin.flush()

    def ask(self, method, params):
        self.last += 1
        self.send({"id": self.last, "method": method, "params": params})
        for line in self.child.stdout:
            message = json.loads(line)
            if message.get("id") == self.last and "method" not in message:
                return message
        raise SystemExit("gosling has ended")

    def call(self, tool, arguments, meta=None):
        params = {"name": tool, "arguments": arguments}
        return self.ask("tools/call", {**params, "_meta": meta} if meta else params)

    def close(self):
        self.child.stdin.close()
        self.child.wait()
