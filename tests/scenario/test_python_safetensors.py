#!/usr/bin/env python3
"""Files of the Python `safetensors` package load here, and ours load there: F32, F16, BF16."""
import os
import sys

import harness

venv = os.path.join(harness.SRC, "build", "venv", "bin", "python")
if os.path.exists(venv) and os.environ.get("FEDLANE_IN_VENV") != "yes":
    os.execve(venv, [venv, *sys.argv], dict(os.environ, FEDLANE_IN_VENV="yes"))
try:
    import numpy
    import safetensors.numpy
except ImportError:
    harness.skip("no Python package safetensors; ./dev check makes build/venv")

from specs import synthetic_run  # noqa: E402


def pending_run(lab):
    lab.start_server()
    return lab.submit(synthetic_run(autostart=False))


def bf16_file(tensors):
    """safetensors.numpy knows no bfloat16: the header is written by hand, as the format says."""
    import json
    header, data = {}, b""
    for name, value in tensors.items():
        raw = (value.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
        header[name] = {"dtype": "BF16", "shape": list(value.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def round_trip(lab, make, exact):
    run_id = pending_run(lab)
    numbers = numpy.random.default_rng(1)
    weight = numbers.standard_normal((10, 60)).astype("<f4")
    bias = numbers.standard_normal(10).astype("<f4")
    # Another order than the model's: tensors go by name.
    body = make({"0.bias": bias, "0.weight": weight})
    media = {"Content-Type": "application/vnd.safetensors"}
    lab.admin.ok("PUT", "/api/v1/runs/%s/models/0/weights" % run_id, body, headers=media)
    reply = lab.admin.get("/api/v1/runs/%s/models/0/weights" % run_id)
    assert reply.status == 200, reply
    ours = safetensors.numpy.load(reply.body)
    assert list(ours) and set(ours) == {"0.weight", "0.bias"}, ours.keys()
    assert ours["0.weight"].dtype == numpy.float32 and ours["0.weight"].shape == (10, 60)
    assert (ours["0.weight"] == exact(weight)).all() and (ours["0.bias"] == exact(bias)).all()


def test_f32(lab):
    round_trip(lab, safetensors.numpy.save, lambda x: x)


def test_f16(lab):
    round_trip(lab, lambda t: safetensors.numpy.save({k: v.astype("<f2") for k, v in t.items()}),
               lambda x: x.astype("<f2").astype("<f4"))


def test_bf16(lab):
    round_trip(lab, bf16_file, lambda x: (x.view("<u4") >> 16 << 16).view("<f4"))


harness.main(globals())
