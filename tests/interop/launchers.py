#!/usr/bin/env python3
"""Compares what launchers fetch with what gosling says: launchers.py --gosling PATH [--bin FOLDER] [--count N]

Generates command lines of `npx`, `npm exec`, `uvx` and `uv`, runs each with the real program against registries
on loopback that note which packages are requested, and asks `gosling extensions list --json` about the same lines.
A line that gosling does not understand counts apart: then each package that was requested must be among those
that it names. Lines of pipx go through the parser of the real pipx. Prints the lines that differ, and a row;
exit status 1 if there are any.
"""

import argparse
import hashlib
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

# One of them stands where a package may be; none exists in a real registry or on this machine.
NAMES = [f"gosling-lab-{word}" for word in ("one", "two", "three", "four")]
NPM = ["-y", "--yes", "-yes", "---yes", "--no", "--no-yes", "--no-install", "-q", "-s", "--quiet", "-d", "-yq", "-ys",
       "--yes=true", "--yes=false", "--yes=PKG", "--prefer-offline", "--prefer-online", "--package PKG", "--package=PKG",
       "-package=PKG", "---package PKG", "-p PKG", "--p PKG", "-p=PKG", "-yp PKG", "-py PKG", "--pack PKG",
       "--packag=PKG", "--no-package PKG", "--loglevel silent", "--loglevel=silent", "--loglev silent", "--unknown PKG",
       "--unknown=PKG", "--no-unknown PKG", "--ignore-scripts", "--foreground-scripts", "--no-audit", "--no-fund",
       "--fund", "--audit=false", "-f", "--force", "--cache CACHE", "--prefix CACHE", "-C CACHE", "--ignore-existing",
       "-n PKG", "--shell sh", "--yes --package=PKG", "--json", "-g", "-ddd", "--silent", "--verbose", "--legacy-peer-deps",
       "--fetch-retries 1", "--tag PKG", "--workspaces=false", "--registry=REGISTRY", "--reg REGISTRY", "--color always"]
UV = ["-q", "--quiet", "-v", "-qv", "-n", "--no-cache", "--offline=PKG", "-w PKG", "-wPKG", "-w=PKG", "-qwPKG", "-qw PKG",
      "--with PKG", "--with=PKG", "--with PKG,PKG", "--wit PKG", "--from PKG", "--from=PKG", "--fro PKG", "--isolated",
      "--refresh", "-U", "--no-progress", "--directory CACHE", "--project CACHE", "--python PYTHON", "-pPYTHON",
      "-p PYTHON", "-qp PYTHON", "--color never", "--color=never", "--no-config", "-i REGISTRY", "-iREGISTRY",
      "--index-url REGISTRY", "--default-index=REGISTRY", "--unknown PKG", "--unknown=PKG", "--refresh-package PKG",
      "--prerelease allow", "--resolution=highest", "--no-build", "--link-mode copy", "--native-tls", "--no-env-file",
      "--reinstall", "--no-python-downloads", "-P PKG", "--upgrade-package=PKG", "--lfs", "--torch-backend cpu", "-quiet"]
PYTHON = ["python3.11 -V", "python -V", "cpython@3.11 -V", "--from python3.11 python -V", "--with pypy python -V",
          "python311 -V", "pythonw -V", "cpython -V", "3.11 -V"]
UV_RUN = ["-m PKG", "--no-project", "-s PKG", "--no-sync", "--extra PKG", "--group PKG", "--package PKG"]
PIPX = ["--spec PKG", "--spec=PKG", "--spe=PKG", "--sp PKG", "--s PKG", "--with PKG", "--with=PKG", "--wi PKG", "-q",
        "--quiet", "-v", "-qv", "--no-cache", "--no-c", "--path", "--pypackages", "--python PYTHON", "--py PYTHON",
        "-i REGISTRY", "-iREGISTRY", "--index-url REGISTRY", "--index=REGISTRY", "--pip-args=PKG", "--editable", "-e",
        "--unknown", "--backend uv", "--global", "-qi REGISTRY", "--refresh", "--verbose", "--fetch-python never",
        "--cooldown 1", "--system-site-packages", "--with PKG --with PKG", "-qe", "-qx", "-w PKG"]


