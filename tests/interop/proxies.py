"""Puts gosling behind the proxies that `gosling service nginx` and `gosling service haproxy` configure.

    python3 tests/interop/proxies.py GOSLING [nginx] [haproxy]

Each proxy passes on streams as they come, WebSockets and uploads; uses connections again; tells where clients are,
whatever these say themselves; and lets nobody hide a request in another one. Prints a row for each of these.
"""

import base64
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

KEY = "a key for this test"
HOST = "gosling.example"
CLIENT = "127.0.0.9"
WORDS = 30
DELAY = 0.1


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def connect(port):
    stream = socket.create_connection(("127.0.0.1", port), timeout=60, source_address=(CLIENT, 0))
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return stream


def head(method, path, fields=(), body=None, key=True):
    lines = [f"{method} {path} HTTP/1.1", f"Host: {HOST}", *fields]
    if key:
        lines.append(f"X-Secret-Key: {KEY}")
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


class Reader:
    """Reads answers, one after the other, from a connection."""

    def __init__(self, stream):
        self.file = stream.makefile("rb")

    def answer(self, piece=lambda data: None):
        line = self.file.readline().decode()
        if not line:
            return None
        fields = {}
        while (field := self.file.readline().decode().strip()):
            name, _, value = field.partition(":")
            fields[name.lower()] = value.strip()
        body = b""
        if fields.get("transfer-encoding") == "chunked":
            while (size := int(self.file.readline().split(b";")[0], 16)):
                data = self.file.read(size)
                piece(data)
                body += data
                self.file.readline()
            self.file.readline()
        else:
            body = self.file.read(int(fields.get("content-length", 0)))
        return int(line.split()[1]), fields, body


class Gosling:
    """A server with a scripted model, on a port and on a Unix socket."""

    def __init__(self, program, root):
        self.root, self.port, self.socket = root, free_port(), os.path.join(root, "gosling.sock")
        script = os.path.join(root, "script.json")
        text = "word " * WORDS
        steps = [{"text": text, "chunks": WORDS, "delay_ms": int(DELAY * 1000)}]
        with open(script, "w") as file:
            json.dump({"repeat": True, "turns": [{"steps": steps}]}, file)
        env = {k: v for k, v in os.environ.items() if not k.startswith(("GOOSE", "GOSLING"))}
        env.update(
            GOOSE_PATH_ROOT=root, HOME=root, GOOSE_SERVER__SECRET_KEY=KEY, GOOSE_ALLOWED_HOSTS=HOST,
            GOOSE_TRUSTED_PROXIES="127.0.0.1,unix", GOOSE_ACCESS_LOG="true", GOOSE_PROVIDER="scripted",
            GOOSE_MODEL="scripted", GOOSE_SCRIPT=script, NOTIFY_SOCKET="@none-" + os.path.basename(root),
            GOOSE_LISTEN=f"127.0.0.1:{self.port} unix:{self.socket},mode=0666",
        )
        self.log = open(os.path.join(root, "log"), "wb+")
        self.process = subprocess.Popen([program, "agent"], env=env, stderr=self.log)
        wait(lambda: os.path.exists(self.socket), "gosling does not listen")

    def text(self):
        with open(self.log.name, "rb") as file:
            return file.read().decode()

    def accepted(self):
        with contextlib.closing(connect(self.port)) as stream:
            stream.sendall(head("GET", "/metrics"))
            _, _, body = Reader(stream).answer()
        return int(re.search(rb"^gosling_http_connections_accepted_total (\d+)", body, re.M).group(1))


def wait(holds, why, limit=30):
    end = time.monotonic() + limit
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(why)
        time.sleep(0.05)


def ask(port, *args, body=None, **more):
    with contextlib.closing(connect(port)) as stream:
        stream.sendall(head(*args, body=body, **more) + (body or b""))
        return Reader(stream).answer()


def session(port, root):
    body = json.dumps({"working_dir": root, "extension_overrides": []}).encode()
    status, _, answer = ask(port, "POST", "/agent/start", body=body)
    assert status == 200, answer
    return json.loads(answer)["id"]


