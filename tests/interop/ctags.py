#!/usr/bin/env python3
"""Compares what `analyze` finds with what universal-ctags finds: ctags.py [LANGUAGE=]TREE...

Both name functions and types with their lines; a definition counts as found by both if file, name, sort
and line are the same. Prints, for each language, how many each has, how many are common, recall (common
of those of ctags) and precision (common of those of gosling). Neither is the truth: with --differences
the first of each language that only one has are listed, to be looked at. Needs Python 3.9, `ctags`, and
a built gosling (GOSLING, default target/debug/gosling). A tree may be given as LANGUAGE=TREE to compare
only this language there, for example Rust=$HOME/.cargo/registry/src. With --files=N at most so many files
of each language are compared, from all over. With --check it is an error if one of them comes out below
what is expected of it here, or if there was nothing to compare.
"""

import collections
import json
import os
import re
import subprocess
import sys

from mcp_stdio import Client

# The kinds of ctags that are functions, and those that are types or hold others.
KINDS = {
    "Rust": ("fPM", "sgicnt"),
    "Python": ("fm", "c"),
    "JavaScript": ("fmgGS", "c"),
    "TypeScript": ("fmG", "cigna"),
    "Go": ("fn", "tsia"),
    "Java": ("m", "cgia"),
    "Kotlin": ("m", "cioT"),
    "Ruby": ("fS", "cm"),
    "C": ("f", "sug"),
    "C++": ("f", "csugn"),
}
EXTENSIONS = {
    "rs": "Rust", "py": "Python", "js": "JavaScript", "mjs": "JavaScript", "cjs": "JavaScript",
    "ts": "TypeScript", "go": "Go", "java": "Java", "kt": "Kotlin", "rb": "Ruby", "c": "C",
    "cc": "C++", "cpp": "C++", "hpp": "C++",
}
LINE = re.compile(r"^  (\d+)(?:-\d+)?: (\S+) (.+) \(\d+ lines?\)(?: •\d+)?$")
MOST_FILES = 1500
# What --check expects: recall and precision in percent, a little less than what was measured with the trees
# that tests/interop/run has, for each sort. Precision is low where ctags knows little of the language.
FLOORS = {
    ("Rust", "function"): (99, 92),
    ("Rust", "type"): (99, 85),
    ("Python", "function"): (99, 98),
    ("Python", "type"): (99, 99),
    ("JavaScript", "function"): (95, 50),
    ("JavaScript", "type"): (8, 80),
    ("TypeScript", "function"): (98, 25),
    ("TypeScript", "type"): (93, 70),
}
# Fewer definitions than these in ctags say nothing.
FEWEST = 100


class Gosling(Client):
    def definitions(self, path):
        """(sort, name, line) of everything in a file; none if it cannot be analyzed."""
        arguments = {"path": path, "force": True}
        answer = self.call("analyze", arguments)
        result = answer.get("result")
        if result is None or result.get("isError"):
            return None
        found, sort = set(), None
        text = result["content"][0]["text"]
        if "\n(cut: " in text:
            return None
        for line in text.splitlines():
            sort = {"Classes:": "type", "Functions:": "function", "Imports:": None}.get(line, sort)
            match = LINE.match(line)
            if match and sort:
                label, title = match[2], match[3]
                found.add((sort, label, title, int(match[1])))
        return found


def plain(name, language):
    """A name without what the two write differently."""
    if name.startswith("operator") or language == "C++":
        name = name.replace(" ", "")
    return name.rstrip("=") if language == "Ruby" else name


def mine(gosling, path, language):
    found = gosling.definitions(path)
    if found is None:
        return None
    # What ctags calls variables or defines, or does not have at all.
    left_out = {"C": {"macro"}, "C++": {"macro"}}.get(language, set())
    names = set()
    for sort, label, title, line in found:
        if label in left_out:
            continue
        # The owner comes first, `Type.name`; operators may have dots of their own.
        name = title.split(".", 1)[1] if "." in title else title
        names.add((sort, plain(name, language), line))
    return names


def theirs(paths, language):
    functions, types = KINDS[language]
    command = [
        "ctags", "--output-format=json", "--fields=+nk", "--sort=no", "-L", "-", "-f", "-",
        f"--languages={language}", f"--language-force={language}", "--extras=F",
    ]
    if language not in ("C", "C++"):
        command.append(f"--kinds-{language}={functions}{types}")
    run = subprocess.run(command, input="\n".join(paths), capture_output=True, text=True, errors="replace")
    letters = kind_letters(language)
    found = collections.defaultdict(set)
    for line in run.stdout.splitlines():
        tag = json.loads(line)
        letter = letters.get(tag.get("kind"), tag.get("kind"))
        if tag.get("_type") != "tag" or letter is None:
            continue
        name = tag["name"]
        if language == "Rust" and letter == "n" and tag.get("pattern", "").endswith(";$/"):
            continue  # `mod name;` is an import here.
        if re.match(r"__anon|[aA]nonymous|<", name):
            continue
        if language == "TypeScript" and tag.get("pattern", "").startswith("/^import"):
            continue  # It takes what is imported as a type for an alias.
        sort = "function" if letter in functions else "type" if letter in types else None
        if sort:
            found[tag["path"]].add((sort, plain(name, language), tag["line"]))
    return found


