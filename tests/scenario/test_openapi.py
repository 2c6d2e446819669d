#!/usr/bin/env python3
"""schemathesis runs the server's own OpenAPI file against it: no 5xx, no status that the file does not name."""
import os
import subprocess
import sys

import harness
from specs import synthetic_run

tool = os.path.join(harness.SRC, "build", "venv", "bin", "schemathesis")
if not os.path.exists(tool):
    harness.skip("no Python package schemathesis; ./dev check makes build/venv")


def test_schemathesis(lab):
    lab.start_server()
    lab.submit(synthetic_run(autostart=False))
    examples = "200" if harness.FULL else "25"
    done = subprocess.run(
        [tool, "run", lab.url + "/api/v1/openapi.json", "--header", "Authorization: Bearer " + lab.admin.token,
         "--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
         "--max-examples", examples, "--seed", "1", "--phases", "examples,coverage,fuzzing",
         "--request-timeout", "20", "--no-color", "--exclude-path-regex", "events$"],
        capture_output=True, text=True, timeout=900)
    print(done.stdout[-6000:], done.stderr[-2000:])
    assert lab.server.running(), lab.server.text()[-3000:]
    assert done.returncode == 0, "schemathesis found something"


harness.main(globals())
