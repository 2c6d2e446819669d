#!/usr/bin/env python3
"""schemathesis runs the server's own OpenAPI file against it: no 5xx, no status that the file does not name."""
import os
import subprocess

import harness
from device import Device, small_spec

tool = os.path.join(harness.SRC, "build", "venv", "bin", "schemathesis")
if not os.path.exists(tool):
    harness.skip("no Python package schemathesis; ./dev check makes build/venv")

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def schemathesis(lab, parameters, token):
    """parameters: values that take the place of generated ones. Event streams have no end and are left out, and so is the
    revoking of tokens, which would take away the caller's own."""
    config = lab.write("schemathesis.toml", "[parameters]\n" + "".join('"%s" = %s\n' % (k, v) for k, v in parameters.items()))
    done = subprocess.run(
        [tool, "--config-file", config, "run", lab.url + "/api/v1/openapi.json", "--header", "Authorization: Bearer " + token,
         "--checks", CHECKS, "--max-examples", "200" if harness.FULL else "12", "--seed", "1",
         "--phases", "examples,coverage,fuzzing", "--request-timeout", "20", "--no-color", "--warnings", "off",
         "--exclude-path-regex", "events$|/tokens/"],
        capture_output=True, text=True, timeout=1200, cwd=os.path.dirname(config))
    print(done.stdout[-6000:], done.stderr[-2000:])
    assert lab.server.running(), lab.server.text()[-3000:]
    assert done.returncode == 0, "schemathesis found something"


def test_ids_from_nowhere(lab):
    lab.start_server()
    schemathesis(lab, {"wait": 0}, lab.admin.token)


def test_ids_that_exist(lab):
    lab.start_server()
    run = lab.submit(small_spec(1, num_rounds=100))
    device = Device(lab, 0)
    task = device.claim(10)["task_id"]
    ids = {"path.run": run, "path.device": device.id, "path.task": task, "path.experiment": "0"}
    schemathesis(lab, dict({k: '"%s"' % v for k, v in ids.items()}, wait=0), lab.admin.token)


if "TSAN_OPTIONS" in os.environ:
    harness.skip("it asks one thing at a time: nothing can race; the other builds take the same requests")
harness.main(globals())
