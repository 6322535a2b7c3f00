"""Runs gosling's integration tests as programs of Windows, under Wine, and compares the result with windows.txt.

usage: python3 windows.py TARGET RUNNER [all]     such as x86_64-pc-windows-gnu /usr/lib/wine/wine64

In the environment of tests/targets/run. Without `all` it takes those that windows.txt marks with `+`. Exit status 1 if
a test fails that the list does not name, if one passes that it names, or if it names what is not there.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LIST = pathlib.Path(__file__).with_name("windows.txt")
# A test that waits in vain fails by itself long before.
TIMEOUT = 600
# Most of them wait for processes.
THREADS = 2 * (os.cpu_count() or 1)


def read_list():
    """The targets of each run, those without a test, and the tests that fail, and that may fail, with the reasons."""
    always, without, failing, uncertain = [], {}, {}, {}
    for number, line in enumerate(LIST.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        if line.startswith("+ "):
            always.extend(line.split()[1:])
            continue
        kind = uncertain if line.startswith("? ") else failing
        name, colon, reason = line.removeprefix("? ").partition(": ")
        target, _, test = name.partition(" ")
        known = without if not test else kind.setdefault(target, {})
        key = test or target
        if not colon or not reason.strip() or key in known:
            sys.exit(f"{LIST}, line {number}: {line}")
        known[key] = reason
    return always, without, failing, uncertain


def build(target, names):
    """The programs of these test targets, or of all."""
    command = ["cargo", "test", "--locked", "--quiet", "--no-run", "--message-format=json", "--target", target]
    command += ["-p", "gosling"] + [word for name in names for word in ("--test", name)]
    if not names:
        command.append("--tests")
    examples = ["cargo", "build", "--locked", "--quiet", "--target", target, "-p", "gosling"]
    subprocess.run(examples + ["--example", "scripted-mcp"], check=True)
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    messages = [json.loads(line) for line in output.splitlines() if line.startswith(b"{")]
    built = [it for it in messages if it.get("executable") and it["target"]["kind"] == ["test"]]
    return {it["target"]["name"]: it["executable"] for it in built}


def run(runner, program, *arguments):
    """What a test program prints until it ends, or its time is over."""
    # Not a pipe: Wine's own services, which it starts with the first program, would keep it open.
    with tempfile.TemporaryFile() as output:
        command = [runner, program, *arguments]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output) as process:
            try:
                process.wait(TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()
        output.seek(0)
        return output.read().decode(errors="replace")


def results(output):
    """The tests that passed, those that failed, and those that are not run."""
    found = {"ok": set(), "FAILED": set(), "ignored": set()}
    line = r"^test (\S+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b"
    for name, result in re.findall(line, output, re.MULTILINE):
        found[result].add(name)
    return found.values()


def main():
    target, runner, *rest = sys.argv[1:]
    everything = rest == ["all"]
    always, without, failing, uncertain = read_list()
    programs = build(target, [] if everything else always)
    faults = []
    passed_in_all = failed_in_all = 0
    for name, program in sorted(programs.items()):
        listed = run(runner, program, "--list")
        tests = set(re.findall(r"^(\S+): test\r?$", listed, re.MULTILINE))
        if not tests or name in without:
            if tests:
                faults.append(f"{name} has tests, and is listed as without")
            elif name not in without:
                faults.append(f"{name} has no test, and is not listed")
            continue
        known, open_ones = failing.get(name, {}), uncertain.get(name, {})
        output = run(runner, program, f"--test-threads={THREADS}")
        passed, failed, ignored = results(output)
        # A busy machine may be the cause, or Wine, which at times does not start a program or loses a wake-up.
        for test in sorted(tests - passed - ignored - known.keys() - open_ones.keys()):
            if test in next(iter(results(run(runner, program, "--exact", test)))):
                print(f"{name}: {test} passed alone only", flush=True)
                failed.discard(test)
                passed.add(test)
        new = sorted(tests - passed - ignored - known.keys() - open_ones.keys())
        as_listed = tests - passed - ignored - set(new)
        passed_in_all += len(passed)
        failed_in_all += len(as_listed)
        print(f"{name}: {len(passed)} passed, {len(as_listed)} failed as listed", flush=True)
        if new:
            print(output, flush=True)
        faults += [f"{name}: {test} {'fails' if test in failed else 'does not end'}" for test in new]
        faults += [f"{name}: {test} passes, and is listed as failing" for test in sorted(known.keys() & passed)]
        gone = (known.keys() | open_ones.keys()) - tests
        faults += [f"{name}: {test} is listed, and not there" for test in sorted(gone)]
    if everything:
        named = without.keys() | failing.keys() | uncertain.keys() | set(always)
        faults += [f"{name} is listed, and not there" for name in sorted(named - programs.keys())]
    print(f"{len(programs)} test programs: {passed_in_all} tests passed, {failed_in_all} failed as listed")
    for fault in faults:
        print(f"failed: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
