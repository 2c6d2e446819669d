#!/usr/bin/env python3
"""Our safetensors files load in the Python package, and its files load in ours: F32, F16, BF16, integers, metadata.

usage: safetensors_roundtrip.py [TOOL]     exit 0: all is well; 77: the Python packages are not there
"""
import json
import os
import subprocess
import sys
import tempfile

src = os.environ.get("srcdir", ".")
for root in (src, "."):
    venv = os.path.join(root, "build", "venv", "bin", "python")
    if os.path.exists(venv) and os.environ.get("FEDLANE_IN_VENV") != "yes":
        os.execve(venv, [venv, *sys.argv], dict(os.environ, FEDLANE_IN_VENV="yes"))
try:
    import numpy
    import safetensors
    import safetensors.numpy
except ImportError:
    print("no Python package safetensors; ./dev check makes build/venv")
    sys.exit(77)

tool = sys.argv[1] if len(sys.argv) > 1 else "tests/bin/safetensors_tool"


def ours_in_theirs(path):
    subprocess.run([tool, "encode", path], check=True)
    tensors = safetensors.numpy.load_file(path)
    params = (numpy.arange(16, dtype="<f4") - 8) / 4
    assert set(tensors) == {"0.weight", "0.bias", "steps", "scale", "none"}, tensors.keys()
    assert tensors["0.weight"].dtype == numpy.float32 and tensors["steps"].dtype == numpy.int64
    assert (tensors["0.weight"] == params[:12].reshape(3, 4)).all()
    assert (tensors["0.bias"] == params[12:15]).all() and tensors["scale"] == params[15]
    assert tensors["none"].shape == (0, 4)
    assert tensors["steps"].tobytes() == bytes(range(16))
    with safetensors.safe_open(path, "numpy") as f:
        assert f.metadata() == {"round": "3", "note": '"quoted" \\ \u00e9\n'}, f.metadata()


def spec(dtype, array):
    """A tensor of the package's low-level writer, the one that knows bfloat16. Its interface changed in 0.8."""
    if hasattr(safetensors, "TensorSpec"):
        return safetensors.TensorSpec(dtype=dtype, shape=array.shape, data_ptr=array.ctypes.data,
                                      data_len=array.nbytes)
    return {"dtype": dtype, "shape": list(array.shape), "data": array.tobytes()}


def theirs_in_ours(path, dtype, narrow, widen):
    values = numpy.random.default_rng(1).standard_normal((5, 7)).astype("<f4")
    values[0, :3] = [0.0, -0.0, 2.0 ** -20]
    narrowed, steps = narrow(values), numpy.arange(3, dtype="<i8")
    safetensors.serialize_file({"b": spec(dtype, narrowed), "steps": spec("int64", steps)}, path, {"kind": dtype})
    done = subprocess.run([tool, "decode", path], check=True, capture_output=True)
    read = json.loads(done.stdout)
    assert read["metadata"] == {"kind": dtype}
    got = numpy.array(read["tensors"]["b"], dtype="<f4")
    assert got.tobytes() == widen(narrowed).tobytes(), dtype
    assert bytes(read["tensors"]["steps"]) == steps.tobytes()


with tempfile.TemporaryDirectory() as folder:
    ours_in_theirs(os.path.join(folder, "ours.safetensors"))
    file = os.path.join(folder, "theirs.safetensors")
    theirs_in_ours(file, "float32", lambda v: v, lambda v: v)
    theirs_in_ours(file, "float16", lambda v: v.astype("<f2"), lambda v: v.astype("<f4"))
    theirs_in_ours(file, "bfloat16", lambda v: (v.view("<u4") >> 16).astype("<u2"),
                   lambda v: (v.astype("<u4") << 16).view("<f4"))
print("all files read alike")