def turn(port, id, meanwhile=lambda: None):
    message = {
        "role": "user", "created": 0, "content": [{"type": "text", "text": "go"}],
        "metadata": {"userVisible": True, "agentVisible": True},
    }
    body = json.dumps({"session_id": id, "user_message": message}).encode()
    heard = []
    with contextlib.closing(connect(port)) as stream:
        stream.sendall(head("POST", "/reply", body=body) + body)

        def piece(data):
            heard.append((time.monotonic(), data))
            if len(heard) == 3:
                meanwhile()

        status, fields, body = Reader(stream).answer(piece)
    assert status == 200 and b'"Finish"' in body, (status, body[-300:])
    return heard, fields, body


# What is tried of each proxy. Each gets the port of the proxy and the server.


def streams(port, gosling):
    heard, _, body = turn(port, session(port, gosling.root))
    words = [at for at, data in heard if b"word" in data]
    spread = words[-1] - words[0]
    assert len(words) > WORDS / 2 and spread > WORDS * DELAY / 2, (len(words), spread)
    return f"{len(words)} pieces in {spread:.1f} s"


def reload_in_a_stream(port, gosling):
    before = gosling.text().count("files read again")
    heard, _, _ = turn(port, session(port, gosling.root), lambda: gosling.process.send_signal(signal.SIGHUP))
    wait(lambda: gosling.text().count("files read again") > before, "it was not reloaded")
    return f"{len(heard)} pieces"


def web_sockets(port, gosling):
    with contextlib.closing(connect(port)) as stream:
        key = base64.b64encode(os.urandom(16)).decode()
        fields = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}"]
        stream.sendall(head("GET", "/acp", fields))
        reader = Reader(stream)
        line = reader.file.readline()
        while reader.file.readline().strip():
            pass
        assert b" 101 " in line, line
        calls = [
            ("initialize", {"protocolVersion": 1, "clientCapabilities": {}}),
            ("session/new", {"cwd": gosling.root, "mcpServers": []}),
        ]
        for id, (method, params) in enumerate(calls):
            text = json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode()
            mask = os.urandom(4)
            masked = bytes(b ^ mask[i % 4] for i, b in enumerate(text))
            short = bytes([0x80 | len(text)]) if len(text) < 126 else b"\xfe" + len(text).to_bytes(2, "big")
            stream.sendall(b"\x81" + short + mask + masked)
            while (answer := json.loads(message(reader.file))).get("id") != id:
                pass
            assert answer["id"] == id and "result" in answer, answer
            # Longer than a proxy collects what is sent.
            time.sleep(0.5)
    return "2 round trips"


def message(file):
    while True:
        first, length = file.read(2)
        if length in (126, 127):
            length = int.from_bytes(file.read(2 if length == 126 else 8), "big")
        data = file.read(length)
        if first & 15 == 1:
            return data


def uploads(port, gosling):
    large = json.dumps({"key": "x" * (20 << 20), "is_secret": False}).encode()
    status, _, body = ask(port, "POST", "/config/read", body=large)
    assert status in (200, 400, 404, 422), (status, body[:300])
    with contextlib.closing(connect(port)) as stream:
        # Chunked, of unknown length.
        fields = ["Transfer-Encoding: chunked", "Content-Type: application/json"]
        stream.sendall(head("POST", "/config/read", fields))
        text = json.dumps({"key": "y" * (1 << 20), "is_secret": False}).encode()
        for at in range(0, len(text), 100_000):
            part = text[at : at + 100_000]
            stream.sendall(b"%x\r\n%s\r\n" % (len(part), part))
        stream.sendall(b"0\r\n\r\n")
        chunked, _, _ = Reader(stream).answer()
        assert chunked == status, (chunked, status)
    with contextlib.closing(connect(port)) as stream:
        fields = ["Content-Type: application/json", f"Content-Length: {(50 << 20) + 1}"]
        stream.sendall(head("POST", "/config/read", fields))
        too_large, _, _ = Reader(stream).answer()
    assert too_large == 413, too_large
    return f"20 MiB, and 1 MiB in chunks: {status}; more than 50 MiB: {too_large}"


