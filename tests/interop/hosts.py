"""Runs the programs of `gosling help hosts`, in each language that is here: a turn with a tool that is allowed, and one
in whose middle the program is killed, after which nothing is left and the next one starts.

    python3 tests/interop/hosts.py --gosling GOSLING [--node NODE]
"""

import argparse
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FOLDER = os.path.join(os.path.dirname(__file__), "../../src/manual/hosts")
QUESTION = 'What is the "weather"?\n\\ \u00e9'
ANSWER = 'I have asked. "Oslo: sunny"\nThat is \u00e9.\n'
SCRIPT = {"turns": [
    {"when": {"user": QUESTION}, "steps": [
        {"call": {"name": "host__weather", "arguments": {"city": "Oslo"}}},
        {"text": 'I have asked. "{{last_result}}"\nThat is \u00e9.\n', "chunks": 5}]},
    {"when": {"user": "slow"}, "steps": [
        {"call": {"name": "host__weather", "arguments": {"city": "Rome"}}},
        {"text": "It takes a while. " * 200, "chunks": 200, "delay_ms": 300}]}]}
# Linux ends the connections and processes of a program that is killed at once, and gosling takes a moment.
DEADLINE = 20


class Trial:
    """A root of its own, and processes that are known by a variable."""

    def __init__(self, command, gosling, folder):
        self.command, self.mark = command, f"HOSTS_TRIAL={secrets.token_hex(8)}"
        self.root, self.guardians = os.path.join(folder, "root"), {}
        script = os.path.join(folder, "script.json")
        with open(script, "w", encoding="utf-8") as file:
            json.dump(SCRIPT, file)
        name, value = self.mark.split("=")
        env = {k: v for k, v in os.environ.items() if not k.startswith(("GOOSE", "GOSLING"))}
        self.env = {**env, name: value, "GOOSE_PATH_ROOT": self.root, "GOOSE_PROVIDER": "scripted",
                    "GOOSE_MODEL": "script", "GOOSE_SCRIPT": script, "GOOSE_LOG": "warn",
                    "PATH": os.path.dirname(gosling) + os.pathsep + env["PATH"]}

    def start(self, question, **variables):
        return subprocess.Popen([*self.command, question], env={**self.env, **variables}, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def processes(self):
        """Those with the variable, and their children: the guardian of gosling has no variables."""
        found, parents = {}, {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    is_ours = self.mark.encode() in file.read().split(b"\0")
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    line = file.read().replace(b"\0", b" ").decode(errors="replace").strip()
                with open(f"/proc/{pid}/stat", "rb") as file:
                    state, parent, *fields = file.read().rsplit(b")", 1)[1].split()
            except OSError:
                continue
            if is_ours:
                found[int(pid)] = line
            elif state != b"Z":
                parents[int(pid)] = (int(parent), line, fields[17])
        for pid, (parent, line, born) in parents.items():
            if parent in found:
                found[pid], self.guardians[pid] = line, born
        for pid, born in self.guardians.items():
            if parents.get(pid, (0, "", b""))[2] == born:
                found[pid] = parents[pid][1]
        return found

    def nothing_is_left(self):
        """How long that takes, in seconds."""
        begin = time.monotonic()
        while left := self.processes():
            if time.monotonic() > begin + DEADLINE:
                raise AssertionError(f"left: {left}")
            time.sleep(0.02)
        return time.monotonic() - begin

    def answers(self):
        host = self.start(QUESTION)
        out, err = host.communicate(timeout=60)
        out = out.decode()
        assert host.returncode == 0, (host.returncode, out, err.decode())
        assert out.startswith("allowed: host__weather") and out.endswith("\n" + ANSWER), (out, err.decode())
        assert self.nothing_is_left() < 1, "it does not wait for gosling"

    def fails(self):
        host = self.start("x", GOOSE_PROVIDER="nosuch")
        out, err = host.communicate(timeout=60)
        assert host.returncode == 1 and b"nosuch" in err, (host.returncode, out, err)
        self.nothing_is_left()

    def is_killed(self):
        host = self.start("slow")
        seen = b""
        while b"takes a while" not in seen:
            chunk = os.read(host.stdout.fileno(), 4096)
            assert chunk, (seen, host.communicate())
            seen += chunk
        all_of_them = self.processes()
        # The program, gosling, its guardian, and the program as an MCP server.
        assert len(all_of_them) >= 4, all_of_them
        assert any(line.endswith(" mcp") for line in all_of_them.values()), all_of_them
        assert self.guardians, all_of_them
        os.kill(host.pid, signal.SIGKILL)
        host.wait(timeout=60)
        took = self.nothing_is_left()
        host.communicate(timeout=60)
        return took

    def without_gosling(self):
        env = {**self.env, "PATH": os.path.join(self.root, "nowhere")}
        host = subprocess.run([*self.command, QUESTION], env=env, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=60, check=False)
        assert host.returncode != 0 and host.stderr, host


def build(folder, node):
    """The command of each language, or why there is none."""
    source = {name: os.path.abspath(os.path.join(FOLDER, f"host.{name}")) for name in ("c", "go", "mjs", "py")}
    yield "Python", [sys.executable, source["py"]], None
    yield "Node.js", node and [node, source["mjs"]], "there is no Node.js >= 20"
    command = None
    if compiler := shutil.which("cc"):
        command = [os.path.join(folder, "host_c")]
        flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"]
        subprocess.run([compiler, *flags, "-o", command[0], source["c"]], check=True)
    yield "C", command, "there is no cc"
    command = None
    if go := shutil.which("go"):
        command = [os.path.join(folder, "host_go")]
        env = {**os.environ, "GO111MODULE": "off", "GOPROXY": "off", "GOFLAGS": "", "GOTOOLCHAIN": "local",
               "GOCACHE": os.path.join(folder, "go-cache"), "GOPATH": os.path.join(folder, "go-path")}
        subprocess.run([go, "build", "-o", command[0], source["go"]], check=True, env=env)
        if formatter := shutil.which("gofmt"):
            assert not subprocess.check_output([formatter, "-l", source["go"]]), "gofmt changes host.go"
    yield "Go", command, "there is no Go"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gosling", required=True)
    parser.add_argument("--node")
    options = parser.parse_args()
    gosling, failed = os.path.abspath(options.gosling), 0
    with tempfile.TemporaryDirectory() as folder:
        for name, command, why in build(folder, options.node):
            if not command:
                print(f"skipped: a program in {name} that starts gosling: {why}", file=sys.stderr)
                continue
            with tempfile.TemporaryDirectory() as own:
                trial, begin = Trial(command, gosling, own), time.monotonic()
                try:
                    trial.answers()
                    killed = trial.is_killed()
                    trial.answers()
                    trial.fails()
                    trial.without_gosling()
                    result = f"ok, gone {killed * 1000:.0f} ms after SIGKILL"
                except (AssertionError, OSError, subprocess.SubprocessError) as error:
                    failed, result = 1, f"FAILED: {error}"
                for pid in trial.processes():
                    os.kill(pid, signal.SIGKILL)
                print(f"{'host in ' + name:<36} {'stdio':<6} {(time.monotonic() - begin) * 1000:6.0f} ms  {result}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
