"""Packs the program for one target: python3 package.py OUTDIR TARGET

A package for Debian, one for Fedora, and an OCI image archive with nothing but gosling, or for Windows a zip archive,
each from files that are in OUTDIR already. Only the standard library is needed, and the same files give the same bytes. The packages have no
scripts: nothing of them runs when they are installed.
"""

import hashlib
import io
import json
import os
import struct
import sys
import tarfile
import zipfile
from datetime import datetime, timezone
from pathlib import Path

from facts import COMMIT, EPOCH, LICENCE, ROOT, SUMMARY, TIME, VERSION, gzip, is_windows, name_of, program_of, sha256

MAINTAINER = os.environ.get("RELEASE_MAINTAINER", "gosling maintainers <maintainers@gosling.invalid>")
RELEASE = "1"
DESCRIPTION = """\
gosling serves the HTTP API of Goose, the Agent Client Protocol and MCP, and runs
MCP servers as extensions. It is one program without other parts. The unit
gosling.service is not enabled: see gosling help service."""
# The names of the processors: of ELF, Debian, RPM, and Go with its variant.
PROCESSORS = {
    "x86_64": (62, "amd64", "x86_64", "amd64", None),
    "aarch64": (183, "arm64", "aarch64", "arm64", "v8"),
    "armv7": (40, "armhf", "armv7hl", "arm", "v7"),
    "riscv64gc": (243, "riscv64", "riscv64", "riscv64", None),
}
DOCUMENTS = "usr/share/doc/gosling"
# The user of the image, as in the file of `gosling service container`.
IMAGE_USER = 65532


def check_program(content, target):
    """It must be for this processor, and need no library: a package names none."""
    is_64, little = content[4] == 2, content[5] == 1
    assert content[:4] == b"\x7fELF" and little, "not a program for Linux"
    machine = struct.unpack_from("<H", content, 18)[0]
    assert machine == PROCESSORS[target.split("-")[0]][0], f"the program is not for {target}"
    offset, size, count = (
        (struct.unpack_from("<Q", content, 32)[0], *struct.unpack_from("<HH", content, 54))
        if is_64
        else (struct.unpack_from("<I", content, 28)[0], *struct.unpack_from("<HH", content, 42))
    )
    kinds = [struct.unpack_from("<I", content, offset + size * n)[0] for n in range(count)]
    if 3 in kinds and "-musl" in target:
        sys.exit(f"the program for {target} needs a dynamic linker")


def contents(out, target):
    """The files of the packages by path, with their modes."""
    program = (out / program_of(target)).read_bytes()
    check_program(program, target)
    unit = (ROOT / "src/service/printed/gosling.service").read_text()
    copyright = f"gosling {VERSION}; {DOCUMENTS}/licences.txt has the licences of its crates.\n\n"
    return {
        "usr/bin/gosling": (0o755, program),
        "usr/lib/systemd/system/gosling.service": (0o644, unit.replace("@program@", "/usr/bin/gosling").encode()),
        f"{DOCUMENTS}/copyright": (0o644, (copyright + (ROOT / "LICENSE").read_text()).encode()),
        f"{DOCUMENTS}/licences.txt": (0o644, (out / name_of("licences.txt")).read_bytes()),
        f"{DOCUMENTS}/manual.txt": (0o644, (out / name_of("manual.txt")).read_bytes()),
    }


def parents(files):
    """The folders of these files, those above first."""
    folders = {str(folder) for name in files for folder in Path(name).parents}
    return sorted(folders - {"."})


def tar(entries):
    """An archive of entries: (name, mode, content or None for a folder, user)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, mode, content, user in entries:
            entry = tarfile.TarInfo(name)
            entry.mode, entry.mtime, entry.uid, entry.gid = mode, EPOCH, user, user
            entry.uname = entry.gname = "root" if user == 0 else ""
            if content is None:
                entry.type = tarfile.DIRTYPE
                archive.addfile(entry)
            else:
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def deb(files, architecture):
    """A package for Debian: an ar archive of two tar archives."""
    size = sum(len(content) + 1023 >> 10 for _, content in files.values())
    text = "\n".join(" " + line for line in DESCRIPTION.splitlines())
    control = f"""\
