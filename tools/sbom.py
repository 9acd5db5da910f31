"""The list of a wheel's parts as CycloneDX 1.6: its files with checksums, and what it depends on. Standard library only.

    python tools/sbom.py infinirt-….whl --out infinirt.cdx.json

Required packages are listed as such, those of extras as optional, each with the range that the wheel's metadata gives; libraries that are
loaded at run time where they exist are named in THIRD_PARTY_NOTICES.md. The same wheel gives the same list, byte for byte: its
serial number is made of the wheel's checksum, and its time is that of the newest file in the wheel.
"""

from __future__ import annotations

import argparse
import email.message
import email.parser
import hashlib
import json
import re
import sys
import uuid
import zipfile
from pathlib import Path
from typing import Any

LIBRARY = re.compile(r"\.so(\.\d+)*$")


def metadata(wheel: zipfile.ZipFile) -> email.message.Message:
    names = [name for name in wheel.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name)]
    if len(names) != 1:
        sys.exit(f"{wheel.filename} is no wheel: it has {len(names)} METADATA files")
    return email.parser.Parser().parsestr(wheel.read(names[0]).decode("utf-8"))


def requirement(text: str) -> dict[str, Any]:
    """`nvidia-nccl-cu13>=2.27; extra == "cuda"` as a component. The version is a range: what is installed is the user's."""
    match = re.match(r"\s*([A-Za-z0-9._-]+)(\[[^\]]*\])?\s*([^;]*)(?:;\s*(.*))?$", text)
    if match is None:
        sys.exit(f"not a requirement: {text!r}")
    name, _, wanted, marker = match.groups()
    extra = re.search(r"extra == ['\"]([^'\"]+)['\"]", marker or "")
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name.lower().replace('_', '-')}" + (f"#{extra[1]}" if extra else ""),
        "name": name,
        "purl": f"pkg:pypi/{name.lower().replace('_', '-')}",
        "scope": "optional" if extra else "required",
        "properties": [{"name": "infinirt:versions", "value": wanted.strip(" ()") or "any"}],
    }
    if extra:
        component["properties"].append({"name": "infinirt:extra", "value": extra[1]})
    return component


def files(wheel: zipfile.ZipFile) -> list[dict[str, Any]]:
    """Every library and program of the wheel with its checksum; sources are covered by the wheel's own."""
    found = []
    for item in sorted(wheel.infolist(), key=lambda item: item.filename):
        binary = LIBRARY.search(item.filename) or (item.external_attr >> 16) & 0o111
        if item.is_dir() or not binary:
            continue
        found.append(
            {
                "type": "file",
                "bom-ref": f"file:{item.filename}",
                "name": item.filename,
                "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(wheel.read(item)).hexdigest()}],
            }
        )
    return found


def bill(path: Path) -> dict[str, Any]:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    with zipfile.ZipFile(path) as wheel:
        about = metadata(wheel)
        parts = files(wheel)
        newest = max(item.date_time for item in wheel.infolist())
    name, version = about["Name"], about["Version"]
    needed = [requirement(text) for text in about.get_all("Requires-Dist", [])]
    reference = f"pkg:pypi/{name}@{version}"
    year, month, day, hour, minute, second = newest
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, digest)}",
        "version": 1,
        "metadata": {
            "timestamp": f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z",
            "component": {
                "type": "library",
                "bom-ref": reference,
                "name": name,
                "version": version,
                "purl": reference,
                "description": about["Summary"],
                "licenses": [{"license": {"id": about["License-Expression"] or "MIT"}}],
                "hashes": [{"alg": "SHA-256", "content": digest}],
                "properties": [{"name": "infinirt:wheel", "value": path.name}],
            },
        },
        "components": [*needed, *parts],
        "dependencies": [
            {
                "ref": reference,
                "dependsOn": [each["bom-ref"] for each in needed if each["scope"] == "required"],
            }
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="The parts of a wheel, as CycloneDX.")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if not zipfile.is_zipfile(options.wheel):
        sys.exit(f"{options.wheel} is no wheel")
    text = json.dumps(bill(options.wheel), indent=2) + "\n"
    options.out.write_text(text, encoding="utf-8")
    print(f"{options.out}: {text.count(chr(34) + 'bom-ref')} parts")


if __name__ == "__main__":
    main()
