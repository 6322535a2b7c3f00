"""Reads the report of the Autobahn test suite: autobahn.py INDEX

Prints how many cases there are, and each that did not end as it must; exit status 1 then, or if cases are missing."""

import json
import sys

# Of those that are asked for; the rest is about compression.
CASES = 301

(cases,) = json.load(open(sys.argv[1])).values()
fine = ("OK", "INFORMATIONAL")
bad = {
    name: case
    for name, case in cases.items()
    if case["behavior"] not in fine or case["behaviorClose"] not in fine
}
informational = sum(case["behavior"] == "INFORMATIONAL" for case in cases.values())
print(f"{len(cases)} cases, {informational} of them informational, {len(bad)} failed")
for name, case in sorted(bad.items()):
    print(name, case["behavior"], case["behaviorClose"])
sys.exit(bool(bad) or len(cases) != CASES)