Package: gosling
Version: {VERSION}-{RELEASE}
Architecture: {architecture}
Maintainer: {MAINTAINER}
Installed-Size: {size}
Section: net
Priority: optional
Description: {SUMMARY}
{text}
"""
    sums = "".join(f"{hashlib.md5(content).hexdigest()}  {name}\n" for name, (_, content) in files.items())
    about = [("./", 0o755, None, 0)]
    about += [("./" + name, 0o644, text.encode(), 0) for name, text in [("control", control), ("md5sums", sums)]]
    data = [("./", 0o755, None, 0)]
    data += [(f"./{folder}/", 0o755, None, 0) for folder in parents(files)]
    data += [(f"./{name}", mode, content, 0) for name, (mode, content) in files.items()]
    members = [
        ("debian-binary", b"2.0\n"),
        ("control.tar.gz", gzip(tar(about))),
        ("data.tar.gz", gzip(tar(data))),
    ]
    out = b"!<arch>\n"
    for name, content in members:
        out += f"{name:16}{EPOCH:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
        out += content + b"\n" * (len(content) % 2)
    return out


class RpmHeader:
    """The entries of a header of RPM, by tag: https://rpm-software-management.github.io/rpm/manual/format_v4.html"""

    INT16, INT32, STRING, BYTES, STRINGS, TRANSLATED = 3, 4, 6, 7, 8, 9

    def __init__(self, region):
        self.region = region
        self.entries = {}

    def add(self, tag, kind, value):
        values = value if isinstance(value, list) else [value]
        if kind in (self.INT16, self.INT32):
            data = struct.pack(f">{len(values)}{'H' if kind == self.INT16 else 'I'}", *values)
            count = len(values)
        elif kind == self.BYTES:
            data, count = value, len(value)
        else:
            data = b"".join(text.encode() + b"\0" for text in values)
            count = len(values)
        self.entries[tag] = (kind, count, data)

    def to_bytes(self):
        index, store = b"", b""
        for tag, (kind, count, data) in sorted(self.entries.items()):
            width = {self.INT16: 2, self.INT32: 4}.get(kind, 1)
            store += b"\0" * (-len(store) % width)
            index += struct.pack(">iiii", tag, kind, len(store), count)
            store += data
        # The region, which digests and signatures are of: all entries.
        entries = len(self.entries) + 1
        index = struct.pack(">iiii", self.region, self.BYTES, len(store), 16) + index
        store += struct.pack(">iiii", self.region, self.BYTES, -16 * entries, 16)
        return b"\x8e\xad\xe8\x01\0\0\0\0" + struct.pack(">II", entries, len(store)) + index + store


def cpio(files, folders):
    """The payload of an RPM, in cpio's new ASCII format."""
    out = b""

    def add(number, name, mode, content):
        nonlocal out
        links = 2 if mode & 0o40000 else 1
        fields = (number, mode, 0, 0, links, EPOCH, len(content), 0, 0, 0, 0, len(name) + 1, 0)
        out += b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
        out += b"\0" * (-len(out) % 4) + content
        out += b"\0" * (-len(out) % 4)

    for number, name in enumerate(sorted([*files, *folders]), 1):
        mode, content = files.get(name, (None, b""))
        add(number, f"./{name}", 0o40755 if mode is None else 0o100000 | mode, content)
    out += b"070701" + b"0" * 32 + b"%08x" % 1 + b"0" * 48 + b"%08x" % 11 + b"0" * 8 + b"TRAILER!!!\0"
    return out + b"\0" * (-len(out) % 4)