def connections_are_used_again(port, gosling):
    begin = gosling.accepted()
    with contextlib.closing(connect(port)) as stream:
        reader = Reader(stream)
        for _ in range(100):
            stream.sendall(head("GET", "/status", key=False))
            status, _, _ = reader.answer()
            assert status == 200, status
    # The two that ask for the number are among them, and a check of the proxy's own every other second.
    used = gosling.accepted() - begin
    assert used < 20, used
    return f"100 requests, at most {used} connections to gosling"


def clients_are_told(port, gosling):
    lies = ["X-Forwarded-For: 1.2.3.4", "Forwarded: for=1.2.3.4;host=evil.example", "X-Forwarded-Host: evil.example",
            "X-Forwarded-Proto: https"]
    status, _, body = ask(port, "GET", "/told", lies)
    assert status == 404, (status, body)
    wait(lambda: 'path="/told"' in gosling.text(), "no line in the access log")
    lines = [line for line in gosling.text().splitlines() if 'path="/told"' in line]
    assert all(f" address={CLIENT} " in line and 'key="server"' in line for line in lines), lines
    assert "1.2.3.4" not in gosling.text()
    return f"address={CLIENT}"


SMUGGLED = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
CHUNKED = "0\r\n\r\n" + SMUGGLED


def smuggling(port, gosling):
    """Requests that two parties could take for different ones; none may bring the hidden one to gosling."""
    post = f"POST /status HTTP/1.1\r\nHost: {HOST}\r\n"
    tries = {
        "both lengths": f"{post}Content-Length: {len(CHUNKED)}\r\nTransfer-Encoding: chunked\r\n\r\n{CHUNKED}",
        "both, other way": f"{post}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n5\r\nGET /\r\n0\r\n\r\n{SMUGGLED}",
        "two lengths": f"{post}Content-Length: 0\r\nContent-Length: {len(SMUGGLED)}\r\n\r\n{SMUGGLED}",
        "list of lengths": f"{post}Content-Length: 0, {len(SMUGGLED)}\r\n\r\n{SMUGGLED}",
        "signed length": f"{post}Content-Length: +0\r\n\r\n{SMUGGLED}",
        "space before the colon": f"{post}Content-Length : 0\r\nTransfer-Encoding : chunked\r\n\r\n{CHUNKED}",
        "odd coding": f"{post}Transfer-Encoding: xchunked\r\nContent-Length: {len(CHUNKED)}\r\n\r\n{CHUNKED}",
        "coding twice": f"{post}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n{CHUNKED}",
        "vertical tab": f"{post}Transfer-Encoding:\x0bchunked\r\nContent-Length: {len(CHUNKED)}\r\n\r\n{CHUNKED}",
        "bare line feeds": f"{post}Content-Length: 0\nX: y\r\n\r\n{SMUGGLED}",
        "bare carriage return": f"{post}X: y\rContent-Length: {len(SMUGGLED)}\r\nContent-Length: 0\r\n\r\n{SMUGGLED}",
        "folded line": f"{post}Transfer-Encoding:\r\n chunked\r\nContent-Length: {len(CHUNKED)}\r\n\r\n{CHUNKED}",
        "huge chunk": f"{post}Transfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\nx\r\n{CHUNKED}",
        "chunk extension": f"{post}Transfer-Encoding: chunked\r\n\r\n0;\n\r\n\r\n{SMUGGLED}",
        "old version": f"POST /status HTTP/1.0\r\nHost: {HOST}\r\nTransfer-Encoding: chunked\r\nContent-Length: {len(CHUNKED)}\r\n\r\n{CHUNKED}",
        "upgrade that is none": f"GET /status HTTP/1.1\r\nHost: {HOST}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
        "upgrade with a wrong version": f"GET /acp HTTP/1.1\r\nHost: {HOST}\r\nX-Secret-Key: {KEY}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 7\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
    }
    statuses = []
    for name, text in tries.items():
        with contextlib.closing(connect(port)) as stream:
            stream.sendall(text.encode())
            stream.settimeout(2)
            got = b""
            with contextlib.suppress(TimeoutError, ConnectionError):
                stream.shutdown(socket.SHUT_WR)
                while part := stream.recv(65536):
                    got += part
        statuses.append(got.split(b" ", 2)[1].decode() if got else "-")
        # A proxy may read the second one as a request of the same client; then it has the client's address and no key.
        for line in gosling.text().splitlines():
            if "/smuggled" in line:
                assert f" address={CLIENT} " in line and re.search(" status=40[013] .* key=\"-\"", line), (name, line)
        # The next client of the same connection to gosling gets what it has asked for.
        for _ in range(3):
            status, _, body = ask(port, "GET", "/sessions")
            assert status == 200 and b'"sessions"' in body, (name, status, body[:200])
    return f"{len(tries)} tries: {' '.join(statuses)}"


