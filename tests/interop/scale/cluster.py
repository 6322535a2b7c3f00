"""Three servers that share the sessions, behind the HAProxy that `gosling service haproxy --shards` configures."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time

HOST = "gosling.example"
KEY = "the server's key in this test"
SHARDS = 3

# fd 3 is the socket, and only that: what systemd does.
INHERIT = 'exec 3<&"$1"; [ "$1" = 3 ] || eval "exec $1<&-"; LISTEN_FDS=1 LISTEN_PID=$$ exec "${@:2}"'
SCRIPT = {
    "repeat": True,
    "turns": [
        {"steps": [{"text": "You say {{last_user}}"}]},
        {"when": {"user": "slowly"}, "steps": [{"text": "begin and middle and end", "chunks": 10, "delay_ms": 150}]},
        {"when": {"user": "work"}, "steps": [
            *({"call": {"name": "demo__add", "arguments": {"a": number, "b": 3}}} for number in range(5)),
            {"text": "word " * 400 + "done", "chunks": 400}]},
        {"when": {"user": "add"}, "steps": [
            {"call": {"name": "demo__add", "arguments": {"a": 2, "b": 3}}}, {"text": "It is {{last_result}}"}]},
    ],
}


def wait(holds, why, limit=60):
    end = time.monotonic() + limit
    while not (found := holds()):
        if time.monotonic() > end:
            raise AssertionError(why)
        time.sleep(0.01)
    return found


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def environment():
    return {k: v for k, v in os.environ.items() if not k.startswith(("GOOSE", "GOSLING", "LISTEN_"))}


class Shard:
    """One of the servers. The socket is held here, as systemd holds it, and outlives its processes."""

    def __init__(self, program, folder, number):
        self.program, self.number = program, number
        self.root = os.path.join(folder, f"root{number}")
        os.makedirs(os.path.join(self.root, "work"))
        self.script = os.path.join(self.root, "script.json")
        with open(self.script, "w") as file:
            json.dump(SCRIPT, file)
        self.socket, self.port = None, 0
        self.listen()
        self.log = open(os.path.join(self.root, "log"), "ab")
        self.process = None

    def listen(self):
        self.socket = socket.create_server(("127.0.0.1", self.port), backlog=1024)
        self.port = self.socket.getsockname()[1]

    def environment(self):
        return environment() | {
            "GOOSE_PATH_ROOT": self.root, "HOME": self.root, "GOOSE_SERVER__SECRET_KEY": KEY,
            "GOOSE_ALLOWED_HOSTS": HOST, "GOOSE_TRUSTED_PROXIES": "127.0.0.1", "GOOSE_PROVIDER": "scripted",
            "GOOSE_MODEL": "scripted", "GOOSE_SCRIPT": self.script, "GOOSE_SHARD": f"{self.number}/{SHARDS}",
            "GOOSE_DRAIN_SECONDS": "60",
        }

    def start(self):
        """Seconds until it answers."""
        begin = time.monotonic()
        fd = self.socket.fileno()
        self.process = subprocess.Popen(
            ["bash", "-c", INHERIT, "_", str(fd), self.program, "agent"], pass_fds=(fd,), env=self.environment(),
            cwd=os.path.join(self.root, "work"), stdin=subprocess.DEVNULL, stderr=self.log, stdout=self.log)
        # What has connected meanwhile waits in the queue of the socket.
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as stream:
            stream.sendall(b"GET /health/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answer = stream.recv(64)
        assert b" 200 " in answer, answer
        return time.monotonic() - begin

    def kill(self):
        self.process.kill()
        self.process.wait()

    def terminate(self):
        """Seconds until it has ended."""
        begin = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=120)
        assert status == 0, status
        return time.monotonic() - begin

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def cpu(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        """The resident set of the server, and the proportional one of all below it, in KiB."""
        return field(self.process.pid, "status", "VmRSS"), sum(
            field(pid, "smaps_rollup", "Pss") for pid in descendants(self.process.pid))

    def text(self):
        with open(self.log.name, errors="replace") as file:
            return file.read()


def field(pid, file, name):
    try:
        with open(f"/proc/{pid}/{file}") as lines:
            return int(re.search(rf"^{name}:\s+(\d+) kB", lines.read(), re.M).group(1))
    except (OSError, AttributeError):
        # It has ended.
        return 0


def descendants(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/children") as file:
                children = file.read().split()
        except OSError:
            continue
        for child in children:
            if os.path.exists(f"/proc/{child}/task"):
                found += [int(child), *descendants(child)]
    return found


class Cluster:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.shards = [Shard(program, folder, number) for number in range(SHARDS)]
        self.port, self.stats = free_port(), os.path.join(folder, "haproxy.sock")
        self.proxy = None

    def start(self):
        for shard in self.shards:
            shard.start()
        text = subprocess.run(
            [self.program, "service", "haproxy", "--shards", str(SHARDS)], check=True, capture_output=True, text=True
        ).stdout
        text, bound = re.subn(r"bind :443 ssl .*", f"bind 127.0.0.1:{self.port}", text)
        assert bound == 1
        for shard in self.shards:
            part = f"server gosling 127.0.0.1:{3000 + shard.number}\n"
            assert text.count(part) == 1, part
            text = text.replace(part, f"server gosling 127.0.0.1:{shard.port}\n")
        path = os.path.join(self.folder, "haproxy.cfg")
        with open(path, "w") as file:
            file.write(f"global\n    stats socket {self.stats} mode 600 level admin\n{text}")
        checked = subprocess.run(["haproxy", "-c", "-f", path], capture_output=True, text=True)
        assert checked.returncode == 0 and "WARNING" not in checked.stderr, checked.stderr
        errors = open(os.path.join(self.folder, "haproxy.errors"), "wb")
        self.proxy = subprocess.Popen(["haproxy", "-db", "-f", path], stdout=errors, stderr=errors)
        wait(lambda: os.path.exists(self.stats), "HAProxy does not start")

    def retries(self):
        """How often HAProxy has repeated a request or a connection."""
        with socket.socket(socket.AF_UNIX) as stream:
            stream.connect(self.stats)
            stream.sendall(b"show stat\n")
            text = b""
            while part := stream.recv(65536):
                text += part
        names, *rows = text.decode().removeprefix("# ").strip().splitlines()
        names = names.split(",")
        rows = [dict(zip(names, row.split(","))) for row in rows]
        return sum(int(row["wretr"] or 0) for row in rows if row["svname"] == "BACKEND")

    def add_key(self, name):
        """Makes the key of a client with one server, whose file the others get."""
        env = self.shards[0].environment()
        command = [self.program, "keys", "add", name, "--role", "configure"]
        key = subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout.strip()
        source = os.path.join(self.shards[0].root, "config", "keys.yaml")
        for shard in self.shards[1:]:
            target = os.path.join(shard.root, "config", "keys.yaml")
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy(source, target + ".new")
            os.replace(target + ".new", target)
        return key

    def stop(self):
        if self.proxy is not None:
            self.proxy.kill()
            self.proxy.wait()
        for shard in self.shards:
            if shard.process is not None and shard.process.poll() is None:
                shard.process.terminate()
                try:
                    shard.process.wait(timeout=20)
                except subprocess.TimeoutExpired:
                    shard.kill()
            shard.socket.close()
            shard.log.close()
