"""Holds the lists of crates against their published schemas: python3 validate.py OUTDIR

Needs `cyclonedx-python-lib[json-validation]` and `spdx-tools`, see check. Prints what is wrong, and ends with 1.
"""

import sys
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

out = Path(sys.argv[1])
wrong = []

document = next(out.glob("*-cyclonedx.json"))
validator = JsonStrictValidator(SchemaVersion.V1_6)
error = validator.validate_str(document.read_text())
# The validator does look.
assert validator.validate_str(document.read_text().replace('"library"', '"libary"')) is not None
if error is not None:
    wrong.append(f"{document.name}: {error}")

document = next(out.glob("*-spdx.json"))
parsed = parse_file(str(document))
wrong += [f"{document.name}: {it.validation_message}" for it in validate_full_spdx_document(parsed)]
packages = parsed.packages
parsed.packages, parsed.relationships = packages[:2], []
assert validate_full_spdx_document(parsed), "the validator does not look"

print("\n".join(wrong) or f"valid: CycloneDX 1.6, and SPDX 2.3 with {len(packages)} packages")
sys.exit(bool(wrong))
