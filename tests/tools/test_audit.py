"""The audit finds what was planted, and says so when it could not look."""

from __future__ import annotations

import http.server
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip("pip_audit")
pytest.importorskip("detect_secrets")

AUDIT = Path(__file__).resolve().with_name("audit.py")
CLOSED = "http://127.0.0.1:1/v1/query"

# In halves, so that the audit of this repository does not find them here.
PLANTED = {
    "an access key": "AKIA" + "IOSFODNN7ZXQWERT",
    "a private key": "-----BEGIN RSA " + "PRIVATE KEY-----",
    "a password in an address": "postgresql://desk:" + "Zx81kPq0@db.internal/cases",
    "a token": "ghp_" + "a1B2" * 9,
}


@pytest.fixture
def checkout(tmp_path):
    """A repository with two pins and one clean file."""
    (tmp_path / "constraints.txt").write_text("numpy==2.4.6\nweak-package==1.0\n")
    (tmp_path / "clean.py").write_text('greeting = "nothing to see"\n')
    (tmp_path / "picture.png").write_bytes(b"\x89PNG" + bytes(range(256)))
    for words in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


@pytest.fixture
def osv():
    """An OSV server on loopback that holds one thing against weak-package 1.0."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            name, version = asked["package"]["name"], asked["version"]
            package = {"name": name, "ecosystem": "PyPI"}
            span = {"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "1.1"}]}
            weakness = {
                "id": "PYSEC-2026-1",
                "details": "it falls over",
                "affected": [{"package": package, "ranges": [span], "versions": [version]}],
            }
            body = json.dumps({"vulns": [weakness] if (name, version) == ("weak-package", "1.0") else []}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1/query"
    server.shutdown()
    server.server_close()


def audit(root, url):
    return subprocess.run(
        [sys.executable, AUDIT, "--root", root, "--osv-url", url], capture_output=True, text=True, timeout=120
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_secret_fails(checkout, kind):
    (checkout / "settings.py").write_text(f'# one\nvalue = "{PLANTED[kind]}"\n')
    subprocess.run(["git", "add", "settings.py"], cwd=checkout, check=True)
    said = audit(checkout, CLOSED)
    assert said.returncode == 1
    assert "settings.py:2: " in said.stderr
    assert PLANTED[kind] not in said.stdout + said.stderr, "the report must not spread it"
    assert "secrets: 1 in 3 tracked files" in said.stdout


@pytest.mark.slow
def test_a_clean_checkout_passes_and_says_that_no_database_answered(checkout):
    (checkout / "ignored.py").write_text(f'value = "{PLANTED["an access key"]}"\n')  # not under version control
    said = audit(checkout, CLOSED)
    assert said.returncode == 0, said.stderr
    assert "could not be reached, skipped" in said.stdout
    assert "secrets: 0 in 2 tracked files" in said.stdout


@pytest.mark.slow
def test_a_known_weakness_fails_and_its_repair_passes(checkout, osv):
    said = audit(checkout, osv)
    assert said.returncode == 1
    assert "weak-package 1.0: PYSEC-2026-1, fixed in 1.1" in said.stderr
    assert "vulnerabilities: 1 of 2 packages" in said.stdout
    (checkout / "constraints.txt").write_text("numpy==2.4.6\nweak-package==1.1\n")
    said = audit(checkout, osv)
    assert said.returncode == 0, said.stderr
    assert "vulnerabilities: 0 of 2 packages" in said.stdout


@pytest.mark.slow
def test_pins_that_cannot_be_read_are_no_pass(checkout, osv):
    (checkout / "constraints.txt").write_text("numpy>=2\n")
    said = audit(checkout, osv)
    assert said.returncode == 1
    assert "could not read constraints.txt" in said.stderr and "not pinned" in said.stderr
