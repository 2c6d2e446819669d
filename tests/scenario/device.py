"""A device written by hand against the API: what anyone could do with curl."""
import json
import math
import struct

import harness

MEDIA = {"Content-Type": "application/vnd.safetensors"}


def safetensors(tensors, metadata=None, dtype="F32"):
    """tensors: list of (name, shape, values, or bytes as they are). The bytes of a file."""
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = {k: str(v) for k, v in metadata.items()}
    for name, shape, values in tensors:
        raw = values if isinstance(values, bytes) else struct.pack("<%df" % len(values), *values)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def small_spec(num_devices, **changes):
    """A run whose model has 6 parameters, so that updates are easy to write."""
    spec = {"name": "small", "seed": 1, "num_rounds": 2, "dataset": "hand",
            "model": {"input": [2], "layers": [{"type": "dense", "units": 2}], "init": "zeros"},
            "training": {"local_epochs": 1, "batch_size": 1, "learning_rate": 0.1},
            "strategy": {"name": "fedprox", "params": {"proximal_mu": 0}},
            "selection": {"devices_per_round": num_devices, "population": num_devices},
            "evaluation": {"on": "none"}, "reporting": {"deadline_s": 300}}
    from specs import merged
    return merged(spec, changes)


class Device:
    def __init__(self, lab, ordinal, num_examples=4, dataset="hand"):
        enroll = harness.Client(lab.url, lab.token("enrollment.token"), lab.tls)
        reply = enroll.ok("POST", "/api/v1/devices", {
            "name": "hand-%d" % ordinal, "ordinal": ordinal, "dataset": dataset, "num_examples": num_examples,
            "num_test_examples": 1, "input": [2], "classes": 2})
        self.id, self.ordinal, self.num_examples = reply["device_id"], ordinal, num_examples
        self.http = harness.Client(lab.url, reply["token"], lab.tls)

    def claim(self, wait=0):
        reply = self.http.post("/api/v1/devices/%s/tasks:claim?wait=%d" % (self.id, wait))
        assert reply.status in (200, 204), reply
        return reply.json if reply.status == 200 else None

    def heartbeat(self, tasks=()):
        return self.http.ok("POST", "/api/v1/devices/%s/heartbeat" % self.id, {"tasks": list(tasks)})

    def metadata(self, task, **changes):
        meta = {"attempt": task["attempt"], "num_examples": self.num_examples,
                "steps_done": task["budget"]["max_steps"],
                "learning_rate": task["config"]["learning_rate"], "proximal_mu": task["config"]["proximal_mu"],
                "batch_size": task["config"]["batch_size"], "seed": task["config"]["seed"]}
        meta.update(changes)
        return {k: v for k, v in meta.items() if v is not None}

    def body(self, task, value=1.0, names=("0.weight", "0.bias"), shapes=((2, 2), (2,)), **changes):
        tensors = [(n, list(s), [value] * math.prod(s)) for n, s in zip(names, shapes)]
        return safetensors(tensors, self.metadata(task, **changes))

    def put(self, task, body, query="", headers=MEDIA):
        return self.http.request("PUT", "/api/v1/tasks/%s/update%s" % (task["task_id"], query), body, headers=headers)

    def update(self, task, value=1.0, **changes):
        return self.put(task, self.body(task, value, **changes))


def weights(lab, run_id, version="latest"):
    """The flat parameters of a model of small_spec."""
    raw = lab.admin.get("/api/v1/runs/%s/models/%s/weights" % (run_id, version)).body
    length = struct.unpack("<Q", raw[:8])[0]
    return list(struct.unpack("<6f", raw[8 + length:]))


def big_model(lab, mib):
    """A pending run whose initial weights are of so many MiB: something that takes a while to copy."""
    n = mib * 1024 * 256
    run_id = lab.submit({**small_spec(1, autostart=False), "model": {"tensors": [{"name": "w", "shape": [n], "dtype": "F32"}]}})
    lab.admin.ok("PUT", "/api/v1/runs/%s/models/0/weights" % run_id, safetensors([("w", [n], bytes(4 * n))]), headers=MEDIA)
    return run_id
