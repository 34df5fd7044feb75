"""Look for known weaknesses in the pinned packages and for secrets in the tracked files.

Exit status 1 when either is found. A vulnerability database that cannot be reached is said, not counted as a pass.

    python tests/tools/audit.py
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DATABASES = (("pypi",), ("osv",))  # asked in this order until one answers; OSV is what PyPI's list is made from
NOT_SECRET = "^(PASSWORD|topsecret|hunter2secret)$"  # the word in a message, and what tests take for a password
KNOWN = {("src/calirare/data/catalogue/entries.py", "Hex High Entropy String")}  # sha256 sums of the public downloads
NOT_TEXT = {".png", ".parquet", ".npz"}


def ask(requirements: Path, *database: str) -> list[dict[str, Any]] | None:
    """What pip-audit says of each pin, or None where the database gave no answer at all."""
    words = ["-r", str(requirements), "--no-deps", "--disable-pip", "--format", "json", "--progress-spinner", "off"]
    asked = subprocess.run(
        [sys.executable, "-m", "pip_audit", *words, "--timeout", "10", "--vulnerability-service", *database],
        capture_output=True,
        text=True,
        check=False,
    )
    if not asked.stdout.strip():
        if "requests.exceptions" in asked.stderr or "ConnectionError" in asked.stderr:
            return None
        raise SystemExit(f"pip-audit could not read {requirements.name}:\n{asked.stderr.strip()}")
    packages: list[dict[str, Any]] = json.loads(asked.stdout)["dependencies"]
    # A mirror without the database answers "not found" for every package: that is no answer either.
    return packages if any("vulns" in package for package in packages) else None


def report_vulnerabilities(requirements: Path, databases: tuple[tuple[str, ...], ...] = DATABASES) -> bool:
    """Print what is known against the pins; True where nothing is."""
    for database in databases:
        packages = ask(requirements, *database)
        if packages is not None:
            break
    else:
        print("vulnerabilities: the databases (PyPI, OSV) could not be reached, skipped")
        return True
    judged = [package for package in packages if "vulns" in package]
    for package in judged:
        for weakness in package["vulns"]:
            fixed = ", ".join(weakness["fix_versions"]) or "no release yet"
            print(f"{package['name']} {package['version']}: {weakness['id']}, fixed in {fixed}", file=sys.stderr)
    found = sum(bool(package["vulns"]) for package in judged)
    print(f"vulnerabilities: {found} of {len(judged)} packages; {len(packages) - len(judged)} not in the database")
    return not found


def tracked_files(root: Path) -> list[str]:
    """The text files under version control."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split("\0") if name and Path(name).suffix not in NOT_TEXT]


def report_secrets(root: Path) -> bool:
    """Print where a tracked file seems to hold a secret; True where none does."""
    files = [name for name in tracked_files(root) if (root / name).is_file()]
    # -n: do not try what was found against the services it may belong to
    words = ["-n", "--json", "--exclude-secrets", NOT_SECRET, "--", *files]
    scan = subprocess.run(
        [sys.executable, "-m", "detect_secrets.pre_commit_hook", *words],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    if scan.returncode not in (0, 1):
        raise SystemExit(f"detect-secrets failed:\n{scan.stderr.strip()}")
    results = json.loads(scan.stdout)["results"] if scan.stdout.strip() else {}
    found = [line for lines in results.values() for line in lines if (line["filename"], line["type"]) not in KNOWN]
    for line in found:
        print(f"{line['filename']}:{line['line_number']}: {line['type']}", file=sys.stderr)
    places = {(line["filename"], line["line_number"]) for line in found}
    print(f"secrets: {len(places)} in {len(files)} tracked files")
    return not found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Known weaknesses in the pins, secrets in the tracked files.")
    parser.add_argument("--root", type=Path, default=ROOT, help="a checkout")
    parser.add_argument("--osv-url", help="another OSV server, asked in place of the public databases")
    given = parser.parse_args(arguments)
    databases = (("osv", "--osv-url", given.osv_url),) if given.osv_url else DATABASES
    safe = report_vulnerabilities(given.root / "constraints.txt", databases)
    clean = report_secrets(given.root)
    return 0 if safe and clean else 1


if __name__ == "__main__":
    sys.exit(main())
