"""Has a session with gosling, and gives what GET /metrics answers to `promtool check metrics`.

    python3 tests/interop/metrics.py GOSLING
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

SECRET = "a key for this test"


def main(gosling):
    with tempfile.TemporaryDirectory() as root:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("GOOSE", "GOSLING"))}
        env.update(GOOSE_PATH_ROOT=root, GOOSE_SERVER__SECRET_KEY=SECRET)
        server = subprocess.Popen([gosling, "agent", "--port", "0"], env=env, stderr=subprocess.PIPE, text=True)
        try:
            url = next(line.split()[-1] for line in server.stderr if " listens on " in line)
            text = session(url, root, gosling)
        finally:
            server.terminate()
            server.communicate(timeout=30)
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
    said = (checked.stdout + checked.stderr).strip()
    count = sum(line.startswith("# TYPE ") for line in text.splitlines())
    print(f"promtool check metrics: exit {checked.returncode}, {count} metrics{': ' + said if said else ''}")
    return 1 if checked.returncode or said or count < 20 else 0


def session(url, root, gosling):
    def ask(path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url + path, data, {"X-Secret-Key": SECRET, "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.read().decode()

    demo = {"type": "stdio", "name": "demo", "cmd": gosling, "args": ["mcp", "demo"]}
    dead = {"type": "stdio", "name": "dead", "cmd": "false"}
    started = json.loads(ask("/agent/start", {"working_dir": root, "extension_overrides": [demo, dead]}))
    ask("/agent/resume", {"session_id": started["id"], "load_model_and_extensions": True})
    call = {"session_id": started["id"], "name": "demo__echo", "arguments": {"text": "x"}}
    try:
        ask("/agent/call_tool", call)
        ask("/nowhere")
    except urllib.error.HTTPError:
        pass
    return ask("/metrics")


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
