"""Looks into a release without trusting the scripts that made it: python3 contents.py OUTDIR PROGRAM IMAGE_FOLDER

Both lists of crates must name what PROGRAM says of itself, every digest in the image archive must hold, and its layer
is unpacked into IMAGE_FOLDER. PROGRAM is that of OUTDIR, or one with the same crates that runs here.
"""

import gzip
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

FULL = "the program with all features"
out, program, folder = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])


def the(pattern):
    (found,) = out.glob(pattern)
    return found


def crates():
    """Name, version and checksum of each crate, of the program and in both lists."""
    printed = subprocess.run([program, "version", "--json"], stdout=subprocess.PIPE, check=True).stdout
    facts = json.loads(printed)
    own = sorted((it["name"], it["version"], it["sha256"]) for it in facts["crates"])
    bom = json.loads(the("*-cyclonedx.json").read_text())
    listed = [bom["metadata"]["component"], *bom["components"]]
    hash_of = lambda it: it["hashes"][0]["content"] if "hashes" in it else None
    all_of_bom = sorted((it["name"], it["version"], hash_of(it)) for it in listed)
    # PROGRAM is not for Windows.
    others = [it for it in all_of_bom if it not in own]
    assert not others or any(out.glob("*.zip")) and all(it[0].startswith("windows") for it in others), others
    assert all(it in all_of_bom for it in own), "CycloneDX differs"
    references = {it["bom-ref"] for it in listed}
    assert {it["ref"] for it in bom["dependencies"]} == references
    assert all(set(it["dependsOn"]) <= references for it in bom["dependencies"])
    packages = json.loads(the("*-spdx.json").read_text())["packages"]
    hash_of = lambda it: it["checksums"][0]["checksumValue"] if "checksums" in it else None
    assert sorted((it["name"], it["versionInfo"], hash_of(it)) for it in packages) == all_of_bom, "SPDX differs"
    text = the("*-licences.txt").read_text()
    assert all(f"{name} {version}: " in text for name, version, sha256 in own if sha256)
    return len(own)


def facts():
    """What the record says of the program is what that says of itself."""
    record = json.loads(the("release.json").read_text())
    printed = subprocess.run([program, "version", "--json"], stdout=subprocess.PIPE, check=True).stdout
    says = json.loads(printed)
    for name in ("version", "commit", "toolchain"):
        assert record[name] == says[name], (name, record[name], says[name])
    assert sorted(record["features"]) == sorted(says["features"]), says["features"]
    assert record["build"] is None or says["profile"] == "release", says["profile"]
    (listed,) = [it for it in record["files"] if it["target"] == says["target"] and it["what"] == FULL]
    assert listed["sha256"] == hashlib.sha256(Path(program).read_bytes()).hexdigest()
    return record["commit"]


def pages():
    """The manual has what the program prints."""
    text = the("*-manual.txt").read_text()
    # A page without options before it.
    printed = subprocess.run([program, "help", "hosts"], stdout=subprocess.PIPE, check=True).stdout.decode()
    assert printed and printed in text, "the manual is not that of the program"
    return len(text)


def image():
    """Follows the archive's digests from its index to its layer."""
    with tarfile.open(the("*.oci.tar")) as archive:
        files = {it.name: archive.extractfile(it).read() for it in archive if it.isfile()}

    def blob(described):
        content = files["blobs/sha256/" + described["digest"].removeprefix("sha256:")]
        assert "sha256:" + hashlib.sha256(content).hexdigest() == described["digest"]
        assert len(content) == described["size"]
        return content

    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    (listed,) = json.loads(files["index.json"])["manifests"]
    manifest = json.loads(blob(listed))
    config = json.loads(blob(manifest["config"]))
    (layer,) = manifest["layers"]
    layer = gzip.decompress(blob(layer))
    assert config["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(layer).hexdigest()]
    (old,) = json.loads(files["manifest.json"])
    assert files[old["Config"]] == blob(manifest["config"])
    assert [files[name] for name in old["Layers"]] == [blob(manifest["layers"][0])]
    with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
        archive.extractall(folder)
    # What `gosling service container` prints, and the image must agree.
    printed = subprocess.run([program, "service", "container"], stdout=subprocess.PIPE, check=True).stdout.decode()
    settings = config["config"]
    for line in [
        f"ENV {' '.join(settings['Env'])}",
        f"WORKDIR {settings['WorkingDir']}",
        f"VOLUME {' '.join(settings['Volumes'])}",
        f"USER {settings['User']}",
        f"STOPSIGNAL {settings['StopSignal']}",
        f"ENTRYPOINT {json.dumps(settings['Entrypoint'])}",
        f"CMD {json.dumps(settings['Cmd'])}",
    ]:
        assert f"\n{line}\n" in printed, f"the image has {line}"
    return len(files)


def archives():
    """The archives for Windows have the program, the licences and the manual of the release."""
    for path in out.glob("*.zip"):
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
            members = {it.split("/")[1]: archive.read(it) for it in archive.namelist()}
        assert members["gosling.exe"] == path.with_suffix(".exe").read_bytes()
        for name in ("licences", "manual"):
            assert members[f"{name}.txt"].replace(b"\r", b"") == the(f"*-{name}.txt").read_bytes().replace(b"\r", b"")
        assert sorted(members) == ["LICENSE.txt", "gosling.exe", "licences.txt", "manual.txt"]


archives()
print(f"the commit {facts()}")
print(f"{crates()} crates, {pages()} characters of the manual, {image()} files in the image: as they should be")
