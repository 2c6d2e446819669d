#!/usr/bin/env python3
"""What docs/datasets.md saves with NumPy is a data set here."""
import os
import re
import subprocess

import harness

PYTHON = os.path.join(harness.SRC, "build", "venv", "bin", "python3")


def test_what_numpy_saves(lab):
    with open(os.path.join(harness.SRC, "docs", "datasets.md")) as f:
        block = re.search(r"^```python\n(.*?)^```", f.read(), re.S | re.M).group(1)
    subprocess.run([PYTHON, "-c", block], cwd=lab.folder, check=True)
    done = subprocess.run([harness.program("fedlane"), "data", "stats", "points.json"], cwd=lab.folder, capture_output=True,
                          text=True)
    assert done.returncode == 0 and "600: " in done.stdout and "features             64" in done.stdout, done


if not os.path.exists(PYTHON):
    harness.skip("no NumPy; ./dev check makes build/venv")
harness.main(globals())
