"""What the scripts of a release share: the facts of the sources, and files that are the same each time."""

import hashlib
import os
import re
import struct
import subprocess
import zlib
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = (ROOT / "Cargo.toml").read_text()
VERSION = re.search(r'^version = "(.*)"$', MANIFEST, re.M)[1]
SUMMARY = re.search(r'^description = "(.*)"$', MANIFEST, re.M)[1]
LICENCE = re.search(r'^license = "(.*)"$', MANIFEST, re.M)[1]
COMMIT = os.environ["GOSLING_COMMIT"]
# Seconds since 1970, of all files and documents.
EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])
TIME = datetime.fromtimestamp(EPOCH, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def run(*command):
    """What a command prints, in the folder of the sources."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return done.stdout.decode()


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def gzip(content):
    """As gzip compresses it, without a name, a time and a system."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = deflate.compress(content) + deflate.flush()
    head = b"\x1f\x8b\x08\0\0\0\0\0\x02\xff"
    return head + packed + struct.pack("<II", zlib.crc32(content), len(content) & 0xFFFFFFFF)


def name_of(what):
    """The name of a file of the release that all targets share."""
    return f"gosling-{VERSION}-{what}"


def is_windows(target):
    return "-windows-" in target


def program_of(target):
    """The name of the program with all features."""
    return f"gosling-{VERSION}-{target}" + (".exe" if is_windows(target) else "")