class Registry(BaseHTTPRequestHandler):
    """npm's registry and a Python index at /LINE/npm/ and /LINE/simple/, with every package in version 1.0.0."""

    requested = {}
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        _, line, kind, rest = unquote(self.path).split("/", 3)
        name = rest.strip("/").split("/")[0]
        note = lambda: self.requested.setdefault(line, set()).add(name)
        base = f"http://127.0.0.1:{self.server.server_port}/{line}"
        if kind == "npm" and "/" not in rest.strip("/"):
            note()
            dist = {"tarball": f"{base}/tarball/{name}", "shasum": "0" * 40}
            version = {"name": name, "version": "1.0.0", "bin": {name: "x.js"}, "dist": dist}
            self.answer(json.dumps({"name": name, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}))
        elif kind == "simple":
            note()
            wheel = f"{name.replace('-', '_')}-1.0.0-py3-none-any.whl"
            self.answer(f'<a href="{base}/wheel/{name}/{wheel}">{wheel}</a>', "text/html")
        elif kind == "wheel":
            self.answer(self.wheel(name), "application/zip")
        else:
            self.answer("no", status=404)

    do_POST = do_GET

    def wheel(self, name):
        module, buffer = name.replace("-", "_"), io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as file:
            info = f"{module}-1.0.0.dist-info"
            file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0.0\n")
            file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            file.writestr(f"{info}/RECORD", "")
        return buffer.getvalue()

    def answer(self, body, sort="application/json", status=200):
        body = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        for header in (("Content-Type", sort), ("Content-Length", str(len(body)))):
            self.send_header(*header)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Lines:
    """Generates command lines; the same ones for the same seed."""

    def __init__(self, seed, registry):
        self.random, self.registry = random.Random(seed), registry

    def filled(self, text):
        filled = re.sub("PKG", lambda _: self.random.choice(NAMES), text).replace("CACHE", ".")
        return filled.replace("PYTHON", "3").replace("REGISTRY", "REGISTRY").split(" ")

    def options(self, choice, most=3):
        chosen = (self.random.choice(choice) for _ in range(self.random.randint(0, most)))
        return [word for option in chosen for word in self.filled(option)]

    def operands(self):
        operands = self.filled(self.random.choice(["PKG", "PKG", "PKG x", "PKG@1.0.0", "PKG -p PKG", "PKG --package=PKG",
                                                   "PKG --with PKG", "PKG -- PKG", "PKG PKG"]))
        return (["--"] if self.random.random() < 0.15 else []) + operands

    def one(self):
        choice, pick = self.random.choice, self.random.random()
        if pick < 0.3:
            return ["npx", *self.options(NPM), *self.operands()]
        if pick < 0.5:
            command = choice(["exec", "x", "exe", "ex"])
            return ["npm", *self.options(NPM, 1), command, *self.options(NPM, 2), *self.operands(), *self.options(NPM, 1)]
        if pick < 0.7:
            python = [] if self.random.random() < 0.8 else choice(PYTHON).split(" ")
            return ["uvx", *self.options(UV), *(python or self.operands())]
        if pick < 0.8:
            middle = choice(["run", "uvx"])
            return ["uv", *self.options(UV, 1), "tool", *self.options(UV, 1), middle, *self.options(UV, 2), *self.operands()]
        if pick < 0.9:
            return ["uv", *self.options(UV, 1), "run", *self.options(UV + UV_RUN, 2), *self.operands()]
        return ["pipx", *self.options(["-q", "--version"], 0), "run", *self.options(PIPX), *self.operands()]


def real(words, line, server, tools, folder):
    """The packages that the real launcher asks the registry for."""
    base = f"http://127.0.0.1:{server.server_port}/{line}"
    home = os.path.join(folder, str(line))
    os.makedirs(os.path.join(home, "work"))
    words = [word.replace("REGISTRY", f"{base}/" + ("npm" if words[0][0] == "n" else "simple")) for word in words]
    env = {"PATH": f"{tools}:{os.environ['PATH']}", "HOME": home, "npm_config_registry": f"{base}/npm",
           "npm_config_update_notifier": "false", "npm_config_fetch_retries": "0", "UV_INDEX_URL": f"{base}/simple",
           "UV_PYTHON_DOWNLOADS": "never", "UV_LINK_MODE": "copy", "npm_config_audit": "false"}
    ran = subprocess.run(words, env=env, cwd=os.path.join(home, "work"), stdin=subprocess.DEVNULL, capture_output=True,
                         timeout=120)
    # The launcher itself found fault with the line, and fetched nothing.
    rejected = words[0].startswith("uv") and ran.returncode == 2 and b"Usage:" in ran.stderr + ran.stdout
    return Registry.requested.get(str(line), set()), rejected


