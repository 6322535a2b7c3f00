"""Writes what describes a release and its crates: python3 documents.py OUTDIR TARGET...

CycloneDX 1.6 and SPDX 2.3 list the crates that are compiled for the program with all features, with their checksums,
licences and dependencies, as Cargo.lock and cargo have them. The licences of all of them go into one file, and the
pages of the manual into another.
"""

import json
import os
import re
import sys
import tomllib
import uuid
from pathlib import Path

from facts import COMMIT, LICENCE, MANIFEST, ROOT, SUMMARY, TIME, VERSION, name_of, run, sha256

REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"
# The manifests of all members of the workspace.
MEMBERS = MANIFEST + "\n".join(
    (ROOT / member / "Cargo.toml").read_text()
    for member in re.findall(r'"(.*?)"', re.search(r"^members = \[(.*)\]$", MANIFEST, re.M)[1])
)
# Files with the conditions of a crate.
LICENCE_FILE = re.compile(r"^(licen[cs]e|copying|copyright|notice|unlicense)", re.I)
# What the program has besides crates, as far as it is linked statically.
MUSL = """\
musl as a whole is licensed under the following standard MIT license:

Copyright © 2005-2020 Rich Felker, et al.

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


class Crate:
    """A crate of the program."""

    def __init__(self, package, licence, repository, folder):
        self.name = package["name"]
        self.version = package["version"]
        self.is_own = package.get("source") is None
        self.sha256 = package.get("checksum")
        # SPDX has no slash; older crates do.
        self.licence = licence.replace("/", " OR ")
        self.repository = repository
        self.folder = folder
        # Those that it needs itself, by name and version.
        self.needs = {}
        is_member = re.search(rf'^name = "{self.name}"$', MEMBERS, re.M) is not None
        source = package.get("source")
        assert source == REGISTRY or is_member and self.is_own, f"{self.name} is from {source}; say where it can be got"

    @property
    def key(self):
        return (self.name, self.version)

    @property
    def purl(self):
        return f"pkg:cargo/{self.name}@{self.version}"

    @property
    def download(self):
        return f"https://static.crates.io/crates/{self.name}/{self.name}-{self.version}.crate"


def crates_of(targets):
    """The crates for these targets, sorted by name and version."""
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    packages = {(it["name"], it["version"]): it for it in lock["package"]}
    crates = {}
    for target in targets:
        tree = run(
            *("cargo", "tree", "-p", "gosling", "--locked", "--target", target, "--no-dedupe"),
            *("-e", "normal,build", "--prefix", "depth", "--format", "|{p}|{l}|{r}"),
        )
        path = []
        for line in tree.splitlines():
            depth, package, licence, repository = line.split("|")
            name, version = package.split()[:2]
            key = (name, version.removeprefix("v"))
            if key not in crates:
                crates[key] = Crate(packages[key], licence, repository, folder_of(*key))
            del path[int(depth) :]
            if path:
                crates[path[-1]].needs[key] = crates[key]
            path.append(key)
    return [crates[key] for key in sorted(crates)]


def folder_of(name, version):
    """Where cargo has unpacked a crate, or vendored it."""
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    places = [*home.glob(f"registry/src/*/{name}-{version}"), ROOT / "vendor" / name]
    return next((place for place in places if place.is_dir()), None)


def write(out, what, content):
    (out / name_of(what)).write_text(content)


def write_json(out, what, document):
    write(out, what, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def identity(crates):
    """A UUID that is the same for the same sources."""
    text = "\n".join([COMMIT, TIME, *(f"{it.purl} {it.sha256}" for it in crates)])
    return uuid.uuid5(uuid.NAMESPACE_URL, "gosling-release:" + sha256(text.encode()))


def cyclonedx(crates):
    def component(crate):
        described = {"type": "library", "bom-ref": crate.purl, "name": crate.name, "version": crate.version}
        if crate.is_own:
            described["bom-ref"] = f"{crate.name}@{crate.version}"
        else:
            described["hashes"] = [{"alg": "SHA-256", "content": crate.sha256}]
            described["purl"] = crate.purl
            links = [{"type": "distribution", "url": crate.download}]
            if crate.repository:
                links.append({"type": "vcs", "url": crate.repository})
            described["externalReferences"] = links
        described["licenses"] = [{"expression": crate.licence}]
        return described

    components = {crate.key: component(crate) for crate in crates}
    program = components.pop(("gosling", VERSION))
    program |= {"type": "application", "description": SUMMARY}
    references = {crate.key: components.get(crate.key, program)["bom-ref"] for crate in crates}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{identity(crates)}",
        "version": 1,
        "metadata": {
            "timestamp": TIME,
            "component": program,
            "properties": [{"name": "gosling:commit", "value": COMMIT}],
        },
        "components": list(components.values()),
        "dependencies": [
            {"ref": references[crate.key], "dependsOn": sorted(references[it] for it in crate.needs)}
            for crate in crates
        ],
    }


def spdx(crates):
    def reference(crate):
        return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]", "-", f"{crate.name}-{crate.version}")

    def package(crate):
        described = {
            "SPDXID": reference(crate),
            "name": crate.name,
            "versionInfo": crate.version,
            "downloadLocation": "NOASSERTION" if crate.is_own else crate.download,
            "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION",
            "licenseDeclared": crate.licence,
            "copyrightText": "NOASSERTION",
        }
        if not crate.is_own:
            described["checksums"] = [{"algorithm": "SHA256", "checksumValue": crate.sha256}]
            described["externalRefs"] = [
                {
                    "referenceCategory": "PACKAGE-MANAGER",
                    "referenceType": "purl",
                    "referenceLocator": crate.purl,
                }
            ]
        if crate.name == "gosling":
            described |= {"primaryPackagePurpose": "APPLICATION", "summary": SUMMARY, "sourceInfo": f"commit {COMMIT}"}
        return described

    def relation(subject, kind, other):
        return {"spdxElementId": subject, "relationshipType": kind, "relatedSpdxElement": other}

    program = next(crate for crate in crates if crate.name == "gosling")
    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", reference(program))]
    for crate in crates:
        needs = sorted(reference(need) for need in crate.needs.values())
        relations += [relation(reference(crate), "DEPENDS_ON", need) for need in needs]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"gosling-{VERSION}",
        "documentNamespace": f"https://spdx.org/spdxdocs/gosling-{VERSION}-{identity(crates)}",
        "creationInfo": {"created": TIME, "creators": [f"Tool: gosling-release-documents-{VERSION}"]},
        "packages": [package(crate) for crate in crates],
        "relationships": relations,
    }


def licences(crates):
    """The conditions of all crates; a text that several share is there once."""
    texts = {}
    for crate in crates:
        if crate.is_own:
            continue
        assert crate.folder, f"{crate.name} {crate.version} is not on this machine: run cargo fetch --locked"
        files = [it for it in crate.folder.iterdir() if it.is_file() and LICENCE_FILE.match(it.name)]
        assert files, f"{crate.name} {crate.version} has no licence in its package; add its text here"
        for file in sorted(files):
            text = file.read_text(errors="replace").replace("\r\n", "\n").strip("\n") + "\n"
            texts.setdefault(text, []).append(f"{crate.name} {crate.version}: {file.name}")
    line = "-" * 80 + "\n"
    out = f"gosling {VERSION} is licensed under {LICENCE}:\n\n{(ROOT / 'LICENSE').read_text()}\n"
    out += line + "It is built from these crates, under the licences that are named:\n\n"
    for crate in crates:
        if not crate.is_own:
            out += f"{crate.name} {crate.version}: {crate.licence}\n"
    out += """
