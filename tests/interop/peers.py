"""Plays gosling against public MCP servers, over its HTTP API.

    python3 tests/interop/peers.py --gosling PROGRAM --home FOLDER [PEER...]

FOLDER is where tests/interop/run has installed the servers. One server of gosling runs for all of them. Each
peer has a session of its own: it is activated, everything that it has is listed, one tool is called, one
resource read, the session is stopped, and then no process of the peer may be left. Prints a table. Exit
status 1 if one failed.
"""

import argparse
import http.client
import http.server
import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

HERE = Path(__file__).resolve().parent
KEY = "interop"
MARK = "INTEROP_PEER"
# How many peers are tried at once: most of the time one waits for a server to start.
AT_ONCE = 3
START, ANSWER, GONE = 60, 60, 5


@dataclass
class Peer:
    """A server, and what is asked of it. `PORT` in the command is filled in for a peer on HTTP."""

    name: str
    command: list
    tool: str
    arguments: dict = field(default_factory=dict)
    # Must be in the answer of the tool, and in the resource that is read.
    says: str = ""
    reads: str = ""
    # How many tools, resources, templates and prompts it has, where that is known for certain.
    has: dict = field(default_factory=dict)
    transport: str = "stdio"
    path: str = "/mcp"
    env: dict = field(default_factory=dict)
    # Activation is to fail, with these words.
    refused: str = ""


class Failed(Exception):
    """A peer does not do what it should, or gosling does not."""


class Gosling:
    """A running server in a folder of its own."""

    def __init__(self, program, root):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("GOOSE", "GOSLING"))}
        env |= {"GOOSE_PATH_ROOT": str(root), "GOOSE_SERVER__SECRET_KEY": KEY, "NO_PROXY": "127.0.0.1,localhost"}
        self.process = subprocess.Popen(
            [program, "agent", "--port", "0"],
            env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        self.log = []
        self.address = None
        for line in self.process.stderr:
            self.log.append(line)
            if " listens on http://" in line:
                self.address = line.split(" listens on http://")[1].strip()
                break
        if not self.address:
            raise SystemExit("gosling did not start: " + "".join(self.log[-3:]))
        threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True).start()

    def ask(self, method, path, body=None, **query):
        """The body of the answer, read as JSON where there is one."""
        connection = http.client.HTTPConnection(self.address, timeout=ANSWER)
        headers = {"X-Secret-Key": KEY, "Content-Type": "application/json"}
        path += "?" + urlencode(query) if query else ""
        try:
            connection.request(method, path, body and json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            raise Failed(f"{method} {path}: {error}") from error
        finally:
            connection.close()
        if answer.status != 200:
            raise Failed(f"{method} {path} {answer.status}: {message_of(text)}")
        return json.loads(text) if text else None

    def stop(self):
        """Asks it to end; true if it does, and well."""
        self.process.terminate()
        try:
            return self.process.wait(20) == 0
        except subprocess.TimeoutExpired:
            self.process.kill()
            return False


def message_of(text):
    try:
        return json.loads(text)["message"]
    except (ValueError, KeyError, TypeError):
        return text


def processes():
    """All processes by id: parent, when it began, and whether it is dead. None where there is no /proc."""
    if not Path("/proc/self/stat").exists():
        return None
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path("/proc", entry, "stat").read_text().rsplit(")", 1)[1].split()
            except (OSError, IndexError):
                continue
            found[int(entry)] = (int(stat[1]), stat[19], stat[0] == "Z")
    return found


def family_of(name):
    """The processes that carry the peer's mark, and all their descendants, as pairs of id and beginning."""
    everyone = processes() or {}
    mark = f"{MARK}={name}".encode()
    family = set()
    for pid in everyone:
        try:
            if mark in Path("/proc", str(pid), "environ").read_bytes().split(b"\0"):
                family.add(pid)
        except OSError:
            continue
    grown = True
    while grown:
        more = {pid for pid, (parent, _, _) in everyone.items() if parent in family} - family
        family |= more
        grown = bool(more)
    return {(pid, everyone[pid][1]) for pid in family if not everyone[pid][2]}


def left_of(name, family):
    """Those that still live after a while, of these and of any that carry the mark."""
    end = time.monotonic() + GONE
    while True:
        now = processes() or {}
        left = {one for one in family if one[0] in now and now[one[0]][1:] == (one[1], False)} | family_of(name)
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.05)