TRIES = [streams, reload_in_a_stream, web_sockets, uploads, connections_are_used_again, clients_are_told, smuggling]


def printed(gosling, kind):
    return subprocess.run([gosling, "service", kind], check=True, capture_output=True, text=True).stdout


def nginx(program, gosling, port, to, folder):
    text = printed(program, "nginx")
    text = text.replace("listen 443 ssl;", f"listen 127.0.0.1:{port};").replace("127.0.0.1:3000", to)
    text = re.sub(r"^ +ssl_certificate.*$", "", text, flags=re.M)
    paths = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    config = f"""daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/errors;
        events {{ }} http {{ access_log off; {paths} {text} }}"""
    path = os.path.join(folder, "nginx.conf")
    with open(path, "w") as file:
        file.write(config)
    return ["nginx", "-c", path, "-p", folder, "-e", f"{folder}/errors"]


def haproxy(program, gosling, port, to, folder):
    text = printed(program, "haproxy")
    text = re.sub(r"bind :443 ssl .*", f"bind 127.0.0.1:{port}", text)
    text = text.replace("server gosling 127.0.0.1:3000", f"server gosling {to.replace('unix:', 'unix@')}")
    path = os.path.join(folder, "haproxy.cfg")
    with open(path, "w") as file:
        file.write(text)
    subprocess.run(["haproxy", "-c", "-f", path], check=True, stdout=subprocess.DEVNULL)
    return ["haproxy", "-db", "-f", path]


def behind(name, kind, program, how):
    failures = 0
    with tempfile.TemporaryDirectory() as root:
        # Workers of nginx run as another user.
        os.chmod(root, 0o755)
        gosling = Gosling(program, root)
        folder = os.path.join(root, "proxy")
        os.mkdir(folder)
        port = free_port()
        to = f"unix:{gosling.socket}" if how == "unix" else f"127.0.0.1:{gosling.port}"
        with open(os.path.join(folder, "log"), "wb+") as log:
            proxy = subprocess.Popen(kind(program, gosling, port, to, folder), stderr=log, stdout=log)
        try:
            wait(lambda: can_ask(port), f"{name} does not serve")
            for attempt in TRIES:
                begin = time.monotonic()
                try:
                    result = "ok: " + attempt(port, gosling)
                except Exception as error:
                    result, failures = f"FAILED {type(error).__name__}: {error}"[:600], failures + 1
                took = (time.monotonic() - begin) * 1000
                print(f"{name + ' ' + attempt.__name__:<36} {how:<6} {took:6.0f} ms  {result}", flush=True)
            if gosling.process.poll() is not None or "internal error" in gosling.text():
                print(f"{name:<36} {how:<6} {0:6} ms  FAILED gosling has ended or failed")
                failures += 1
        finally:
            for process in (proxy, gosling.process):
                process.terminate()
                process.wait(timeout=30)
            if failures:
                for path in (gosling.log.name, os.path.join(folder, "log"), os.path.join(folder, "errors")):
                    if os.path.exists(path):
                        with open(path, errors="replace") as file:
                            print(path, *file.readlines()[-15:], sep="\n", file=sys.stderr)
    return failures


def can_ask(port):
    with contextlib.suppress(OSError, TypeError, IndexError):
        return ask(port, "GET", "/status", key=False)[0] == 200
    return False


def main(program, names):
    kinds = {"nginx": nginx, "haproxy": haproxy}
    return sum(behind(name, kinds[name], program, how) for name in names for how in ("tcp", "unix"))


if __name__ == "__main__":
    sys.exit(1 if main(os.path.abspath(sys.argv[1]), sys.argv[2:]) else 0)
