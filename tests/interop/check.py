#!/usr/bin/env python3
"""Checks public MCP servers with `gosling check`, each twice, and compares the results with known ones.

usage: check.py --gosling PROGRAM --home FOLDER

FOLDER has the servers that tests/interop/run installs. A server that is not there is left out. Prints a table,
and for each unexpected failure what was sent and received. Exit status 1 if there is any, 77 if no server is there.
"""

import argparse
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

TIMEOUT = 120

# The name, the command, the largest profile that holds, and the checks of the level MUST that fail: with these
# versions, each of them was compared with the raw messages and is right.
MODULES = "servers/node_modules/@modelcontextprotocol/server-"
STDIO = [
    ("everything", ["node", f"{MODULES}everything/dist/index.js"], "full", []),
    ("filesystem", ["node", f"{MODULES}filesystem/dist/index.js", "{scratch}"], "minimum", []),
    ("memory", ["node", f"{MODULES}memory/dist/index.js"], "extended", []),
    ("sequential-thinking", ["node", f"{MODULES}sequential-thinking/dist/index.js"], "minimum", []),
    ("fetch", ["python/bin/python", "-m", "mcp_server_fetch"], "full", []),
    ("git", ["python/bin/python", "-m", "mcp_server_git", "--repository", "{scratch}"], "full", []),
    ("time", ["python/bin/python", "-m", "mcp_server_time", "--local-timezone=UTC"], "full", []),
    (
        "sqlite",
        ["python-old/bin/mcp-server-sqlite", "--db-path", "{scratch}/db"],
        "none",
        ["unknown-method", "unknown-tool"],
    ),
]
# Its store of events hands the messages of all streams to a client that resumes one.
HTTP = [
    (
        "everything",
        ["node", f"{MODULES}everything/dist/index.js", "streamableHttp"],
        "none",
        ["answered-once", "http-session-deleted", "http-unknown-session", "message-shape"],
    ),
]


def resolved(command, home, scratch):
    """The command with the places of its files; None if it is not installed."""
    words = [word.replace("{scratch}", scratch) for word in command]
    places = [index for index, word in enumerate(words) if "/" in word and (home / word).exists()]
    for index in places:
        words[index] = str(home / words[index])
    is_module = words[1:2] == ["-m"] and places
    if is_module:
        found = subprocess.run([words[0], "-c", f"import {words[2]}"], capture_output=True, check=False)
        return words if found.returncode == 0 else None
    return words if places else None


def report(gosling, arguments, scratch):
    environment = dict(os.environ, GOOSE_PATH_ROOT=scratch + "/root", MEMORY_FILE_PATH=scratch + "/memory")
    done = subprocess.run(
        [gosling, "check", "--json", *arguments],
        capture_output=True,
        text=True,
        env=environment,
        cwd=scratch,
        timeout=TIMEOUT,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(f"exit status {done.returncode}: {done.stderr[-500:]}")
    return json.loads(done.stdout)


def broken(found):
    failed = [check for check in found["checks"] if check["outcome"] == "failed"]
    return sorted(check["name"] for check in failed if check["level"].startswith("MUST"))


def compare(gosling, name, how, arguments, profile, expected, scratch):
    """Whether two runs have the expected result."""
    is_right = True
    for _ in range(2):
        found = report(gosling, arguments, scratch)
        holding = [it for it, holds in found["profiles"].items() if holds]
        best = holding[-1] if holding else "none"
        if broken(found) != sorted(expected) or best != profile:
            is_right = False
            for check in found["checks"]:
                if check["outcome"] == "failed" and check["level"].startswith("MUST"):
                    print(f"  {check['name']}: {check['detail']}\n    {check['exchange']}")
        counts = found["counts"]
        result = "ok" if is_right else "FAILED"
        summary = f"{best}, {counts['passed']} passed, MUST failed: {', '.join(broken(found)) or 'none'}"
        print(f"check {name:30} {how:6} {found['seconds']:6.1f} s   {result}, {summary}", flush=True)
    return is_right


def over_http(gosling, name, command, profile, expected, scratch):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        command, env=dict(os.environ, PORT=str(port)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        end = time.monotonic() + 20
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.1)
        address = ["--url", f"http://127.0.0.1:{port}/mcp"]
        return compare(gosling, name, "http", address, profile, expected, scratch)
    finally:
        server.kill()
        server.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gosling", required=True)
    parser.add_argument("--home", required=True, type=pathlib.Path)
    options = parser.parse_args()
    options.gosling = os.path.realpath(options.gosling)
    options.home = options.home.absolute()
    outcomes = []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = os.path.realpath(scratch)
        subprocess.run(["git", "init", "--quiet", scratch], check=False)
        for name, command, profile, expected in STDIO:
            command = resolved(command, options.home, scratch)
            if command:
                arguments = ["--", *command]
                outcomes.append(compare(options.gosling, name, "stdio", arguments, profile, expected, scratch))
        for name, command, profile, expected in HTTP:
            command = resolved(command, options.home, scratch)
            if command:
                outcomes.append(over_http(options.gosling, name, command, profile, expected, scratch))
    if not outcomes:
        return 77
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