class Listener:
    """A peer that listens on HTTP, until the end of the block."""

    def __init__(self, peer, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [part.replace("PORT", str(self.port)) for part in peer.command]
        self.output = open(folder / "output", "w+")
        self.process = subprocess.Popen(
            command, cwd=folder, env=os.environ | peer.env | {"PORT": str(self.port)}, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.STDOUT,
        )

    def __enter__(self):
        end = time.monotonic() + START
        while time.monotonic() < end and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError:
                time.sleep(0.05)
        self.__exit__()
        raise Failed("it does not listen")

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.output.close()


def try_out(gosling, peer, folder):
    """The row of the table for this peer."""
    row = dict.fromkeys(COLUMNS, "-") | {"peer": peer.name, "transport": peer.transport, "result": "ok"}
    folder.mkdir(parents=True)
    try:
        if peer.transport == "stdio":
            play(gosling, peer, {
                "type": "stdio", "cmd": peer.command[0], "args": peer.command[1:],
                "envs": peer.env | {MARK: peer.name},
            }, folder, row)
        else:
            kind = "sse" if peer.transport == "sse" else "streamable_http"
            with Listener(peer, folder) as listener:
                uri = f"http://127.0.0.1:{listener.port}{peer.path}"
                play(gosling, peer, {"type": kind, "uri": uri}, folder, row)
    except Failed as error:
        row["result"] = f"FAILED: {error}"
    return row


def play(gosling, peer, config, folder, row):
    session = gosling.ask("POST", "/agent/start", {"working_dir": str(folder), "extension_overrides": []})
    session = {"session_id": session["id"]}
    family = set()
    try:
        begin = time.monotonic()
        config |= {"name": "peer", "description": "", "timeout": START}
        try:
            gosling.ask("POST", "/agent/add_extension", session | {"config": config})
        except Failed as error:
            if not peer.refused or peer.refused not in str(error):
                raise
            row["result"] = f"ok, refused: {peer.refused}"
            return
        if peer.refused:
            raise Failed("it was to be refused")
        row["ready ms"] = round(1000 * (time.monotonic() - begin))
        family = family_of(peer.name)
        first = look_around(gosling, peer, session, row)
        called = gosling.ask("POST", "/agent/call_tool", session | {
            "name": f"peer__{peer.tool}", "arguments": peer.arguments})
        shown = json.dumps(called, ensure_ascii=False)
        if called.get("isError") or called.get("is_error") or peer.says not in shown:
            raise Failed(f"{peer.tool} answered {shown[:300]}")
        row["call"] = peer.tool
        if first:
            read = gosling.ask("POST", "/agent/read_resource", session | {
                "extension_name": "peer", "uri": first["uri"]})
            if peer.reads not in read["text"] or not read["text"]:
                raise Failed(f"{first['uri']} reads {read['text'][:300]!r}")
            row["read"] = f"{first['uri']} ({size(len(read['text'].encode()))})"
    finally:
        gosling.ask("POST", "/agent/stop", session)
    # Those that came after it was ready count by their mark.
    if left := left_of(peer.name, family):
        raise Failed(f"after its session these are left: {sorted(pid for pid, _ in left)}")
    if peer.transport == "stdio" and processes() is not None and not family:
        raise Failed("its processes were not found, so nothing is known of their end")


def look_around(gosling, peer, session, row):
    """Lists what there is; gives the first resource."""
    tools = gosling.ask("GET", "/agent/tools", **session, extension_name="peer")
    offers = gosling.ask("GET", "/agent/resources", **session, extension_name="peer")
    prompts = gosling.ask("GET", "/agent/prompts", **session, extension_name="peer")
    for errors in (offers["errors"], prompts["errors"]):
        if errors:
            raise Failed(f"a listing failed: {errors}")
    found = {
        "tools": [tool for tool in tools if tool["name"].startswith("peer__")],
        "resources": offers["resources"], "templates": offers["templates"], "prompts": prompts["prompts"],
    }
    row |= {kind: len(items) for kind, items in found.items()}
    for kind, number in peer.has.items():
        if row[kind] != number:
            raise Failed(f"{row[kind]} {kind}, not {number}")
    if not found["tools"]:
        raise Failed("no tools")
    return next(iter(found["resources"]), None)


def size(n):
    return f"{n / 1e6:.1f} MB" if n >= 1e6 else f"{n / 1e3:.0f} kB" if n >= 1e4 else f"{n} B"


COLUMNS = {"peer": 25, "transport": 9, "tools": 5, "resources": 9, "templates": 9, "prompts": 7, "ready ms": 8,
           "call": 21, "read": 64, "result": 0}


def line_of(row):
    cells = (str(row[column]).ljust(width) for column, width in COLUMNS.items())
    return "  ".join(cells).rstrip()


class Page(http.server.BaseHTTPRequestHandler):
    """What the fetching server fetches."""

    def do_GET(self):
        body = b"<html><body><p>A page of our own</p></body></html>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


# Package and command, the tool to call, what it says.
APPS = {
    "basic-react": ("mcp-server-basic-react", "get-time", "T"),
    "basic-vanillajs": ("mcp-server-basic-vanillajs", "get-time", "T"),
    "budget-allocator": ("mcp-budget-allocator-server", "get-budget-data", "categories"),
    "customer-segmentation": ("mcp-customer-segmentation-server", "get-customer-data", "customers"),
    "map": ("mcp-map-server", "show-map", "Displaying"),
    "pdf": ("mcp-pdf-server", "list_pdfs", ""),
    "system-monitor": ("mcp-system-monitor-server", "get-system-info", "cpu"),
    "threejs": ("mcp-threejs-server", "learn_threejs", "Three.js"),
    "video-resource": ("mcp-video-resource-server", "play_video", "videos://"),
}


def peers(home, scratch, page, uvx):
    """Everything that tests/interop/run installs."""
    node = shutil.which("node") or "node"

    def js(folder, command):
        return str(home / folder / "node_modules/.bin" / command)

    def listening(folder, command, *arguments):
        return [node, "--require", str(HERE / "loopback.cjs"), js(folder, command), *arguments]

    new, old = home / "python/bin", home / "python-old/bin"
    files = scratch / "files"
    files.mkdir()
    (files / "hello.txt").write_text("hello from a file")
    shutil.which("git") and subprocess.run(["git", "init", "--quiet", str(scratch / "repository")], check=True)
    sum_of = {"tool": "get-sum", "arguments": {"a": 2, "b": 3}, "says": "5"}
    everything = ("servers", "mcp-server-everything")
    yield Peer("everything", [node, js(*everything), "stdio"], **sum_of)
    yield Peer("everything", listening(*everything, "streamableHttp"), **sum_of, transport="http")
    yield Peer("everything", listening(*everything, "sse"), **sum_of, transport="sse", path="/sse",
               refused="SSE is unsupported")
    yield Peer("filesystem", [node, js("servers", "mcp-server-filesystem"), str(files)], "read_text_file",
               {"path": str(files / "hello.txt")}, "hello from a file", has={"tools": 14})
    entity = {"name": "gosling", "entityType": "bird", "observations": ["small"]}
    yield Peer("memory", [node, js("servers", "mcp-server-memory")], "create_entities", {"entities": [entity]},
               "gosling", "gosling", env={"MEMORY_FILE_PATH": str(scratch / "memory.jsonl")})
    thought = {"thought": "one", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
    yield Peer("sequential-thinking", [node, js("servers", "mcp-server-sequential-thinking")], "sequentialthinking",
               thought, "thoughtHistoryLength")
    for name, (command, tool, says) in APPS.items():
        app = {"tool": tool, "says": says, "reads": "<html"}
        yield Peer(f"app-{name}", [node, js("apps", command), "--stdio"], **app)
        yield Peer(f"app-{name}", listening("apps", command), **app, transport="http")
    yield Peer("fetch", [str(new / "mcp-server-fetch"), "--ignore-robots-txt", "--allow-private-ips"], "fetch",
               {"url": page}, "A page of our own", has={"prompts": 1})
    yield Peer("git", [str(new / "mcp-server-git"), "--repository", str(scratch / "repository")], "git_status",
               {"repo_path": str(scratch / "repository")}, "branch")
    yield Peer("time", [str(new / "mcp-server-time"), "--local-timezone=UTC"], "get_current_time",
               {"timezone": "UTC"}, "datetime", has={"tools": 2})
    yield Peer("sqlite", [str(old / "mcp-server-sqlite"), "--db-path", str(scratch / "base.db")], "read_query",
               {"query": "SELECT 2 + 3 AS total"}, "5", has={"prompts": 1})
    small = {"tool": "add", "arguments": {"a": 2, "b": 3}, "says": "5", "reads": "a note",
             "has": {"tools": 3, "resources": 1, "templates": 1, "prompts": 1}}
    for name, folder in (("small-mcp1", old), ("small-mcp2", new)):
        command = [str(folder / "python"), str(HERE / "small.py")]
        yield Peer(name, command, **small)
        yield Peer(name, [*command, "PORT"], **small, transport="http")
    if uvx:
        command = [str(new / "uvx"), "--offline", "--with", uvx, "python", str(HERE / "small.py")]
        yield Peer("small-uvx", command, **small, env={"UV_CACHE_DIR": str(home / "uv")})
    yield Peer("pager", [str(old / "python"), str(HERE / "pager.py")], "turn_24", {}, "turn_24: done", "book://leaf/0",
               {"tools": 25, "resources": 25, "prompts": 25})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gosling", required=True)
    parser.add_argument("--home", required=True, type=Path)
    parser.add_argument("--uvx", metavar="PACKAGE", help="the Python SDK that is in the cache of uvx")
    parser.add_argument("--count", type=Path, help="a file for the number of peers tried")
    parser.add_argument("peer", nargs="*")
    options = parser.parse_args()
    options.home = options.home.absolute()
    scratch = Path(tempfile.mkdtemp())
    pages = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    gosling = Gosling(options.gosling, scratch / "root")
    print(line_of({column: column for column in COLUMNS}), flush=True)
    results, todo = [], queue.Queue()
    page = f"http://127.0.0.1:{pages.server_port}/"
    for number, peer in enumerate(peers(options.home, scratch, page, options.uvx)):
        if not options.peer or peer.name in options.peer:
            todo.put((number, peer))

    def work():
        while True:
            try:
                number, peer = todo.get_nowait()
            except queue.Empty:
                return
            installed = [part for part in peer.command if part.startswith(str(options.home))]
            if not all(map(os.path.exists, installed)):
                row = dict.fromkeys(COLUMNS, "-") | {"peer": peer.name, "transport": peer.transport}
                row["result"] = "skipped: not installed"
            else:
                row = try_out(gosling, peer, scratch / f"{number}-{peer.name}")
            results.append(row)
            print(line_of(row), flush=True)

    workers = [threading.Thread(target=work) for _ in range(AT_ONCE)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    ended_well = gosling.stop()
    shutil.rmtree(scratch, ignore_errors=True)
    failed = [row for row in results if row["result"].startswith("FAILED")]
    tried = [row for row in results if not row["result"].startswith("skipped")]
    if not ended_well:
        print("gosling did not end well: " + "".join(gosling.log[-5:]), file=sys.stderr)
    if failed:
        print("".join(gosling.log[-20:]), file=sys.stderr)
    if options.count:
        options.count.write_text(str(len(tried)))
    return 1 if failed or not ended_well else 0


if __name__ == "__main__":
    sys.exit(main())
