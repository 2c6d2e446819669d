#!/usr/bin/env python3
"""A simulation holds its examples once: one more thread costs a working set, one more round nothing. What a server takes does not
grow with the transfers that are under way."""
import http.client
import json
import os
import subprocess
import tempfile

import harness
from device import Device, small_spec

PIXELS_MIB = 70000 * 784 / 2 ** 20  # held as bytes
FASHION = {
    "name": "memory", "seed": 1, "num_rounds": 2, "dataset": "fashion_mnist",
    "model": {"input": [784], "layers": [{"type": "dense", "units": 10}], "init": "zeros"},
    "strategy": {"name": "fedprox", "params": {"proximal_mu": 1.0}},
    "training": {"local_epochs": 1, "batch_size": 10, "learning_rate": 0.03},
    "selection": {"devices_per_round": 10, "population": 1000},
    "evaluation": {"on": "all_devices"},
    "data": {"source": "fashion_mnist", "partition": {"name": "paper_label_shards", "devices": 1000}},
}


def most_mib(threads, rounds):
    """The most memory that the process ever had."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(dict(FASHION, num_rounds=rounds), f)
        f.flush()
        process = subprocess.Popen([harness.program("fedlane"), "simulate", f.name, "--threads", str(threads)],
                                   stdout=subprocess.DEVNULL, env=dict(os.environ, MALLOC_ARENA_MAX="2"))
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, process.returncode
    print("%d threads, %d rounds: %.1f MiB" % (threads, rounds, usage.ru_maxrss / 1024))
    return usage.ru_maxrss / 1024


def test_pixels_once(lab):
    one, four = most_mib(1, 2), most_mib(4, 2)
    assert one < PIXELS_MIB + 40, one
    assert four - one < 16, (one, four)


def test_rounds_leave_nothing(lab):
    few, many = most_mib(1, 2), most_mib(1, 12)
    assert many - few < 4, (few, many)  # what 1000 devices say in a round is more than 1 MiB


# -- the server's ------------------------------------------------------------------------------------------------

MODEL_MB = float(os.environ.get("FEDLANE_TEST_MODEL_MB", "10"))
NUM_DEVICES = 50


def server_mb(lab, field):
    with open("/proc/%d/status" % lab.server.process.pid) as f:
        return int([line.split()[1] for line in f if line.startswith(field)][0]) * 1024 / 1e6


class Sending:
    """An update that goes out a little at a time, by PUT or as a piece of an upload."""

    def __init__(self, lab, device, task, body, in_pieces):
        self.body, self.sent = body, 0
        self.link = http.client.HTTPConnection("127.0.0.1", lab.port, timeout=harness.TIMEOUT_S)
        path, headers = "/api/v1/tasks/%s/update" % task["task_id"], {"Content-Type": "application/vnd.safetensors"}
        if in_pieces:
            begun = device.http.request("POST", "/api/v1/tasks/%s/uploads" % task["task_id"],
                                        headers={"Upload-Length": str(len(body))})
            path, headers = begun.headers["Location"], {"Content-Type": "application/partial-upload", "Upload-Offset": "0"}
        self.link.putrequest("PATCH" if in_pieces else "PUT", path)
        for name, value in dict(headers, Authorization="Bearer " + device.http.token, **{"Content-Length": len(body)}).items():
            self.link.putheader(name, str(value))
        self.link.endheaders()

    def send(self, n):
        self.link.send(self.body[self.sent:self.sent + n])
        self.sent += n

    def receipt(self):
        answer = self.link.getresponse()
        text = answer.read()
        self.link.close()
        assert answer.status == 200, (answer.status, text)
        return json.loads(text)


def half_download(lab, device, task):
    link = http.client.HTTPConnection("127.0.0.1", lab.port, timeout=harness.TIMEOUT_S)
    link.request("GET", task["weights_url"], headers={"Authorization": "Bearer " + device.http.token})
    answer = link.getresponse()
    assert answer.status == 200, answer.status
    answer.read(1000000)
    return answer


def test_transfers_do_not_add_up(lab):
    """50 updates come in at the same time, half of them as pieces, while 50 downloads wait for their readers; then the average of
    the 50 is taken. All of that takes three models at most."""
    lab.start_server()
    elements = int(MODEL_MB * 1e6 / 4)
    model = {"input": None, "layers": None, "init": None, "tensors": [{"name": "w", "shape": [elements], "dtype": "F32"}]}
    run = lab.submit(small_spec(NUM_DEVICES, num_rounds=1, model=model))
    devices = [Device(lab, k) for k in range(NUM_DEVICES)]
    tasks = [device.claim(20) for device in devices]
    data = b"\x00\x00\x80\x3f" * elements  # ones
    before = server_mb(lab, "VmHWM")
    downloads = [half_download(lab, d, t) for d, t in zip(devices, tasks)]
    header = {"w": {"dtype": "F32", "shape": [elements], "data_offsets": [0, len(data)]}}
    sendings = []
    for k, (device, task) in enumerate(zip(devices, tasks)):
        text = json.dumps(dict(header, __metadata__={n: str(v) for n, v in device.metadata(task).items()})).encode()
        sendings.append(Sending(lab, device, task, len(text).to_bytes(8, "little") + text + data, k % 2 == 1))
    step = 200000
    while sendings[0].sent < len(sendings[0].body):
        for sending in sendings:
            sending.send(step)
    receipts = [sending.receipt() for sending in sendings]
    assert all(r["accepted"] and not r["duplicate"] for r in receipts), receipts
    for download in downloads:
        assert len(download.read()) > 0
    lab.wait_run(run)
    most, limit = server_mb(lab, "VmHWM"), before + 3 * MODEL_MB
    print("%.0f MB before, %.0f MB at most, with %d transfers of %.0f MB each way; it may take %.0f MB" %
          (before, most, NUM_DEVICES, MODEL_MB, limit))
    assert most < limit, (most, limit)


if "ASAN_OPTIONS" in os.environ or "TSAN_OPTIONS" in os.environ:
    harness.skip("sanitizers take memory of their own")
if not os.path.exists("/usr/share/datasets/fashion-mnist"):
    for name in ("test_pixels_once", "test_rounds_leave_nothing"):
        print("left out, as the package dataset-fashion-mnist is not installed: " + name)
        del globals()[name]
harness.main(globals())