def rpm(files, architecture):
    """A package for Fedora and others: a lead, a header with digests, one with facts, and the files."""
    # Of the folders, only its own.
    folders = [DOCUMENTS]
    names = sorted([*files, *folders])
    payload = cpio(files, folders)
    packed = gzip(payload)
    h = RpmHeader(63)
    entry = [files.get(name, (None, None)) for name in names]
    paths = [os.path.split("/" + name) for name in names]
    directories = sorted({folder + "/" for folder, _ in paths})
    full = f"{VERSION}-{RELEASE}"
    h.add(100, h.STRINGS, ["C"])
    h.add(1000, h.STRING, "gosling")
    h.add(1001, h.STRING, VERSION)
    h.add(1002, h.STRING, RELEASE)
    h.add(1004, h.TRANSLATED, SUMMARY)
    h.add(1005, h.TRANSLATED, DESCRIPTION)
    h.add(1006, h.INT32, EPOCH)
    h.add(1007, h.STRING, "reproducible")
    h.add(1009, h.INT32, sum(len(content) for _, content in files.values()))
    h.add(1014, h.STRING, LICENCE)
    h.add(1016, h.TRANSLATED, "Unspecified")
    h.add(1021, h.STRING, "linux")
    h.add(1022, h.STRING, architecture)
    h.add(1028, h.INT32, [len(content or b"") for _, content in entry])
    h.add(1030, h.INT16, [0o40755 if mode is None else 0o100000 | mode for mode, _ in entry])
    h.add(1033, h.INT16, [0] * len(names))
    h.add(1034, h.INT32, [EPOCH] * len(names))
    h.add(1035, h.STRINGS, ["" if content is None else sha256(content) for _, content in entry])
    h.add(1036, h.STRINGS, [""] * len(names))
    # %license is 128, %doc is 2.
    kinds = {"copyright": 128, "licences.txt": 128, "manual.txt": 2}
    h.add(1037, h.INT32, [kinds.get(name, 0) for _, name in paths])
    h.add(1039, h.STRINGS, ["root"] * len(names))
    h.add(1040, h.STRINGS, ["root"] * len(names))
    h.add(1044, h.STRING, f"gosling-{full}.src.rpm")
    h.add(1045, h.INT32, [0xFFFFFFFF] * len(names))
    h.add(1047, h.STRINGS, ["gosling"])
    # What a reader has to understand: at least, and of rpm itself.
    needs = {"CompressedFileNames": "3.0.4-1", "FileDigests": "4.6.0-1", "PayloadFilesHavePrefix": "4.0-1"}
    h.add(1048, h.INT32, [1 << 24 | 2 | 8] * len(needs))
    h.add(1049, h.STRINGS, [f"rpmlib({name})" for name in needs])
    h.add(1050, h.STRINGS, list(needs.values()))
    h.add(1064, h.STRING, "4.18.0")
    h.add(1095, h.INT32, [1] * len(names))
    h.add(1096, h.INT32, list(range(1, len(names) + 1)))
    h.add(1097, h.STRINGS, [""] * len(names))
    h.add(1112, h.INT32, [8])
    h.add(1113, h.STRINGS, [full])
    h.add(1116, h.INT32, [directories.index(folder + "/") for folder, _ in paths])
    h.add(1117, h.STRINGS, [name for _, name in paths])
    h.add(1118, h.STRINGS, directories)
    h.add(1124, h.STRING, "cpio")
    h.add(1125, h.STRING, "gzip")
    h.add(1126, h.STRING, "9")
    # The digests are SHA-256.
    h.add(5011, h.INT32, 8)
    h.add(5062, h.STRING, "utf-8")
    h.add(5092, h.STRINGS, [sha256(packed)])
    h.add(5093, h.INT32, 8)
    h.add(5097, h.STRINGS, [sha256(payload)])
    header = h.to_bytes()
    s = RpmHeader(62)
    s.add(269, s.STRING, hashlib.sha1(header).hexdigest())
    s.add(273, s.STRING, sha256(header))
    s.add(1000, s.INT32, len(header) + len(packed))
    s.add(1004, s.BYTES, hashlib.md5(header + packed).digest())
    s.add(1007, s.INT32, len(payload))
    digests = s.to_bytes()
    digests += b"\0" * (-len(digests) % 8)
    lead = struct.pack(">4sBBHH66sHH16s", b"\xed\xab\xee\xdb", 3, 0, 0, 1, f"gosling-{full}".encode(), 1, 5, b"")
    return lead + digests + header + packed


