"""Extensions of type `inline_python` with the real uvx, over gosling's HTTP API.

    python3 tests/interop/inline_python.py --gosling PROGRAM --uvx FOLDER --mcp NEW OLD [--cycles N]

FOLDER has the program uvx, and a python with NEW; NEW and OLD are requirements for the Python SDK, 2.x and 1.x.
The cache of uvx is new, so the first start downloads. Prints a line for each scenario. Exit status 1 if one
failed.
"""

import argparse
import contextlib
import http.client
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import peers

SERVER = """
from mcp.server.mcpserver import MCPServer
{imports}
mcp = MCPServer("inline")

@mcp.tool()
def total(a: int, b: int) -> str:
    return f"{{a + b}} {{{value}}}"

mcp.run()
"""
OLD_SDK = """
from mcp.server.fastmcp import FastMCP
mcp = FastMCP("inline")

@mcp.tool()
def total(a: int, b: int) -> str:
    return f"{a + b} old"

mcp.run()
"""
THREE = ["six==1.17.0", "toolz>=1,<2", "text-unidecode==1.3"]
CALL = {"name": "py__total", "arguments": {"a": 2, "b": 3}}
TURNS = [{"steps": [{"call": CALL}]}, {"steps": [{"text": "done"}]}]


class Scene:
    """A running gosling, and what it leaves behind."""

    def __init__(self, options, scratch):
        self.temporary = scratch / "tmp"
        for folder in ("tmp", "work", "root/config"):
            (scratch / folder).mkdir(parents=True)
        script = scratch / "script.json"
        script.write_text(json.dumps({"turns": TURNS}))
        settings = {"GOOSE_PROVIDER": "scripted", "GOOSE_MODEL": "script", "GOOSE_SCRIPT": str(script),
                    "GOOSE_MODE": "auto", "GOOSE_INLINE_PYTHON_MCP": options.mcp[0]}
        (scratch / "root/config/config.yaml").write_text(json.dumps(settings))
        os.environ |= {"PATH": f"{options.uvx}:{os.environ['PATH']}", "TMPDIR": str(self.temporary),
                       "UV_CACHE_DIR": str(scratch / "cache")}
        self.work = str(scratch / "work")
        self.start = lambda: peers.Gosling(options.gosling, scratch / "root")
        self.gosling = self.start()

    def restart(self, **variables):
        """Another gosling, with these variables too."""
        expect(self.gosling.stop(), "gosling did not end well")
        os.environ |= variables
        self.gosling = self.start()

    def send(self, path, body):
        """Status and text of the answer."""
        connection = http.client.HTTPConnection(self.gosling.address, timeout=180)
        headers = {"X-Secret-Key": peers.KEY, "Content-Type": "application/json"}
        with contextlib.closing(connection):
            connection.request("POST", path, json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def session(self, **more):
        body = {"working_dir": self.work, "extension_overrides": [], **more}
        return {"session_id": self.gosling.ask("POST", "/agent/start", body)["id"]}

    def add(self, session, code, **fields):
        config = {"type": "inline_python", "name": "py", "description": "", "code": code, "timeout": 120, **fields}
        return self.send("/agent/add_extension", session | {"config": config})

    def works(self, code, says, **fields):
        """Starts it, lists and calls its tool; milliseconds until it was ready."""
        session = self.session()
        begin = time.monotonic()
        status, text = self.add(session, code, **fields)
        took = round(1000 * (time.monotonic() - begin))
        expect(status == 200, text)
        tools = self.gosling.ask("GET", "/agent/tools", **session)
        expect([tool["name"] for tool in tools] == ["py__total"], tools)
        status, text = self.send("/agent/call_tool", session | CALL)
        expect(status == 200 and says in text, text)
        self.gosling.ask("POST", "/agent/stop", session)
        self.nothing_is_left()
        return took

    def fails(self, class_, parts, code, **fields):
        session = self.session()
        status, text = self.add(session, code, **fields)
        message = json.loads(text)["message"] if status != 200 else text
        expect(status == (500 if class_ else 422), f"{status} {text}")
        expect(json.loads(text).get("class") == class_, text)
        for part in parts:
            expect(part in message, f"{message} lacks {part!r}")
        self.gosling.ask("POST", "/agent/stop", session)
        self.nothing_is_left()

    def family(self):
        """The ids of gosling's descendants, its guardian aside."""
        everyone = peers.processes() or {}
        found, grown = {self.gosling.process.pid}, True
        while grown:
            more = {pid for pid, (parent, _, dead) in everyone.items() if parent in found and not dead} - found
            found |= more
            grown = bool(more)
        names = {pid: name_of(pid) for pid in found - {self.gosling.process.pid}}
        return {pid for pid, name in names.items() if name not in ("", "goslingguardian")}

    def descriptors(self):
        """How many descriptors gosling has; without /proc always 0."""
        folder = Path("/proc", str(self.gosling.process.pid), "fd")
        return len(list(folder.iterdir())) if folder.exists() else 0

    def nothing_is_left(self):
        nothing = (set(), [])
        look = lambda: (self.family(), [path.name for path in self.temporary.iterdir()])
        settles("these are left", look, lambda seen: seen == nothing)


def name_of(pid):
    try:
        return Path("/proc", str(pid), "comm").read_text().strip()
    except OSError:
        return ""


def settles(what, look, is_right):
    """Waits until what `look` sees is right: a connection is closed a moment after its answer."""
    end = time.monotonic() + peers.GONE
    while not is_right(seen := look()):
        expect(time.monotonic() < end, f"{what}: {seen}")
        time.sleep(0.05)


def expect(condition, text):
    if not condition:
        raise peers.Failed(str(text)[-1500:])


def server(imports="", value="'plain'"):
    return SERVER.format(imports=imports, value=value)


def three_dependencies(scene):
    value = "toolz.first([text_unidecode.unidecode(six.text_type('drei \u00fc'))])"
    code = server("import six, text_unidecode, toolz", value)
    return scene.works(code, "5 drei u", dependencies=THREE)


def turn(scene):
    session = scene.session()
    status, text = scene.add(session, server())
    expect(status == 200, text)
    content = [{"type": "text", "text": "add"}]
    message = {"id": None, "role": "user", "created": 1, "content": content,
               "metadata": {"userVisible": True, "agentVisible": True}}
    status, events = scene.send("/reply", session | {"user_message": message})
    expect(status == 200 and "5 plain" in events and "done" in events, events)
    scene.gosling.ask("POST", "/agent/stop", session)
    scene.nothing_is_left()


def project(scene):
    """The files of a project, which may be hostile, change neither uvx nor Python."""
    work = Path(scene.work)
    nowhere = 'index-url = "http://127.0.0.1:9/simple"\n'
    (work / "uv.toml").write_text(nowhere)
    (work / "pyproject.toml").write_text(f'[project]\nname = "x"\nversion = "1"\n[tool.uv]\n{nowhere}')
    (work / ".python-version").write_text("3.99\n")
    (work / ".env").write_text("UV_INDEX_URL=http://127.0.0.1:9/simple\n")
    for module in ("mcp", "toolz", "sitecustomize"):
        (work / f"{module}.py").write_text("raise SystemExit('a module of the project ran')\n")
    scene.works(server("import toolz", "toolz.__version__"), "5 1.0.0", dependencies=["toolz==1.0.0"])
    for file in work.iterdir():
        file.unlink()


def offline(scene):
    """What the variables of a closed network are for: uv gets them."""
    scene.restart(UV_OFFLINE="1")
    took = scene.works(server("import six", "six.__version__"), "5 1.17.0", dependencies=THREE[:1])
    scene.fails("setup", ["network was disabled", "UV_FIND_LINKS"], server(), dependencies=["iniconfig==2.0.0"])
    del os.environ["UV_OFFLINE"]
    scene.restart()
    return took


BACKEND = """
import pathlib, zipfile

def build_wheel(folder, config_settings=None, metadata_directory=None):
    pathlib.Path({tripwire!r}).touch()
    name = "gosling_tripwire-1.0-py3-none-any.whl"
    info = "gosling_tripwire-1.0.dist-info"
    with zipfile.ZipFile(pathlib.Path(folder, name), "w") as wheel:
        wheel.writestr("gosling_tripwire.py", "")
        wheel.writestr(info + "/METADATA", "Metadata-Version: 2.1\\nName: gosling-tripwire\\nVersion: 1.0\\n")
        about = ["Wheel-Version: 1.0", "Generator: x", "Root-Is-Purelib: true", "Tag: py3-none-any", ""]
        wheel.writestr(info + "/WHEEL", "\\n".join(about))
        wheel.writestr(info + "/RECORD", "")
    return name
"""


def malicious_dependency(scene):
    """A package whose code runs when it is built: with the advisory nothing of it runs, without the advisory it
    does."""
    folder = Path(scene.work).parent / "packages"
    folder.mkdir()
    tripwire = folder / "tripped"
    files = {
        "PKG-INFO": "Metadata-Version: 2.1\nName: gosling-tripwire\nVersion: 1.0\n",
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
                          '[project]\nname = "gosling-tripwire"\nversion = "1.0"\n',
        "backend.py": BACKEND.format(tripwire=str(tripwire)),
    }
    with tarfile.open(folder / "gosling_tripwire-1.0.tar.gz", "w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"gosling_tripwire-1.0/{name}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    advisory = folder / "MAL-2026-0001.json"
    advisory.write_text(json.dumps({
        "id": "MAL-2026-0001", "modified": "2026-01-01T00:00:00Z", "summary": "Runs code when it is built",
        "affected": [{"package": {"ecosystem": "PyPI", "name": "gosling-tripwire"}, "versions": ["1.0"]}]}))
    scene.restart(UV_FIND_LINKS=str(folder))
    with setting(scene, "GOOSE_ADVISORIES", str(advisory)):
        for written in ("gosling-tripwire", "Gosling_Tripwire==1.0", "gosling.tripwire[extra]>=0.5"):
            scene.fails("security", ["MAL-2026-0001"], server(), dependencies=[written])
    expect(not tripwire.exists(), "the code of the refused package ran")
    scene.works(server("import gosling_tripwire"), "5 plain", dependencies=["gosling-tripwire"])
    expect(tripwire.exists(), "the package does not run code, so the refusal proves nothing")
    del os.environ["UV_FIND_LINKS"]
    scene.restart()


def runner(scene, options):
    """A prepared environment in the place of uvx."""
    python = Path(options.uvx, "python")
    if subprocess.run([python, "-c", "import mcp.server.mcpserver"], stderr=subprocess.DEVNULL).returncode:
        raise peers.Failed(f"{python} has no MCP SDK")
    with setting(scene, "GOOSE_INLINE_PYTHON_RUNNER", f"'{python}' {{file}}"):
        took = scene.works(server(), "5 plain")
        scene.fails("initialize", ["No module named 'toolz'"], server("import toolz"), dependencies=["toolz"])
    return took


@contextlib.contextmanager
def setting(scene, key, value, after=""):
    def write(value):
        status, text = scene.send("/config/upsert", {"key": key, "value": value, "is_secret": False})
        expect(status == 200, text)

    write(value)
    try:
        yield
    finally:
        write(after)


def with_old_sdk(scene, options, play):
    with setting(scene, "GOOSE_INLINE_PYTHON_MCP", options.mcp[1], options.mcp[0]):
        return play(scene)


def recipe(scene):
    extension = {"type": "inline_python", "name": "py", "description": "", "code": OLD_SDK,
                 "dependencies": ["mcp<2"], "timeout": 120}
    session = scene.session(extension_overrides=None, recipe={
        "title": "T", "description": "D", "instructions": "Add", "extensions": [extension]})
    resumed = scene.gosling.ask("POST", "/agent/resume", session | {"load_model_and_extensions": True})
    expect(resumed["extension_results"] == [{"name": "py", "success": True}], resumed["extension_results"])
    called = scene.gosling.ask("POST", "/agent/call_tool", session | CALL)
    expect("5 old" in json.dumps(called), called)
    scene.gosling.ask("POST", "/agent/stop", session)
    scene.nothing_is_left()


def cycles(scene, count):
    """Adds and removes it in one session; milliseconds for one start and end."""
    session = scene.session()
    begin = None
    for _ in range(count + 1):
        status, text = scene.add(session, server())
        expect(status == 200, text)
        scene.gosling.ask("POST", "/agent/remove_extension", session | {"name": "py"})
        if begin is None:
            scene.nothing_is_left()
            before, begin = scene.descriptors(), time.monotonic()
    took = round(1000 * (time.monotonic() - begin) / count)
    scene.nothing_is_left()
    settles(f"descriptors, {before} before", scene.descriptors, lambda seen: seen <= before)
    scene.gosling.ask("POST", "/agent/stop", session)
    return took


def scenarios(options):
    traceback = ["initialize: ", "Traceback", "ValueError: early"]
    yield "no dependency, cold", lambda it: it.works(server(), "5 plain")
    yield "no dependency, warm", lambda it: it.works(server(), "5 plain")
    one = server("import six", "six.__version__")
    yield "one dependency, cold", lambda it: it.works(one, "5 1.17.0", dependencies=THREE[:1])
    yield "one dependency, warm", lambda it: it.works(one, "5 1.17.0", dependencies=THREE[:1])
    yield "three dependencies, cold", three_dependencies
    yield "three dependencies, warm", three_dependencies
    yield "bad dependency", lambda it: it.fails(
        "setup", ["setup: ", "No solution found", "no-such-package-of-gosling"], server(),
        dependencies=["no-such-package-of-gosling"])
    yield "no requirement", lambda it: it.fails(
        "setup", ["Failed to parse"], server(), dependencies=["not a requirement!"])
    yield "option as dependency", lambda it: it.fails(
        "security", ["--index-url"], server(), dependencies=["--index-url=http://127.0.0.1:9/"])
    yield "malicious dependency", malicious_dependency
    yield "missing code", lambda it: it.fails(None, ["`code` is empty"], "")
    yield "wrong type", lambda it: it.fails(None, ["dependencies: invalid type"], "c", dependencies="idna")
    yield "early exit", lambda it: it.fails("initialize", traceback, "raise ValueError('early')")
    silent = "import time\ntime.sleep(99)"
    yield "init timeout", lambda it: it.fails("timeout", ["`timeout`"], silent, timeout=5)
    yield "module missing", lambda it: it.fails(
        "initialize", ["No module named 'idna_x'", "`dependencies`"], "import idna_x")
    yield "SDK 2.x and FastMCP", lambda it: it.fails("initialize", ["`mcp<2`"], OLD_SDK)
    yield "files of a project", project
    yield "offline, warm", offline
    yield "prepared environment", lambda it: runner(it, options)
    yield "turn", turn
    yield "SDK 1.x and MCPServer", lambda it: with_old_sdk(it, options, lambda it: it.fails(
        "initialize", ["`mcp>=2`"], server()))
    yield "recipe with SDK 1.x", lambda it: with_old_sdk(it, options, recipe)
    yield f"{options.cycles} cycles", lambda it: cycles(it, options.cycles)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gosling", required=True)
    parser.add_argument("--uvx", required=True, help="the folder of uvx, and of a python with NEW")
    parser.add_argument("--mcp", required=True, nargs=2, help="requirements for the Python SDK, 2.x and 1.x")
    parser.add_argument("--cycles", type=int, default=10)
    options = parser.parse_args()
    scratch = Path(tempfile.mkdtemp()).resolve()
    scene = Scene(options, scratch)
    failures = 0
    for name, play in scenarios(options):
        try:
            took = play(scene)
            result = f"{took:6} ms  ok" if took else f"{'':6}     ok"
        except peers.Failed as error:
            failures += 1
            result = f"{'':6}     FAILED: {error}"
        print(f"inline-python {name:26} {result}", flush=True)
    if not scene.gosling.stop():
        failures += 1
        print("gosling did not end well", file=sys.stderr)
    if failures:
        print("".join(scene.gosling.log[-30:]), file=sys.stderr)
    shutil.rmtree(scratch, ignore_errors=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
