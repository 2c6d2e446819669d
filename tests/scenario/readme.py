#!/usr/bin/env python3
"""Runs the commands of README.md's console blocks against a real server and worker.

readme.py --write README.md puts what they printed below them; test_readme.py checks that they still work."""
import os
import re
import subprocess
import sys

import harness

BLOCK = re.compile(r"```console\n(.*?)```", re.S)


def start(lab):
    import json
    lab.start_server()
    with open(os.path.join(harness.SRC, "examples/data/synthetic-1-1.json")) as f:
        lab.start_worker(json.load(f), "0-29")
    harness.wait_for(lambda: len(lab.admin.ok("GET", "/api/v1/devices?limit=100")["items"]) == 30, "30 devices")


def run(lab, command):
    command = command.replace("build/bin/", harness.BIN + "/")
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, cwd=harness.SRC, timeout=harness.TIMEOUT_S,
                          env=dict(os.environ, FEDLANE_SERVER=lab.url, FEDLANE_TOKEN=lab.admin.token))
    # `| head` and `| cut` may end a pipe early: only what is printed counts then.
    assert done.returncode in (0, 141), "%s: exit %d\n%s%s" % (command, done.returncode, done.stdout, done.stderr)
    return done.stdout.replace(lab.url, "http://127.0.0.1:8080")


def commands(block):
    return [line[2:] for line in block.splitlines() if line.startswith("$ ")]


def write(lab, path):
    start(lab)
    with open(path) as f:
        text = f.read()

    def fill(match):
        out = "```console\n"
        for command in commands(match.group(1)):
            printed = run(lab, command).rstrip("\n")
            out += "$ " + command + "\n" + (printed + "\n" if printed else "")
        return out + "```"
    with open(path, "w") as f:
        f.write(BLOCK.sub(fill, text))


if __name__ == "__main__":
    assert sys.argv[1] == "--write"
    laboratory = harness.Lab()
    try:
        write(laboratory, sys.argv[2])
    finally:
        laboratory.close()
