"""Package runners in a session whose working directory tries to run code: npx, Python and, if given, uv.

    python3 tests/interop/start_folder.py --gosling PROGRAM [--uv FOLDER]

FOLDER has the programs uv and uvx. Prints a line for each command. Exit status 1 if code of the working directory
ran although the entry does not say `cwd: session`, if it did not run although the entry says so (then this test
shows nothing), or if a server did not start.
"""

import argparse
import http.client
import json
import os
import subprocess
import tempfile
from pathlib import Path

import peers

SERVER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = {"tools": []}
    if message["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "tiny", "version": "1"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
# The same in JavaScript.
PACKAGE = """#!/usr/bin/env node
require("readline").createInterface({input: process.stdin}).on("line", (line) => {
  const {id, method} = JSON.parse(line);
  const hello = {protocolVersion: "2025-06-18", capabilities: {tools: {}}, serverInfo: {name: "tiny", version: "1"}};
  const result = method === "initialize" ? hello : {tools: []};
  if (id !== undefined) console.log(JSON.stringify({jsonrpc: "2.0", id, result}));
});
"""


def write(path, text, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def hostile(folder, mark):
    """What a cloned folder may contain: each program and module of it leaves the file `mark`."""
    for name in ("node", "tiny-mcp"):
        write(folder / "node_modules/.bin" / name, f"#!/bin/sh\ntouch {mark}\nexit 1\n", 0o755)
    write(folder / ".npmrc", f"node-options=--require {folder}/evil.js\n")
    write(folder / "evil.js", f"require('fs').writeFileSync({str(mark)!r}, '')\n")
    python = f"open({str(mark)!r}, 'w').close()\n"
    for name in ("json.py", "evilbackend.py"):
        write(folder / name, python)
    write(folder / ".venv/bin/python", f"#!/bin/sh\ntouch {mark}\nexit 1\n", 0o755)
    write(folder / ".venv/pyvenv.cfg", "home = /usr/bin\n")
    write(folder / "uv.toml", 'index-url = "http://127.0.0.1:1/simple"\n')
    write(folder / "pyproject.toml", '[project]\nname = "evil"\nversion = "1"\nrequires-python = ">=3.8"\n'
          '[build-system]\nrequires = []\nbuild-backend = "evilbackend"\nbackend-path = ["."]\n')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gosling", required=True)
    parser.add_argument("--uv")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        raise SystemExit(play(options, Path(scratch).resolve()))


def play(options, scratch):
    mark, work, modules, package = (scratch / name for name in ("mark", "work", "modules", "package"))
    hostile(work, mark)
    write(modules / "tiny_mcp.py", SERVER)
    write(package / "tiny.js", PACKAGE)
    write(package / "package.json", json.dumps({"name": "tiny-mcp", "version": "1.0.0", "bin": "tiny.js"}))
    subprocess.run(["npm", "pack", "--silent"], cwd=package, check=True, stdout=subprocess.DEVNULL)
    os.environ |= {"PYTHONPATH": str(modules), "npm_config_cache": str(scratch / "cache"), "UV_OFFLINE": "1"}
    npx = ["npx", "-y", "--package", str(package / "tiny-mcp-1.0.0.tgz"), "tiny-mcp"]
    # A command line, and whether code of the folder runs with `cwd: session`.
    commands = [(npx, True), (["sh", "-c", " ".join(npx)], True), (["python3", "-m", "tiny_mcp"], True),
                (["python3", str(modules / "tiny_mcp.py")], False)]
    if options.uv:
        os.environ["PATH"] = f"{options.uv}:{os.environ['PATH']}"
        script = str(modules / "tiny_mcp.py")
        commands += [(["uv", "run", script], True), (["uvx", "python", script], False),
                     (["uvx", "python", "-m", "tiny_mcp"], True)]
    (scratch / "root/config").mkdir(parents=True)
    gosling = peers.Gosling(options.gosling, scratch / "root")
    failed = 0
    for command, runs_in_session in commands:
        for cwd, expected in ((None, False), ("session", runs_in_session)):
            mark.unlink(missing_ok=True)
            starts = start(gosling, work, {"cmd": command[0], "args": command[1:], "cwd": cwd})
            fault = ""
            if mark.exists() != expected:
                fault = "code of the folder did not run" if expected else "code of the folder ran"
            elif not starts and not expected:
                fault = "it did not start"
            failed += bool(fault)
            print(f"{'FAIL' if fault else 'ok':4}  {cwd or 'default':7}  {' '.join(command)[:70]}  {fault}")
    gosling.stop()
    return 1 if failed else 0


def start(gosling, work, fields):
    """Whether the server starts in a session in this folder."""
    extension = {"type": "stdio", "name": "tiny", "description": "", "timeout": 60, **fields}
    session = send(gosling, "/agent/start", {"working_dir": str(work), "extension_overrides": [extension]})
    body = {"session_id": session["id"], "load_model_and_extensions": True}
    results = send(gosling, "/agent/resume", body)["extension_results"]
    send(gosling, "/agent/stop", {"session_id": session["id"]})
    return results[0]["success"]


def send(gosling, path, body):
    connection = http.client.HTTPConnection(gosling.address, timeout=120)
    headers = {"X-Secret-Key": peers.KEY, "Content-Type": "application/json"}
    connection.request("POST", path, json.dumps(body), headers)
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status == 200, f"{path}: {answer.status} {text!r}"
    connection.close()
    return json.loads(text or "null")


if __name__ == "__main__":
    main()