and from Rust's standard library, which is licensed under MIT OR Apache-2.0, with
libunwind of LLVM, which is licensed under Apache-2.0 WITH LLVM-exception.
Programs for musl contain musl, too. The conditions of all of them follow; the
text of Apache-2.0 is above.

"""
    out += line + "musl\n\n" + MUSL + "\n"
    for text, places in texts.items():
        out += line + "\n".join(places) + "\n\n" + text + "\n"
    return out


def manual():
    """All pages, in the order of `gosling help`."""
    folder = ROOT / "src" / "manual"
    pages = re.search(r"^pages! \{\n(.*?)^\}", (folder / "mod.rs").read_text(), re.M | re.S)[1]
    out = f"The manual of gosling {VERSION}; `gosling help TOPIC` prints one page.\n\n"
    texts = []
    for name, summary, programs in re.findall(r'^    (\w+) "(.*?)"((?:\s*\[.*?\])*);', pages, re.M):
        text = (folder / f"{name}.md").read_text()
        for heading, language, file in re.findall(r'\["(.*?)" "(.*?)" "(.*?)"\]', programs):
            text += f"\n## {heading}\n\n```{language}\n{(folder / file).read_text()}```\n"
        texts.append(text)
        out += f"  {name:13}  {summary}\n"
    return out + "".join("\n" + "=" * 80 + "\n\n" + text for text in texts)


def main():
    out, targets = Path(sys.argv[1]), sys.argv[2:]
    crates = crates_of(targets)
    write_json(out, "cyclonedx.json", cyclonedx(crates))
    write_json(out, "spdx.json", spdx(crates))
    write(out, "licences.txt", licences(crates))
    write(out, "manual.txt", manual())


main()