def kind_letters(language):
    text = subprocess.run(
        ["ctags", f"--list-kinds-full={language}", "--with-list-header=no", "--machinable"],
        capture_output=True, text=True, check=True,
    ).stdout
    return {row[1]: row[0] for row in map(str.split, text.splitlines()) if len(row) > 1}


def sources(tree, only):
    by_language = collections.defaultdict(list)
    for folder, folders, files in os.walk(tree):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            language = EXTENSIONS.get(name.rsplit(".", 1)[-1])
            path = os.path.join(folder, name)
            if not language or only and language != only or os.path.islink(path):
                continue
            # A minified file has thousands of definitions on a line, which ctags skips.
            if ".min." in name or os.path.getsize(path) > 1_000_000:
                continue
            by_language[language].append(path)
    return by_language


def spread(paths, most=MOST_FILES):
    """At most so many of them, from all over."""
    step = max(1, -(-len(paths) // most))
    return paths[::step]


def below(language, sort, ctags, own, both):
    """What is worse than expected, as a sentence; nothing if nothing is."""
    floors = FLOORS.get((language, sort))
    if not floors or ctags < FEWEST:
        return None
    for what, floor, of in (("recall", floors[0], ctags), ("precision", floors[1], own)):
        if 100 * both < floor * of:
            return f"{language}, {sort}: {what} below {floor} %"
    return None


def main():
    options = [argument for argument in sys.argv[1:] if argument.startswith("--")]
    trees = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    differences, check, most = "--differences" in options, "--check" in options, MOST_FILES
    for option in options:
        if option.startswith("--files="):
            most = int(option.removeprefix("--files="))
        elif option not in ("--differences", "--check"):
            raise SystemExit(__doc__)
    if not trees:
        raise SystemExit(__doc__)
    compared, failures = 0, []
    by_language = collections.defaultdict(list)
    for tree in trees:
        only, _, path = tree.rpartition("=")
        for language, paths in sources(os.path.abspath(os.path.expanduser(path)), only).items():
            by_language[language] += paths
    gosling = Gosling("developer")
    print(f"{'language':<12}{'files':>7}{'sort':>10}{'ctags':>8}{'gosling':>9}{'both':>8}{'recall':>8}{'precision':>11}")
    for language, paths in sorted(by_language.items()):
        paths = spread(paths, most)
        tags = theirs(paths, language)
        read, total = 0, collections.Counter()
        only_theirs, only_mine = [], []
        for path in paths:
            names = mine(gosling, path, language)
            if names is None:
                continue
            read += 1
            theirs_here = tags.get(path, set())
            for sort in ("function", "type"):
                a = {entry for entry in theirs_here if entry[0] == sort}
                b = {entry for entry in names if entry[0] == sort}
                total[sort, "ctags"] += len(a)
                total[sort, "gosling"] += len(b)
                total[sort, "both"] += len(a & b)
                only_theirs += [(path, *entry) for entry in sorted(a - b)]
                only_mine += [(path, *entry) for entry in sorted(b - a)]
        for sort in ("function", "type"):
            ctags, own, both = (total[sort, who] for who in ("ctags", "gosling", "both"))
            recall = f"{100 * both / ctags:.1f} %" if ctags else "-"
            precision = f"{100 * both / own:.1f} %" if own else "-"
            print(f"{language:<12}{read:>7}{sort:>10}{ctags:>8}{own:>9}{both:>8}{recall:>8}{precision:>11}", flush=True)
            compared += ctags >= FEWEST
            failures.append(below(language, sort, ctags, own, both))
        if differences:
            for title, entries in (("only ctags", only_theirs), ("only gosling", only_mine)):
                for path, sort, name, line in spread(entries)[:: max(1, len(entries) // 40)][:40]:
                    print(f"    {title}: {sort} {name} {path}:{line}")
    gosling.close()
    failures = [failure for failure in failures if failure]
    if check and not compared:
        failures.append("there was nothing to compare")
    if check and failures:
        raise SystemExit("analyze: " + "; ".join(failures))


if __name__ == "__main__":
    main()