def image(files, architecture, variant):
    """An OCI image archive with one layer, which `docker load` also reads."""
    blobs = {}

    def blob(content):
        blobs[sha256(content)] = content
        return {"digest": "sha256:" + sha256(content), "size": len(content)}

    def as_json(value):
        return json.dumps(value, indent=1).encode() + b"\n"

    platform = {"architecture": architecture, "os": "linux"}
    if variant:
        platform["variant"] = variant
    kept = [f"{DOCUMENTS}/copyright", f"{DOCUMENTS}/licences.txt"]
    layer = [("data/", 0o700, None, IMAGE_USER), ("gosling", 0o555, files["usr/bin/gosling"][1], 0)]
    layer += [(folder + "/", 0o755, None, 0) for folder in parents(kept)]
    layer += [(name, *files[name], 0) for name in kept]
    layer = tar(layer)
    labels = {
        "org.opencontainers.image.created": TIME,
        "org.opencontainers.image.description": SUMMARY,
        "org.opencontainers.image.licenses": LICENCE,
        "org.opencontainers.image.revision": COMMIT,
        "org.opencontainers.image.title": "gosling",
        "org.opencontainers.image.version": VERSION,
    }
    # As in the file of `gosling service container`.
    config = as_json(
        {
            "created": TIME,
            **platform,
            "config": {
                "User": f"{IMAGE_USER}:{IMAGE_USER}",
                "ExposedPorts": {"3000/tcp": {}},
                "Env": ["GOOSE_PATH_ROOT=/data", "HOME=/data", "TMPDIR=/data"],
                "Entrypoint": ["/gosling"],
                "Cmd": ["agent", "--host", "0.0.0.0", "--port", "3000"],
                "Volumes": {"/data": {}},
                "WorkingDir": "/data",
                "Labels": labels,
                "StopSignal": "SIGTERM",
            },
            "rootfs": {"type": "layers", "diff_ids": ["sha256:" + sha256(layer)]},
            "history": [{"created": TIME, "created_by": "tests/release/package.py"}],
        }
    )
    packed = gzip(layer)
    manifest = as_json(
        {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {"mediaType": "application/vnd.oci.image.config.v1+json", **blob(config)},
            "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", **blob(packed)}],
            "annotations": labels,
        }
    )
    index = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [
            {
                "mediaType": "application/vnd.oci.image.manifest.v1+json",
                **blob(manifest),
                "platform": platform,
                "annotations": {
                    "io.containerd.image.name": f"docker.io/library/gosling:{VERSION}",
                    "org.opencontainers.image.ref.name": VERSION,
                },
            }
        ],
    }
    # What `docker load` reads that does not know the format above.
    paths = {"Config": f"blobs/sha256/{sha256(config)}", "Layers": [f"blobs/sha256/{sha256(packed)}"]}
    entries = [("blobs/", 0o755, None, 0), ("blobs/sha256/", 0o755, None, 0)]
    entries += [(f"blobs/sha256/{name}", 0o644, content, 0) for name, content in sorted(blobs.items())]
    entries += [
        ("index.json", 0o644, as_json(index), 0),
        ("manifest.json", 0o644, as_json([paths | {"RepoTags": [f"gosling:{VERSION}"]}]), 0),
        ("oci-layout", 0o644, as_json({"imageLayoutVersion": "1.0.0"}), 0),
    ]
    return tar(entries)


def zip_for_windows(out, target):
    """An archive with one folder: the program, the licences and the manual."""
    program = (out / program_of(target)).read_bytes()
    head = struct.unpack_from("<I", program, 0x3C)[0]
    assert program[:2] == b"MZ" and program[head : head + 6] == b"PE\0\0\x64\x86", "not a program for Windows on x86-64"
    text = lambda content: content.replace(b"\n", b"\r\n")
    files = {
        "gosling.exe": program,
        "LICENSE.txt": text((ROOT / "LICENSE").read_bytes()),
        "licences.txt": text((out / name_of("licences.txt")).read_bytes()),
        "manual.txt": text((out / name_of("manual.txt")).read_bytes()),
    }
    time = datetime.fromtimestamp(EPOCH, timezone.utc).timetuple()[:6]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(f"gosling-{VERSION}/{name}", time)
            entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, 0o644 << 16
            archive.writestr(entry, content)
    return packed.getvalue()


def main():
    out, target = Path(sys.argv[1]), sys.argv[2]
    if is_windows(target):
        (out / f"gosling-{VERSION}-{target}.zip").write_bytes(zip_for_windows(out, target))
        return
    _, debian, fedora, go, variant = PROCESSORS[target.split("-")[0]]
    files = contents(out, target)
    (out / f"gosling_{VERSION}-{RELEASE}_{debian}.deb").write_bytes(deb(files, debian))
    (out / f"gosling-{VERSION}-{RELEASE}.{fedora}.rpm").write_bytes(rpm(files, fedora))
    (out / f"{program_of(target)}.oci.tar").write_bytes(image(files, go, variant))


main()
