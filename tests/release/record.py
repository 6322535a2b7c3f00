"""Writes the record of a release and its hashes: python3 record.py OUTDIR TARGET... [--compilers TARGET=COMPILER...]

`release.json` says what each file in OUTDIR is, and of what and by what it was made. Nothing in it depends on the
folder, the user or the time of the build. SHA256SUMS has the hashes of all files.
"""

import json
import os
import re
import subprocess
import sys
import zlib
from pathlib import Path

from facts import COMMIT, EPOCH, MANIFEST, ROOT, TIME, VERSION, is_windows, program_of, run, sha256

# What a file is, by the end of its name after that of the target, if it has one.
KINDS = [
    (r"-smallest(\.exe)?$", "the program without optional features"),
    (r"\.oci\.tar$", "an OCI image archive with the program with all features"),
    (r"\.zip$", "the program with all features, its manual and licences, for Windows"),
    (r"\.deb$", "a package for Debian and its kin"),
    (r"\.rpm$", "a package for Fedora and its kin"),
    (r"-cyclonedx\.json$", "the crates of the program, as CycloneDX 1.6"),
    (r"-spdx\.json$", "the crates of the program, as SPDX 2.3"),
    (r"-licences\.txt$", "the licences of gosling and of all crates"),
    (r"-manual\.txt$", "the manual"),
    (r"", "the program with all features"),
]
# The processors in the names of packages.
PROCESSORS = {
    "amd64": "x86_64",
    "x86_64": "x86_64",
    "arm64": "aarch64",
    "aarch64": "aarch64",
    "armhf": "armv7",
    "armv7hl": "armv7",
    "riscv64": "riscv64gc",
}


def describe(path, targets):
    what = next(what for end, what in KINDS if re.search(end, path.name))
    target = next((target for target in targets if f"-{target}" in path.name), "")
    package = re.search(r"[._]([a-z0-9_]+?)\.(deb|rpm)$", path.name)
    if package:
        processor = PROCESSORS[package[1]]
        # Static programs come first; of others only tests make packages.
        fitting = [target for target in targets if target.startswith(processor)]
        target = next((target for target in fitting if "-musl" in target), fitting[0])
    content = path.read_bytes()
    return {"name": path.name, "size": len(content), "sha256": sha256(content), "what": what, "target": target}


def hash_of_tree(*names):
    """One hash of files and of all files in folders, as `sha256sum` would list them."""
    paths = []
    for name in names:
        paths += [it for it in (ROOT / name).rglob("*") if it.is_file() and "__pycache__" not in it.parts]
    lines = [f"{sha256(path.read_bytes())}  {path.relative_to(ROOT).as_posix()}\n" for path in sorted(paths)]
    return sha256("".join(lines).encode())


def hash_of_std(target):
    """One hash of the compiled standard library for a target."""
    folder = Path(run("rustc", "--print", "target-libdir", "--target", target).strip())
    lines = [f"{sha256(path.read_bytes())}  {path.name}\n" for path in sorted(folder.glob("*.rlib"))]
    return sha256("".join(lines).encode())


def cargo_configuration():
    """Hashes of the files that configure cargo besides Cargo.toml, if there are any: of the sources, of the folders
    over them, and of cargo's home."""
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    folders = [folder / ".cargo" for folder in (ROOT, *ROOT.parents)] + [home]
    paths = {folder / name for folder in folders for name in ("config", "config.toml")}
    return sorted(sha256(path.read_bytes()) for path in paths if path.is_file())


def version_of(compiler):
    """The first line of what a C compiler says of itself, with the name that it was called by taken out."""
    done = subprocess.run([compiler, "--version"], stdout=subprocess.PIPE, check=True)
    return done.stdout.decode().splitlines()[0]


def main():
    out, rest = Path(sys.argv[1]), sys.argv[2:]
    split = rest.index("--compilers") if "--compilers" in rest else len(rest)
    targets = rest[:split]
    compilers = dict(it.split("=", 1) for it in rest[split + 1 :])
    features = re.search(r"^default = \[(.*)\]$", MANIFEST, re.M)[1]
    profile = re.search(r"^\[profile\.release\]\n((?:.+\n)+)", MANIFEST, re.M)[1]
    compiled = bool(compilers)
    toolchain, features = run("rustc", "--version").strip(), re.findall(r'"(.*?)"', features)
    if not compiled:
        facts = json.loads(run(out.resolve() / program_of(targets[0]), "version", "--json"))
        assert facts["version"] == VERSION and sorted(facts["features"]) == sorted(features), facts
        toolchain = facts["toolchain"]
    record = {
        "gosling_release_format": 1,
        "version": VERSION,
        "commit": COMMIT,
        "time": TIME,
        "toolchain": toolchain,
        "files": [describe(path, targets) for path in sorted(out.iterdir())],
        "features": features,
        # With --built the program is from elsewhere, and how it was compiled is not known.
        "build": {
            "source_date_epoch": EPOCH,
            "rustc": run("rustc", "--version", "--verbose").splitlines(),
            "cargo": run("cargo", "--version").strip(),
            "commands": [
                f"cargo build --release --locked -p gosling --target {target}{options}"
                for target in targets
                for options in ("", " --no-default-features")
            ],
            "profile": profile.splitlines(),
            "cargo_configuration": cargo_configuration(),
            "rustflags": [f"--remap-path-prefix=…={name}" for name in ("/gosling", "/build", "/cargo", "/rustc/HASH")]
            + ["-Clink-arg=-Wl,--no-insert-timestamp (Windows)"] * any(map(is_windows, targets))
            + ["-Clinker=rust-lld -Clink-arg=--icf=all (musl)"] * any("-musl" in target for target in targets),
            "cflags": [f"-ffile-prefix-map=…={name}" for name in ("/gosling", "/build", "/cargo", "/rustc/HASH")],
            "c_compilers": {target: version_of(it) for target, it in compilers.items()},
            "zlib": zlib.ZLIB_RUNTIME_VERSION,
        }
        if compiled
        else None,
        "inputs": {
            "Cargo.lock": sha256((ROOT / "Cargo.lock").read_bytes()),
            "Cargo.toml": sha256((ROOT / "Cargo.toml").read_bytes()),
            "src": hash_of_tree("src"),
            "tests/release": hash_of_tree("tests/release"),
            "std": {target: hash_of_std(target) for target in targets},
        },
    }
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    (out / "release.json").write_text(text)
    sums = [f"{sha256(path.read_bytes())}  {path.name}\n" for path in sorted(out.iterdir())]
    (out / "SHA256SUMS").write_text("".join(sums))


main()
