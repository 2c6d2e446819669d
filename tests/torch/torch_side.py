"""What the tests with PyTorch share. They run under the system's python3, which has Debian's python3-torch; where it is not
there, and under sanitizers, they are skipped."""
import ctypes
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scenario"))
import harness  # noqa: E402

# Sanitizers look at every operation's memory in tests/compute and tests/unit/nn; here they would only see the same again, slowly.
if os.environ.get("ASAN_OPTIONS") or os.environ.get("TSAN_OPTIONS"):
    harness.skip("compares results, which sanitizers do not change")
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
try:
    import numpy  # noqa: F401 # for the tests, which get it where it is there
    import torch
except ImportError:
    harness.skip("no PyTorch for /usr/bin/python3; ./dev deps check installs Debian's python3-torch")
EXAMPLES = os.path.join(harness.SRC, "examples")
sys.path.insert(0, EXAMPLES)
import fedlane_torch  # noqa: E402

torch.set_num_threads(1)
for option in (-1, -3):  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD: no page faults for every tensor, a third of PyTorch's time
    ctypes.CDLL(None).mallopt(option, 1 << 28)


def local_job(lab, backend, case, weights):
    """(facts, gradient, weights) that tests/bin/local_job finds."""
    done = subprocess.run([os.path.join(harness.BUILD, "tests", "bin", "local_job"), backend, lab.write("case.json", case), weights,
                           lab.folder], capture_output=True, text=True, timeout=harness.TIMEOUT_S)
    assert done.returncode == 0, (case, done)
    with open(lab.path("facts.json")) as f:
        facts = json.load(f)
    return facts, fedlane_torch.load(lab.path("gradient.safetensors")), fedlane_torch.load(lab.path("weights.safetensors"))