def parsed_by_pipx(lines, tools):
    """The packages that the parser of pipx reads, or None for a line that it refuses."""
    script = r"""
import json, sys, contextlib, io
from pipx.main import get_command_parser
found = []
for words in json.load(sys.stdin):
    parser = get_command_parser()
    parser = parser[0] if isinstance(parser, tuple) else parser
    try:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            it = parser.parse_args(words[1:])
    except SystemExit:
        found.append(None)
        continue
    app = it.app_with_args[1:] if it.app_with_args[:1] == ["--"] else it.app_with_args
    names = [it.spec] if it.spec else app[:1]
    found.append(names + list(getattr(it, "with_", None) or []))
json.dump(found, sys.stdout)
"""
    run = subprocess.run([os.path.join(tools, "python"), "-c", script], input=json.dumps(lines), text=True,
                         stdout=subprocess.PIPE, check=True)
    # To pip, what follows an @ is an address, so such a package is not one of the registry.
    return [found if found is None else {name for name in found if "@" not in name} for found in json.loads(run.stdout)]


def said(gosling, lines):
    """What gosling says of each line: the packages, and whether it understands it."""
    with tempfile.TemporaryDirectory() as root:
        os.mkdir(os.path.join(root, "config"))
        extensions = {f"line{n}": {"enabled": True, "type": "stdio", "name": f"line{n}", "description": "",
                                   "cmd": words[0], "args": words[1:]} for n, words in enumerate(lines)}
        # What could be a package in a line that is not understood is only said of malware.
        affected = [{"package": {"ecosystem": of, "name": name}} for of in ("npm", "PyPI") for name in NAMES]
        advisories = os.path.join(root, "advisories.json")
        with open(advisories, "w") as file:
            json.dump({"id": "MAL-1", "affected": affected}, file)
        settings = {"GOOSE_SCREENING": "strict", "GOOSE_ADVISORIES": advisories}
        with open(os.path.join(root, "config/config.yaml"), "w") as file:
            json.dump({"extensions": extensions, **settings}, file)
        env = {"PATH": os.environ["PATH"], "GOOSE_PATH_ROOT": root, "HOME": root}
        answers = []
        for n in range(len(lines)):
            command = [gosling, "extensions", "show", f"line{n}", "--json"]
            shown = json.loads(subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True).stdout)
            screening = shown["screening"] or {"packages": [], "reasons": []}
            names = {name.split(" ")[1] for name in screening["packages"] if " " in name}
            names.update(re.findall(r'package "([^"]*)" of \S+ is malware', " ".join(screening["reasons"])))
            answers.append((names, not any("is not understood" in reason for reason in screening["reasons"])))
        return answers


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gosling", required=True)
    parser.add_argument("--bin", default="", help="the folder of uv, uvx, pipx and their python")
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    generator = Lines(options.seed, server)
    lines = list({" ".join(line): line for line in (generator.one() for _ in range(options.count))}.values())
    answers = said(os.path.abspath(options.gosling), lines)
    pipx = [line for line in lines if line[0] == "pipx"]
    of_pipx = iter(parsed_by_pipx(pipx, options.bin) if pipx else [])
    counts = dict.fromkeys(("the same", "not understood", "refused by the launcher", "different"), 0)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        run = lambda n: real(lines[n], n, server, options.bin, folder)
        runs = {n: pool.submit(run, n) for n, line in enumerate(lines) if line[0] != "pipx"}
        for n, (line, (named, understood)) in enumerate(zip(lines, answers)):
            if n in runs:
                fetched, rejected = runs[n].result()
            else:
                fetched = next(of_pipx)
                rejected = fetched is None
            if rejected:
                result = "refused by the launcher"
            elif not understood:
                result = "not understood" if fetched.intersection(NAMES) <= named else "different"
            else:
                result = "the same" if fetched == named else "different"
            counts[result] += 1
            if result == "different":
                print(f"FAILED: {' '.join(line)}: fetched {sorted(fetched)}, said {sorted(named)}, {understood=}")
    print(f"{len(lines)} command lines: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
    sys.exit(1 if counts["different"] or not counts["the same"] else 0)


if __name__ == "__main__":
    main()
