#!/usr/bin/env python3
"""Looks at real pixels through the tools of `developer` for images and the screen: screen.py GOSLING

Starts a display of its own (Xvfb) with a window of a known colour and title on it, captures it with each
program that can, and has images of all sorts scaled. Needs Python 3.9 and the programs of NEEDED. Prints a
line for each thing tried; exit status 1 if one of them went wrong, 77 if a program is missing.
"""

import base64
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

from mcp_stdio import Client

NEEDED = ("Xvfb", "convert", "import", "scrot", "wmctrl", "xdotool", "xsetroot", "xterm", "openbox")
GROUND, WINDOW = (0x33, 0x66, 0x99), (0xCC, 0x22, 0x11)
TITLE = "A red window"
WIDE, HIGH = 1600, 1200
PATIENCE = 20


def png(wide, high, colour, claim=None):
    """One colour all over, or nothing but the claim to be that large."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    sort = {1: 0, 3: 2, 4: 6}[len(colour)]
    header = struct.pack(">IIBBBBB", *(claim or (wide, high)), 8, sort, 0, 0, 0)
    row = b"\0" + bytes(colour) * wide
    data = zlib.compress(row * high)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


class Wrong(Exception):
    pass


def check(holds, what):
    if not holds:
        raise Wrong(what)


class Image:
    """What a tool has given."""

    def __init__(self, answer):
        check("result" in answer, answer.get("error", {}).get("message"))
        content = answer["result"]["content"]
        self.text = content[0].get("text", "")
        check(len(content) == 2 and content[1]["type"] == "image", self.text)
        self.mime = content[1]["mimeType"]
        self.data = base64.b64decode(content[1]["data"], validate=True)
        sort = self.mime.split("/")[1]
        # In plain bytes, three a pixel, behind a line with the size.
        plain = subprocess.run(
            ["convert", f"{sort}:-", "-depth", "8", "ppm:-"], input=self.data, capture_output=True, check=True
        ).stdout
        wide, high = (int(number) for number in plain.split(None, 3)[1:3])
        self.size, self.pixels = (wide, high), plain[-3 * wide * high:]
        check(wide <= 1024 and high <= 1024, f"{wide}x{high}")

    def at(self, x, y):
        start = 3 * (y * self.size[0] + x)
        return tuple(self.pixels[start:start + 3])

    def has(self, colour, x, y):
        """JPEG is not exact."""
        found = self.at(x, y)
        near = all(abs(a - b) <= 6 for a, b in zip(found, colour))
        check(near, f"{found} instead of {colour} at {x}, {y} of {self.size}")


def until(what, look):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        seen = look()
        if seen:
            return seen
        time.sleep(0.1)
    raise SystemExit(f"waited in vain: {what}")


class Room:
    """A display, folders, and what is started for them."""

    def __init__(self, gosling):
        self.gosling, self.started, self.failed = gosling, [], 0
        self.root = tempfile.mkdtemp(prefix="gosling-screen-")
        self.work, self.temporary = (os.path.join(self.root, name) for name in ("work", "tmp"))
        for folder in (self.work, self.temporary):
            os.mkdir(folder)
        read, write = os.pipe()
        # It would forget its ground with its last client.
        options = ("-displayfd", str(write), "-screen", "0", f"{WIDE}x{HIGH}x24", "-nolisten", "tcp", "-noreset")
        self.start("Xvfb", *options, keep=[write])
        os.close(write)
        with open(read) as numbers:
            number = numbers.readline().strip()
        if not number:
            free = shutil.disk_usage(self.root).free // 2**20
            raise SystemExit(f"Xvfb did not start: status {self.started[0].wait()}, {free} MiB free on disk")
        self.display = ":" + number

    def env(self, **more):
        env = {name: value for name, value in os.environ.items() if not name.startswith(("GOOSE", "WAYLAND"))}
        return {**env, "DISPLAY": self.display, "TMPDIR": self.temporary, "GOOSE_PATH_ROOT": self.root, **more}

    def start(self, *command, keep=(), **env):
        none = subprocess.DEVNULL
        env = self.env(**env) if hasattr(self, "display") else None
        child = subprocess.Popen(command, stdin=none, stdout=none, stderr=none, env=env, pass_fds=keep)
        self.started.append(child)
        return child

    def only(self, *programs):
        """Where nothing but these programs is found."""
        folder = tempfile.mkdtemp(dir=self.root)
        for program in programs:
            # What a system has besides may need more than that.
            place = shutil.which(program, path="/usr/bin:" + os.environ["PATH"])
            os.symlink(place, os.path.join(folder, program))
        # A login shell that knows no other place.
        shell = os.path.join(folder, "silent")
        with open(shell, "w") as script:
            script.write("#!/bin/sh\n")
        os.chmod(shell, 0o755)
        return {"PATH": folder, "SHELL": shell}

    def session(self, **env):
        return Client("developer", self.gosling, self.env(**env))

    def tries(self, what, attempt):
        begin = time.monotonic()
        try:
            attempt()
            result = "ok"
        except (Wrong, subprocess.CalledProcessError) as error:
            self.failed, result = self.failed + 1, f"FAILED: {error}"
        print(f"{what:<58} {1000 * (time.monotonic() - begin):6.0f} ms  {result}", flush=True)

    def write(self, name, content):
        with open(os.path.join(self.work, name), "wb") as file:
            file.write(content)

    def close(self):
        for child in reversed(self.started):
            child.terminate()
        for child in self.started:
            child.wait()
        shutil.rmtree(self.root)


def said(answer):
    """The words of an answer or an error."""
    if "error" in answer:
        return answer["error"]["message"]
    return answer["result"]["content"][0]["text"]


def screen(room):
    def display(session):
        image = Image(session.call("screen_capture", {"display": 0}))
        check(image.size == (1024, 768) and image.mime == "image/jpeg", f"{image.size} {image.mime}")
        image.has(GROUND, 1000, 700)
        # In the middle of what is at 100, 100 on the screen, and below its text.
        image.has(WINDOW, 64 + 100, 64 + 120)

    def window(session, title):
        image = Image(session.call("screen_capture", {"window_title": title}))
        wide, high = image.size
        check(300 < wide < 800 and 200 < high < 600 and image.mime == "image/png", f"{image.size} {image.mime}")
        image.has(WINDOW, wide // 2, high * 2 // 3)

    def lists(session):
        text = said(session.call("list_windows", {}))
        check(TITLE in text.splitlines(), text)

    def refuses(session, arguments, words):
        text = said(session.call("screen_capture", arguments))
        check(words in text, text)

    subprocess.run(["xsetroot", "-solid", "#%02x%02x%02x" % GROUND], env=room.env(), check=True)
    colour = "#%02x%02x%02x" % WINDOW
    options = ("-b", "0", "-bg", colour, "-fg", colour, "-cr", colour, "+sb", "-geometry", "80x24+100+100")
    room.start("xterm", "-T", TITLE, *options, "-e", "sleep", "1000")
    found = ["xdotool", "search", "--onlyvisible", "--name", TITLE]
    until("the window", lambda: subprocess.run(found, env=room.env(), capture_output=True).stdout)
    time.sleep(0.5)

    every = room.session()
    room.tries("list_windows without a window manager (xdotool)", lambda: lists(every))
    room.tries("screen_capture of the display (scrot)", lambda: display(every))
    room.tries("screen_capture of a window (import)", lambda: window(every, TITLE))
    room.tries("screen_capture of a part of a title", lambda: window(every, "RED w"))
    room.tries("screen_capture of display 1", lambda: refuses(every, {"display": 1}, "no display 1")
               if shutil.which("xrandr") else refuses(every, {"display": 1}, "xrandr"))
    room.tries("screen_capture of no window", lambda: refuses(every, {"window_title": "none such"}, TITLE))
    every.close()
    some = room.session(**room.only("import", "convert"))
    room.tries("screen_capture of the display (import)", lambda: display(some))
    some.close()
    some = room.session(**room.only("scrot", "xdotool"))
    room.tries("screen_capture of a window (scrot, xdotool)", lambda: window(some, TITLE))
    room.tries("screen_capture without ImageMagick", lambda: refuses(some, {}, "apt install imagemagick"))
    some.close()

    room.start("openbox", "--sm-disable")
    listed = lambda: TITLE.encode() in subprocess.run(["wmctrl", "-l"], env=room.env(), capture_output=True).stdout
    until("the window manager", listed)
    some = room.session(**room.only("wmctrl", "import", "convert"))
    room.tries("list_windows (wmctrl)", lambda: lists(some))
    room.tries("screen_capture of a window (wmctrl, import)", lambda: window(some, TITLE))
    some.close()
    none = room.session(DISPLAY=":32000")
    room.tries("screen_capture of a display that is none", lambda: refuses(none, {}, "scrot did not take"))
    none.close()


def images(room):
    session = room.session()
    meta = {"agent-working-dir": room.work}
    ask = lambda path: session.call("image_processor", {"path": path}, meta)

    def scaled(path, size=(1024, 683), colour=WINDOW):
        image = Image(ask(path))
        check(image.size == size and image.mime == "image/jpeg", f"{image.size} {image.mime}")
        image.has(colour, 0, 0)
        image.has(colour, size[0] - 1, size[1] - 1)

    def same(path, mime):
        image = Image(ask(path))
        with open(os.path.join(room.work, path), "rb") as file:
            check(image.data == file.read() and image.mime == mime, image.mime)

    def refuses(path, words):
        text = said(ask(path))
        check(words in text, text)

    large = png(3000, 2000, WINDOW)
    for name in ("large.png", "-size.png", "msl:a.png", "@a.png", "a[3].png", "%d a.png", "a\nb.png", "é ü.jpg", "|ls",
                 "Screenshot 2025-01-05 at 3.45.12\u202fPM.png"):
        room.write(name, large)
        room.tries(f"image_processor {name!r}", lambda: scaled(name))
    room.tries("image_processor 'Screenshot … PM.png' with a plain space",
               lambda: scaled("Screenshot 2025-01-05 at 3.45.12 PM.png"))
    for kind in ("bmp", "tiff", "gif", "webp", "jpeg"):
        target = os.path.join(room.work, "of." + kind)
        subprocess.run(["convert", os.path.join(room.work, "large.png"), f"{kind}:{target}"], check=True)
        room.tries(f"image_processor of a large {kind}", lambda: scaled("of." + kind))
        target = os.path.join(room.work, "small." + kind)
        subprocess.run(["convert", "-size", "320x240", "xc:#cc2211", f"{kind}:{target}"], check=True)
        if kind in ("bmp", "tiff"):
            room.tries(f"image_processor of a small {kind}", lambda: scaled("small." + kind, (320, 240)))
        else:
            room.tries(f"image_processor of a small {kind}", lambda: same("small." + kind, "image/" + kind))
    with open(os.path.join(room.work, "of.jpeg"), "rb") as file:
        photo = file.read()
    # One entry: the camera was turned by a quarter.
    exif = b"Exif\0\0II*\0\x08\0\0\0\x01\0" + struct.pack("<HHIII", 0x112, 3, 1, 6, 0)
    turned = photo[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + photo[2:]
    room.write("turned.jpeg", turned)
    room.tries("image_processor of a photo that lies on its side", lambda: scaled("turned.jpeg", (683, 1024)))
    room.write("small.png", png(200, 100, WINDOW))
    room.tries("image_processor of a small png", lambda: same("small.png", "image/png"))
    room.write("clear.png", png(2048, 2048, (0, 0, 0, 0)))
    room.tries("image_processor of what one sees through", lambda: scaled("clear.png", (1024, 1024), (255, 255, 255)))
    room.write("line.png", png(5000, 1, WINDOW))
    room.tries("image_processor of a line", lambda: scaled("line.png", (1024, 1)))
    room.write("bomb.png", png(8, 8, WINDOW, claim=(60000, 60000)))
    room.tries("image_processor of what claims to be huge", lambda: refuses("bomb.png", "120 million"))
    room.write("liar.png", png(8, 8, WINDOW, claim=(10000, 10000)))
    room.tries("image_processor of what claims to be large", lambda: refuses("liar.png", "convert says"))
    room.write("cut.png", large[: len(large) // 2])
    room.tries("image_processor of half a file", lambda: refuses("cut.png", "says"))
    room.write("script.png", b"<image><read filename='/etc/passwd'/></image>")
    room.tries("image_processor of a script", lambda: refuses("script.png", "is not an image"))
    session.close()


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    missing = [program for program in NEEDED if not shutil.which(program)]
    if missing:
        print(f"not installed: {', '.join(missing)}", file=sys.stderr)
        sys.exit(77)
    room = Room(os.path.abspath(sys.argv[1]))
    try:
        screen(room)
        images(room)
        room.tries("nothing is left in the temporary folder",
                   lambda: check(not os.listdir(room.temporary), os.listdir(room.temporary)))
    finally:
        room.close()
    sys.exit(1 if room.failed else 0)


if __name__ == "__main__":
    main()
