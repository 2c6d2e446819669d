#!/usr/bin/env python3
"""Writes the inputs that fuzzing starts from, good ones and bad ones, to OUT/TARGET/NAME: seeds.py OUT"""
import gzip
import io
import json
import os
import struct
import sys
import zipfile

RUN = {"num_rounds": 3, "dataset": "hand",
       "model": {"input": [2], "layers": [{"type": "dense", "units": 2}], "init": "zeros"},
       "training": {"local_epochs": 1, "batch_size": 1, "learning_rate": 0.1},
       "selection": {"devices_per_round": 3, "population": 3}}
FULL = {"experiment": "fashion", "name": "fedprox-mu1", "seed": 6, "num_rounds": 100, "autostart": True, "dataset": "fashion",
        "model": {"input": [784], "layers": [{"type": "dense", "units": 10}], "loss": "softmax_cross_entropy", "init": "zeros"},
        "strategy": {"name": "fedprox", "params": {"proximal_mu": 1.0, "accept_partial": True, "weighting": "num_examples",
                                                   "max_weight_fraction": 1.0}},
        "training": {"local_epochs": 20, "batch_size": 10, "learning_rate": 0.03, "optimizer": "sgd"},
        "selection": {"devices_per_round": 10, "population": 100, "over_selection": 1.0, "require_labels": {"a": "b"}},
        "reporting": {"min_updates": 1, "deadline_s": 60, "grace_s": 5, "on_too_few": "extend"},
        "evaluation": {"every": 1, "on": "all_devices", "gamma": True, "dissimilarity": False, "grad_variance": False},
        "systems": {"straggler_fraction": 0.9},
        "retention": {"keep_models": "last:5", "keep_updates": "round"},
        "data": {"source": "fashion_mnist"}}
ID = "0190a0b0c0d07e0f8a0b0c0d0e0f0a0b"


def changed(base, **changes):
    doc = json.loads(json.dumps(base))
    for path, value in changes.items():
        at, keys = doc, path.split("__")
        for key in keys[:-1]:
            at = at.setdefault(key, {})
        if value is None:
            at.pop(keys[-1], None)
        else:
            at[keys[-1]] = value
    return doc


def text(value):
    return json.dumps(value, separators=(",", ":"))


# ---- requests ----

TENSORS = ('"0.weight":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},'
           '"0.bias":{"dtype":"F32","shape":[2],"data_offsets":[16,24]}')
SAFETENSORS = "Content-Type: application/vnd.safetensors\n"
DEVICE = '"dataset":"hand","num_examples":4,"num_test_examples":1,"input":[2],"classes":2'


def request(caller, method, target, body="", headers=None, raw=b""):
    if headers is None:
        headers = "Content-Type: application/json\n" if body else ""
    return f"{caller} {method} {target}\n{headers}\n{body}".encode() + raw


def update(meta, tensors=TENSORS, data=bytes(24), target="/api/v1/tasks/$t/update", caller="d", headers=SAFETENSORS):
    return request(caller, "PUT", target, f'@{{"__metadata__":{{{meta}}},{tensors}}}\n', headers, data)


WHOLE = '"attempt":"1","steps_done":"4","num_examples":"4"'
HTTP = {
    "health": [request("n", "GET", "/healthz"), request("n", "GET", "/readyz"), request("n", "HEAD", "/api/v1/version"),
               request("n", "OPTIONS", "/api/v1/runs"), request("n", "GET", "/"), request("n", "GET", "/assets/app.js"),
               request("n", "GET", "/api/v1/openapi.json"), request("v", "GET", "/metrics"), request("w", "GET", "/api/v1/strategies")],
    "tokens": [request("a", "POST", "/api/v1/tokens", '{"name":"x","role":"viewer"}'), request("a", "GET", "/api/v1/tokens?limit=2"),
               request("a", "GET", "/api/v1/tokens?role=admin"), request("v", "GET", "/api/v1/tokens/self"),
               request("a", "DELETE", "/api/v1/tokens/$n"), request("a", "GET", "/api/v1/audit?limit=3"),
               request("a", "POST", "/api/v1/tokens", '{"name":"e","role":"enrollment","max_uses":1,"expires_in_s":60}'),
               request("a", "DELETE", "/api/v1/tokens/$k")],
    "login": [request("n", "POST", "/api/v1/login", '{"code":"' + "0" * 64 + '"}')],
    "worker": [request("e", "POST", "/api/v1/workers", '{"name":"n","instance_id":"' + ID[::-1] + '","version":"1","capabilities":{"a":"b"},'
                       '"devices":[{"name":"d1","ordinal":20,' + DEVICE + ',"labels":{"x":"y"}}]}'),
               request("v", "GET", "/api/v1/workers?limit=1"), request("w", "GET", "/api/v1/workers/$w"),
               request("w", "POST", "/api/v1/workers/$w/heartbeat",
                       '{"resources":{"cpu":1.5},"tasks":[{"task_id":"$u","steps_done":2,"train_loss":"NaN"}]}'),
               request("w", "POST", "/api/v1/workers/$w/tasks:claim?wait=0", '{"max":4,"holding":["$u"]}'),
               request("a", "DELETE", "/api/v1/workers/$w")],
    "device": [request("e", "POST", "/api/v1/devices", '{"name":"n",' + DEVICE + '}'),
               request("v", "GET", "/api/v1/devices?status=online&label=a&run=$r&dataset=hand&worker=$w&limit=2"),
               request("d", "GET", "/api/v1/devices/$d"), request("v", "GET", "/api/v1/devices/$d/tasks?type=train&run=$r"),
               request("d", "PATCH", "/api/v1/devices/$d", '{"name":"new","labels":{"room":"a"},"num_examples":5}'),
               request("d", "POST", "/api/v1/devices/$d/heartbeat", '{"tasks":[{"task_id":"$t","steps_done":1}]}'),
               request("d", "POST", "/api/v1/devices/$d/tasks:claim?wait=1"), request("a", "DELETE", "/api/v1/devices/$d")],
    "task": [request("d", "GET", "/api/v1/tasks/$t"), request("d", "POST", "/api/v1/tasks/$t/progress", '{"steps_done":3,"train_loss":0.5}'),
             update(WHOLE), update(WHOLE), request("w", "POST", "/api/v1/tasks/$u/fail", '{"code":"incomplete","detail":"x","steps_done":2}'),
             request("w", "POST", "/api/v1/workers/$w/tasks:claim", '{"max":4}'), request("w", "POST", "/api/v1/tasks/$t/release"),
             request("w", "POST", "/api/v1/workers/$w/tasks:claim", '{"max":4}'), update(WHOLE, caller="w"),
             request("v", "GET", "/api/v1/runs/$r/rounds")],
    "update-json": [request("d", "PUT", "/api/v1/tasks/$t/update?attempt=1", '{"steps_done":0,"eval_test_loss":0.5,"metrics":'
                            '[{"name":"f1","value":0.5,"weight":3}]}')],
    "update-full": [update('"attempt":"1","content":"weights","encoding":"none","num_examples":"4","steps_assigned":"4","steps_done":"2",'
                           '"samples_seen":"2","proximal_mu":"1","learning_rate":"0.1","batch_size":"1","train_loss_start":"1",'
                           '"train_loss_end":"0.5","grad_norm_start":"NaN","gamma":"0.1","update_norm":"1e-3","compute_ms":"5",'
                           '"download_ms":"1","stop_reason":"budget","eval_train_loss":"1","eval_train_examples":"4",'
                           '"eval_test_loss":"2","eval_test_examples":"1","eval_test_correct":"1",'
                           '"metrics":"[{\\"name\\":\\"auc\\",\\"value\\":1,\\"weight\\":1}]"')],
    "update-delta": [update('"attempt":"1","content":"delta","steps_done":"4"')],
    "update-bf16": [update(WHOLE, '"0.weight":{"dtype":"BF16","shape":[2,2],"data_offsets":[0,8]},'
                           '"0.bias":{"dtype":"F16","shape":[2],"data_offsets":[8,12]}', bytes(12))],
    "update-nan": [update(WHOLE, data=b"\0\0\xc0\x7f" + bytes(20))],
    "update-short": [update(WHOLE, data=bytes(20))],
    "update-cut": [update(WHOLE, headers=SAFETENSORS + "Content-Length: 5000\n")],
    "update-chunked": [update(WHOLE, headers=SAFETENSORS + "Transfer-Encoding: chunked\n")],
    "update-both": [update(WHOLE, headers=SAFETENSORS + "Transfer-Encoding: chunked\nContent-Length: 3\n")],
    "update-digest": [update(WHOLE, headers=SAFETENSORS + "Content-Digest: sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:\n")],
    "update-other": [update(WHOLE, target="/api/v1/tasks/$u/update"), update('"attempt":"9","steps_done":"4"'),
                     update('"attempt":"1","steps_done":"9223372036854775807"'), update('"attempt":"1","learning_rate":"7"'),
                     update('"attempt":"1","steps_done":"4","num_examples":"0"'), update('"steps_done":"5"')],
    "upload": [request("d", "POST", "/api/v1/tasks/$t/uploads?attempt=1&steps_done=4", headers="Upload-Length: 270\n"),
               request("d", "GET", "/api/v1/tasks/$t/uploads"), request("d", "HEAD", "/api/v1/tasks/$t/uploads/$p"),
               request("d", "PATCH", "/api/v1/tasks/$t/uploads/$p", "x" * 100, "Content-Type: application/octet-stream\nUpload-Offset: 0\n"),
               request("d", "PATCH", "/api/v1/tasks/$t/uploads/$p", "x" * 9, "Content-Type: application/partial-upload\nUpload-Offset: 7\n"),
               request("d", "PATCH", "/api/v1/tasks/$t/uploads/$p", "x" * 900, "Content-Type: application/offset+octet-stream\nUpload-Offset: 100\n"),
               request("d", "PATCH", "/api/v1/tasks/$t/uploads/$p", "x" * 170, "Content-Type: application/octet-stream\nUpload-Offset: 100\n"),
               request("d", "POST", "/api/v1/tasks/$t/uploads", headers="Upload-Length: 9\nRepr-Digest: sha-256=::\n"),
               request("d", "DELETE", "/api/v1/tasks/$t/uploads/$p")],
    "blanks": [request("o", "POST", "/api/v1/experiments", '{"name":"x"}', "Content-Type: application/json \t\nIdempotency-Key: k1 \nContent-Encoding: identity\t\n"),
               request("v", "GET", "/api/v1/runs", headers="If-None-Match: \t \nAccept: \nX-Request-Id: a \n"),
               request("d", "PUT", "/api/v1/tasks/$t/update", "xyz", SAFETENSORS + "Transfer-Encoding: chunked \n")],
    "experiments": [request("o", "POST", "/api/v1/experiments", '{"name":"x","description":"y"}', "Content-Type: application/json\nIdempotency-Key: k1\n"),
                    request("o", "POST", "/api/v1/experiments", '{"name":"x","description":"y"}', "Content-Type: application/json\nIdempotency-Key: k1\n"),
                    request("o", "POST", "/api/v1/experiments", '{"name":"z"}', "Content-Type: application/json\nIdempotency-Key: k1\n"),
                    request("v", "GET", "/api/v1/experiments"), request("v", "GET", "/api/v1/experiments/1"),
                    request("o", "PATCH", "/api/v1/experiments/1", '{"name":"w"}')],
    "runs": [request("o", "POST", "/api/v1/runs", text(RUN)), request("v", "GET", "/api/v1/runs?status=running&sparkline=5&experiment=0"),
             request("v", "GET", "/api/v1/runs/$n"), request("v", "GET", "/api/v1/runs/$r/spec"), request("o", "POST", "/api/v1/runs/$r/pause"),
             request("o", "POST", "/api/v1/runs/$r/resume"), request("o", "POST", "/api/v1/runs/$n/stop"),
             request("o", "PATCH", "/api/v1/runs/$r/config", '{"training":{"learning_rate":0.2},"strategy":{"params":{"proximal_mu":1}}}'),
             request("o", "POST", "/api/v1/runs/$r/stop", "{}")],
    "run-full": [request("o", "POST", "/api/v1/runs", text(FULL)), request("o", "POST", "/api/v1/runs", text(changed(RUN, autostart=False))),
                 request("o", "PUT", "/api/v1/runs/$n/models/0/weights", f"@{{{TENSORS}}}\n", SAFETENSORS, bytes(24)),
                 request("o", "POST", "/api/v1/runs/$n/start"), request("v", "GET", "/api/v1/runs/$n/models/0/weights")],
    "deadline": [request("o", "POST", "/api/v1/runs", text(changed(RUN, reporting={"deadline_s": 1, "grace_s": 1, "on_too_few": "skip"}))),
                 b"t TICK 2000\n\n", b"t TICK 100000000\n\n", request("v", "GET", "/api/v1/runs/$r/rounds")],
    "rounds": [request("v", "GET", "/api/v1/runs/$r/rounds/0"), request("v", "GET", "/api/v1/runs/$r/rounds/0/tasks?status=completed&type=train&limit=1"),
               request("v", "GET", "/api/v1/runs/$r/work?since_round=0&limit=2")],
    "metrics": [request("v", "GET", "/api/v1/runs/$r/metrics?name=train_loss&max_points=2&since_round=0"),
                request("v", "GET", "/api/v1/runs/$r/metrics?device=$d", headers="Accept: text/csv;q=0.5, application/json\n"),
                request("v", "GET", "/api/v1/runs/$r/metrics?total_steps=true&number=proximal_mu")],
    "events": [request("v", "GET", "/api/v1/runs/$r/events?since=0&limit=2"), request("v", "GET", "/api/v1/events", headers="Last-Event-ID: 3\nAccept: text/event-stream\n"),
               request("v", "GET", "/api/v1/runs/$r/events", headers="Accept: text/event-stream\n")],
    "models": [request("v", "GET", "/api/v1/runs/$r/models"), request("v", "GET", "/api/v1/runs/$r/models/latest"),
               request("w", "GET", "/api/v1/runs/$r/models/1/weights", headers="Range: bytes=5-9\nIf-Range: \"x\"\n"),
               request("d", "GET", "/api/v1/runs/$r/models/0/weights", headers="If-None-Match: *\n"),
               request("d", "GET", "/api/v1/runs/$r/models/1/weights", headers="Range: bytes=-4\n")],
    "wrong": [request("n", "GET", "/nowhere"), request("a", "GET", "/api/v1/runs/%00"), request("a", "GET", "/api/v1/runs/a%2Fb"),
              request("a", "GET", "/api/v1/runs?limit=0"), request("a", "GET", "/api/v1/runs?limt=1"), request("a", "PUT", "/api/v1/runs"),
              request("a", "POST", "/api/v1/runs", "{"), request("a", "POST", "/api/v1/runs", '{"a":1,"a":2}'),
              request("a", "POST", "/api/v1/runs", "[" * 40), request("r", "GET", "/api/v1/devices"), request("d", "GET", "/api/v1/tasks/$u"),
              request("a", "POST", "/api/v1/runs", "x", "Content-Type: text/plain\nContent-Encoding: gzip\n")],
}

# ---- the other targets ----


def safetensors(tensors=None, meta=None, data=bytes(57 - 9)):
    default = {"0.weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
               "0.bias": {"dtype": "F32", "shape": [2], "data_offsets": [24, 32]},
               "empty": {"dtype": "F32", "shape": [0, 4], "data_offsets": [32, 32]},
               "scale": {"dtype": "F32", "shape": [], "data_offsets": [32, 36]},
               "steps": {"dtype": "I64", "shape": [1], "data_offsets": [36, 44]},
               "flags": {"dtype": "BOOL", "shape": [4], "data_offsets": [44, 48]}}
    header = dict(tensors if tensors is not None else default)
    if meta is not None:
        header["__metadata__"] = meta
    return text(header).encode(), data


def safetensors_seeds():
    header, data = safetensors(meta={"attempt": "1", "a": "b"})
    yield "composed", b"\x05@" + header + b"\n" + data
    yield "whole", b"\0" + struct.pack("<Q", len(header)) + header + data
    yield "short", b"\x03@" + header + b"\n" + data[:-3]
    yield "long", b"\x03@" + header + b"\n" + data + b"x"
    yield "nan", b"\x02@" + header + b"\n" + b"\0\0\xc0\x7f" + data[4:]
    yield "huge", b"\0" + struct.pack("<Q", 1 << 62) + header
    half = {"0.weight": {"dtype": "F16", "shape": [2, 3], "data_offsets": [8, 20]},
            "0.bias": {"dtype": "BF16", "shape": [2], "data_offsets": [20, 24]},
            "empty": {"dtype": "F32", "shape": [0, 4], "data_offsets": [8, 8]},
            "scale": {"dtype": "F16", "shape": [], "data_offsets": [24, 26]},
            "steps": {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]},
            "flags": {"dtype": "BOOL", "shape": [4], "data_offsets": [26, 30]}}
    yield "half", b"\x07@" + text(half).encode() + b"\n" + bytes(30)
    yield "overlap", b"\x07@" + text(half).encode().replace(b"[24,26]", b"[23,25]") + b"\n" + bytes(30)
    yield "overflow", b"\x07@" + text(half).encode().replace(b"[2,3]", b"[4611686018427387904,8]") + b"\n" + bytes(30)
    yield "empty", b""


def npy(descr, shape, items, order=False, version=1):
    head = f"{{'descr': {descr!r}, 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    length = struct.pack("<H", len(head)) if version == 1 else struct.pack("<I", len(head))
    return b"\x93NUMPY" + bytes([version, 0]) + length + head + items


def npz(**arrays):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name, bytes_ in arrays.items():
            z.writestr(zipfile.ZipInfo(name + ".npy"), bytes_)
    return out.getvalue()


X4 = npy("<f4", "(4, 2)", struct.pack("<8f", *range(8)))
Y4 = npy("<i8", "(4,)", struct.pack("<4q", 0, 1, 1, 0))


def npy_seeds():
    yield "f4", b"\0" + X4
    yield "u1", b"\1" + npy("|u1", "(4, 2, 2)", bytes(range(16)), True)
    yield "f2", b"\0" + npy("<f2", "(4, 1)", struct.pack("<4e", 1, 2, 0.5, -1), version=2)
    yield "f8", b"\0" + npy("<f8", "(4, 1)", struct.pack("<4d", 1, 2, 1e300, -1), version=3)
    yield "i4", b"\1" + npy("<i4", "(4, 3)", struct.pack("<12i", *range(12)), True)
    yield "object", b"\0" + npy("|O", "(4,)", b"\x80\x03]q\0.")
    yield "big", b"\0" + npy(">f4", "(4,)", bytes(16))
    yield "record", b"\0" + b"\x93NUMPY\1\0\x46\0" + b"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,), }    \n"
    yield "promise", b"\0" + npy("<f4", "(4, 9223372036854775807)", bytes(16))
    yield "scalar", b"\0" + npy("<f4", "()", bytes(4))
    yield "npz", b"\0" + npz(x=X4, y=Y4)
    yield "npz4", b"\1" + npz(x=X4, y=Y4, test_x=X4, test_y=Y4)
    yield "npz-cut", b"\0" + npz(x=X4, y=Y4)[:-7]


def idx(*dims, data=None):
    n = 1
    for d in dims:
        n *= d
    return bytes([0, 0, 8, len(dims)]) + b"".join(struct.pack(">I", d) for d in dims) + (bytes(range(n % 256)) if data is None else data)


def idx_seeds():
    yield "images", b"\x01" + idx(4, 2, 2)
    yield "labels", b"\x03" + idx(4, data=b"\0\1\2\1")
    yield "deep", b"\x10" + idx(4, 1, 1, 2, 1)
    yield "gz", b"\x01" + gzip.compress(idx(4, 2, 2), mtime=0)
    yield "gz-cut", b"\x01" + gzip.compress(idx(4, 2, 2), mtime=0)[:-5]
    yield "promise", b"\x01" + idx(4000000000, 60000, 3, data=b"abc")
    yield "zero", b"\x01" + idx(4, 0, 2)
    yield "long", b"\x01" + idx(1, 2, data=b"abc")
    yield "floats", b"\x01" + b"\0\0\x0d\1\0\0\0\1abcd"


def csv_seeds():
    good = b"x,z,y,d\r\n1,2,a,u\n3,4e0,b,u\n\n-5,.6,a,v\n7,8,b,v\n9,1,a,v\n"
    for how in (0, 4, 8, 12, 16):
        yield f"good{how}", bytes([how]) + good
    yield "quoted", b'\0x,y\n"1","a, ""b"""\n2,"c\nd"\n3,c\n'
    yield "tabs", b"\3x|y\n1|0\n2|1\n3|1\n"
    yield "mark", b"\0\xef\xbb\xbfx,y\n1,0\n2,1\n"
    yield "gz", b"\0" + gzip.compress(good, mtime=0)
    yield "open", b'\0x,y\n"1,2\n'
    yield "stray", b'\0x,y\n1,a"b\n'
    yield "ragged", b"\0x,y\n1\n1,2,3\n"
    yield "bad", b"\0x,y\nNaN,0\n1e999,1\n,1\n"
    yield "cr", b"\0x,y\r1,0\r2,1\r3,0"


def leaf_seeds():
    good = {"users": ["ann", "bob"], "num_samples": [2, 3], "user_data": {
        "ann": {"x": [[0.5, 1.25], [1, 0]], "y": [0, 1]}, "bob": {"x": [[2, 0.5], [1.5, 1], [0, 0.25]], "y": [1, 1, 0]}}}
    yield "good", b"\0" + text(good).encode()
    yield "named", b"\2" + text(good).encode().replace(b'"y":[0,1]', b'"y":["a","b"]').replace(b'[1,1,0]', b'["b","a","a"]')
    yield "standard", b"\3" + text(good).encode()
    yield "wrong-count", b"\0" + text(good).encode().replace(b"[2,3]", b"[2,4]")
    yield "no-user", b"\0" + text(good).encode().replace(b'"bob":', b'"bo":')
    yield "order", b"\1" + text(dict(reversed(list(good.items())))).encode()
    yield "escapes", b'\0["\\u00e9\\ud83d\\ude00\\n\\"\\\\\\/\\b\\f\\r\\t", 1e5, -0.0, 12, true, false, null, {}, []]'
    yield "lone", b'\0["\\ud83d"]'
    yield "numbers", b"\0[01, 1., .5, -, 1e, 1e999]"
    yield "deep", b"\0" + b"[" * 70
    yield "tail", b"\0{} x"
    yield "twice", b'\0{"users":[],"users":[]}'
    plays = {"users": ["ann"], "num_samples": [2], "user_data": {"ann": {"x": ["to b", "o b\u00e9"], "y": ["e", ","]}}}
    for how in (0, 4, 5, 6):
        yield f"plays{how}", bytes([how]) + text(plays).encode()
    tweets = {"users": ["ann"], "num_samples": [3], "user_data": {
        "ann": {"x": [["1", "2", None, "4", "so good!"], "bad", ["", "Bad", 3, "", "x"]], "y": [4, 0, "1"]}}}
    for how in (0, 2, 3):
        yield f"tweets{how}", bytes([how]) + text(tweets).encode()


def text_seeds():
    for how in range(5):
        yield f"text{how}", bytes([how]) + "To be, or not to be: \u00e9\U0001f600 that is the question.\r\n".encode()
    tweets = b'who,label,text\nann,4,"So, good!"\nbob,0,it\'s BAD\nann,0,bad ...\nbob,1,caf\xc3\xa9\n\n---\n'
    for how, vectors in enumerate((b"good 1 2\nbad 3 4\n", b"2 2\ngood 1 2\nbad 3 4", b"it's\t1\r\n. . 5\nbad 2\r\n",
                                   b"good 1 2\nbad 1\n", b"bad nan 1\n")):
        yield f"tweets{how}", bytes([how]) + tweets + vectors
    yield "gz", b"\0" + gzip.compress(b"to be or not to be", mtime=0)
    yield "cut", b"\0ab\xc3"
    yield "surrogate", b"\0ab\xed\xa0\x80cd"
    yield "zero", b"\0ab\0cd"
    yield "mark", b"\1\xef\xbb\xbfab cd ab"


def json_seeds():
    yield "all", text({"whole": 1, "count": -3, "ratio": 0.5, "any_number": -1e300, "flag": None, "name": "ab", "text": "x\ny",
                       "colour": "green", "object": {}, "array": [1], "any": [{"a": None}]}).encode()
    for name, doc in {"missing": "{}", "typo": '{"whole":1,"colr":"red"}', "type": '{"whole":"1"}', "real": '{"whole":1.0}',
                      "bounds": '{"whole":1,"count":-4}', "big": '{"whole":9223372036854775807,"count":9007199254740993}',
                      "beyond": '{"whole":9223372036854775808}', "choice": '{"whole":1,"colour":"pink"}', "nul": '{"whole":1,"text":"a\\u0000b"}',
                      "control": '{"whole":1,"name":"a\\u0085b"}', "twice": '{"a":1,"a":2}', "array": '{"whole":1,"array":[1,2,3,4]}',
                      "mark": '\ufeff{"whole":1}', "deep": "[" * 33, "deepest": "[" * 32 + "]" * 32, "text": '"NaN"',
                      "numbers": "[1e400]", "small": "[5e-324, 1e-400, -0.0, 0.1, 123456789012345678]"}.items():
        yield name, doc.encode()
    yield "latin1", b'{"whole":1,"text":"\xe9"}'


def run_spec_seeds():
    yield "small", text(RUN).encode()
    yield "full", text(FULL).encode() + b"\n---\n" + text({"training": {"local_steps": 5}, "strategy": {"params": {"proximal_mu": 0}},
                                                            "reporting": {"deadline_s": 5}, "evaluation": {"every": 2}}).encode()
    yield "dynamic", text(changed(RUN, strategy__params={"proximal_mu": {"dynamic": {"start": 0, "step": 0.1, "patience": 5}}})).encode()
    yield "fedavg", text(changed(RUN, strategy={"name": "fedavg"}, training__local_epochs=None, training__local_steps=7)).encode()
    yield "tensors", text(changed(RUN, model={"tensors": [{"name": "w", "shape": [2, 3], "dtype": "F32"},
                                                            {"name": "n", "shape": [], "dtype": "I64"}]})).encode()
    yield "layers", text(changed(RUN, model={"input": [2, 3], "layers": [{"type": "dense", "units": 4}, {"type": "relu"}, {"type": "dense", "units": 2}],
                                               "init": "he_normal"})).encode()
    yield "systems", text(changed(RUN, systems={"steps_per_s": {"median": 10, "sigma": 0.5}, "up_bytes_per_s": {"median": 1e6},
                                                  "straggler_fraction": 0.5})).encode()
    for name, change in {"unknown": {"num_round": 1}, "rounds": {"num_rounds": 0}, "both": {"training__local_steps": 3},
                         "population": {"selection__population": 2}, "labels": {"selection__require_labels": {"a": 1}},
                         "keep": {"retention": {"keep_models": "last:0"}}, "all": {"retention": {"keep_models": "all", "keep_updates": "all"}},
                         "on": {"evaluation": {"on": "none"}}, "units": {"model__layers": [{"type": "dense", "units": 9223372036854775807}]},
                         "loss": {"model__loss": "mse"}, "data": {"data": {"source": "csv", "name": "hand"}}}.items():
        yield name, text(changed(RUN, **change)).encode()


def data_seeds():
    csv = b"\n--- a.csv\nx,z,y\n1,2,a\n3,4,b\n5,6,a\n7,8,b\n"
    b = csv.replace(b"a.csv", b"b.csv")
    yield "csv", text({"source": "csv", "path": "a.csv", "label": "y", "test_path": "b.csv", "classes": ["a", "b"]}).encode() + csv + b
    for name, partition in {"iid": {"devices": 2}, "shards": {"name": "label_shards", "devices": 2, "shards_per_device": 1},
                            "dirichlet": {"name": "dirichlet", "devices": 2, "alpha": 0.5, "min_examples": 1}}.items():
        yield name, text({"source": "csv", "path": "a.csv", "label": "y", "partition": partition, "seed": 3}).encode() + csv
    yield "given", text({"source": "csv", "path": "a.csv", "label": "y", "features": ["z"], "standardise": {"mean": [1], "std": 2}}).encode() + csv
    yield "directory", text({"source": "directory", "path": "dir", "label": "y", "classes": ["a", "b"]}).encode() + csv.replace(b"a.csv", b"dir/a.csv") + csv.replace(b"a.csv", b"dir/b.csv")
    yield "split", text({"source": "directory", "path": "split", "label": "y", "first_ordinal": 7}).encode() + csv.replace(b"a.csv", b"split/train/a.csv") + csv.replace(b"a.csv", b"split/test/a.csv")
    yield "npz-directory", text({"source": "directory", "path": "dir"}).encode() + b"\n--- dir/c.npz\n" + npz(x=X4, y=Y4)
    yield "npy", text({"source": "npy", "x": "x.npy", "y": "y.npy", "partition": {"devices": 2}, "name": "n"}).encode() + b"\n--- x.npy\n" + X4 + b"\n--- y.npy\n" + Y4
    yield "npz", text({"source": "npy", "path": "z.npz", "standardise": "device"}).encode() + b"\n--- z.npz\n" + npz(x=X4, y=Y4)
    yield "idx", text({"source": "idx", "train_images": "images", "train_labels": "labels", "partition": {"devices": 2}, "classes": 3, "standardise": "unit"}).encode() + b"\n--- images\n" + idx(4, 2, 2) + b"\n--- labels\n" + idx(4, data=b"\0\1\2\1")
    yield "leaf", text({"source": "leaf", "path": "leaf.json"}).encode() + b"\n--- leaf.json\n" + next(leaf_seeds())[1][1:]
    plays = b"\n--- dir/a.txt\nto be, or not to be\n--- dir/b.txt\nthat is the question"
    yield "text", text({"source": "text", "path": "dir", "window": 3, "stride": 2, "vocabulary": "data", "train_fraction": 0.5}).encode() + plays
    yield "alphabet", text({"source": "text", "path": "dir/a.txt", "window": 3, "vocabulary": ["a", "b"], "unknown": "b"}).encode() + plays
    yield "sentiment", text({"source": "sentiment", "path": "a.csv", "label": "y", "text": "z", "vectors": "v", "tokens": 2}).encode() + b.replace(b"b.csv", b"a.csv").replace(b"a\n", b"0\n").replace(b"b\n", b"1\n") + b"\n--- v\n2 1 2\n4 1 2\n"
    yield "synthetic", text({"source": "synthetic", "alpha": 1, "beta": 1, "devices": 3}).encode()
    yield "synthetic-iid", text({"source": "synthetic", "alpha": 0, "beta": 0, "iid": True, "devices": 3, "seed": 9}).encode()
    yield "nothing", b"{}"
    yield "unknown", b'{"source":"csvv","path":"a.csv"}'
    yield "missing", b'{"source":"csv","path":"nowhere.csv","label":"y"}'


PARTS = ["bytes=0-4", "bytes=-5", "bytes=5-", "bytes=9-3", "bytes=0-4,6-7", "bytes=18446744073709551615-", "items=1-2", '"abc"', 'W/"abc", "x"', "*",
         "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:", "md5=:AAAA:, sha-256=:" + "x" * 43 + "=:", "sha-256=::", "/api/v1/runs/a%2Fb/%C3%A9",
         "http://host/a//b", "a%00b", "%zz", "%ff", "/" * 70, "-9223372036854775808", "18446744073709551615", "1e308", "-0.5E-3", "0x10", "inf", "+.5", "1_0",
         "2026-01-02T03:04:05.678Z", "2024-02-29T23:59:59Z", "1969-12-31T00:00:00.001Z", "9999-12-31T23:59:59.999Z", "0-9,12", "5-3", "0-99999999999",
         "attempt=1&steps_done=4&train_loss_end=NaN&metrics=[{\"name\":\"a\",\"value\":1,\"weight\":2}]", "attempt=-2&steps=1", "metrics=[{}]",
         "3.0", "1e2", "1.5e1", "0.1", "1e-400", "123456789012345678901234567890", ID]


def worker_seeds():
    task = {"task_id": ID, "run_id": ID, "device_id": ID, "round": 1, "attempt": 1, "type": "train", "model_version": 1,
            "weights_url": "/api/v1/runs/x/models/1/weights", "weights_sha256": "0" * 64, "dataset": "hand", "model": RUN["model"],
            "config": {"local_epochs": 1, "batch_size": 1, "learning_rate": 0.1, "proximal_mu": 0, "optimizer": "sgd", "seed": 5, "ordinal": 2,
                       "accept_partial": True}, "budget": {"max_steps": 4, "max_seconds": None}, "want": ["evaluation", "gamma"], "time_left_ms": 1000}
    yield "task", b"\0" + text(task).encode()
    yield "evaluate", b"\0" + text(changed(task, type="evaluate", want=["gradient"])).encode()
    yield "steps", b"\0" + text(changed(task, config__local_epochs=None, config__local_steps=9)).encode()
    for name, change in {"url": {"weights_url": "//evil/x"}, "want": {"want": ["money"]}, "batch": {"config__batch_size": 0}, "rate": {"config__learning_rate": -1},
                         "seed": {"config__seed": -5}, "mu": {"config__proximal_mu": -1}, "steps": {"budget__max_steps": -1}, "id": {"run_id": "z" * 32}}.items():
        yield "bad-" + name, b"\0" + text(changed(task, **change)).encode()
    problem = {"type": "about:blank", "title": "t", "status": 409, "code": "stale_round", "detail": "too late", "request_id": "r", "field": "round"}
    head = b"Content-Type: application/problem+json\n\n"
    yield "problem", b"\1\5" + head + text(problem).encode()
    yield "server", b"\1\10" + head + text(changed(problem, code="storage_full")).encode()
    yield "new-code", b"\1\5" + head + text(changed(problem, code="new", detail=None)).encode()
    yield "page", b"\1\7Content-Type: text/html\nX: y\n\n<html>\x01\xff Bad gateway"
    yield "redirect", b"\1\0Location: http://elsewhere/\n\n"
    report = b"fedlane-report 1 %s update 3 1 2 application/vnd.safetensors 5 %s\nhello" % (ID.encode(), b"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824")
    yield "report", b"\2" + report
    yield "report-fail", b"\2" + report.replace(b"update", b"fail").replace(b"vnd.safetensors", b"json")
    yield "report-cut", b"\2" + report[:-1]
    yield "report-head", b"\2" + report[:40]


def lanes_seeds():
    titles = "arrival_s,steps,step_s,persistent_mb,ephemeral_mb"
    yield "plain", f"# jobs\n{titles}\n0,4,0.5,100,200\n1.5,30,1e-3,300,500\n1.5,2,1,10,10\n0.2,9,0.1,400,550\n".encode()
    yield "more", f"{titles},told_steps,priority,weight\r\n9,4,0.5,100,200,0,-3,5\r\n0,9,0,0,0,4,2,1\r\n".encode()
    for i, row in enumerate(["0,1,1,1", "0,1,1,1,1,1", "x,1,1,1,1", "0,1.5,1,1,1", "0,0,1,1,1", "-1,1,1,1,1", "0,1,nan,1,1", "0,1,1,2000,1", "0,100000001,1,1,1"]):
        yield f"bad-{i}", f"{titles}\n{row}\n".encode()
    head = '{"type":"lanes_trace","version":1,"capacity_bytes":[100,60]}\n'
    job = {"type": "job", "name": "a", "tenant": "b", "arrival_ns": 0, "start_ns": 0, "end_ns": 9, "outcome": "finished", "steps": 5, "told_steps": 5, "step_ns": 3,
           "persistent_bytes": 20, "ephemeral_bytes": 30, "priority": 0, "weight": 1}
    lines = [job, changed(job, arrival_ns=2, ephemeral_bytes=70, outcome="cancelled"), changed(job, steps=0, start_ns=-1), changed(job, name=None, told_steps=0, persistent_bytes=90)]
    yield "lines", (head + "".join(text(line) + "\n" for line in lines)).encode()
    yield "lines-bad", (head + text(changed(job, weight=0)) + "\n").encode()
    yield "lines-more", (head + text(changed(job, colour=1)) + "\n").encode()
    yield "lines-half", (head + text(job)[:60]).encode()
    yield "lines-version", head.replace('"version":1', '"version":2').encode()


def trace_seeds():
    head = b"device,steps_per_s,up_bytes_per_s,down_bytes_per_s,online_from_s,online_to_s\n"
    yield "good", head + b"0,10,1000,2000,0,5\n0,,,,6,9.5\n1,5,,,0,1\n"
    yield "speeds", b"steps_per_s,device\n10,3\n\"20\",1\n"
    yield "overlap", head + b"0,10,1000,2000,0,5\n0,,,,4,9\n"
    yield "touch", head + b"0,10,1000,2000,0,5\n0,,,,5,9\n"
    yield "bad", head + b"0,-1,1000,2000,5,5\n"
    yield "twice", b"device\n1\n1\n"
    yield "unknown", b"device,speed\n1,2\n"
    yield "large", b"device,online_from_s,online_to_s\n100000000,0,1e300\n"


def secret_seeds():
    yield "token", b"\0 fl_" + b"a" * 64 + b" \r\nsecond\n"
    yield "token-empty", b"\0\n\n"
    yield "token-long", b"\0" + b"a" * 700
    yield "login", b'\1{"role": "admin", "made_at": 5, "expires_at": 100000, "session_ms": 3600000}\n'
    yield "login-past", b'\1{"role": "viewer", "made_at": 5, "expires_at": 10, "session_ms": 3600000}\n'
    yield "login-role", b'\1{"role": "king", "made_at": 5, "expires_at": 100000, "session_ms": 3600000}\n'
    yield "login-cut", b'\1{"role": "admin"'
    # Of this file alone: a key that opens nothing.
    yield "pem", b"\2" + CERTIFICATE + b"===\n" + KEY
    yield "pem-mixed", b"\2" + KEY + b"===\n" + CERTIFICATE
    yield "pem-cut", b"\2" + CERTIFICATE[:100] + b"\n===\n" + KEY


CERTIFICATE = KEY = b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


def sse_seeds():
    yield "good", b"\1: hello\n\nid: 7\nevent: round\ndata: {\"a\":1}\ndata: b\n\nid: 8\ndata\n\n"
    yield "crlf", b"\4\xef\xbb\xbfdata: a\r\ndata: b\r\n\r\nid: 9\rdata:c\r\r"
    yield "long-id", b"\2id: " + b"9" * 70 + b"\ndata: x\n\n"
    yield "no-data", b"\2event: x\n\nretry: 5\nunknown: y\n: c\n\n"
    yield "half", b"\3data: a\n\ndata: b\n"
    yield "nul", b"\3data: a\0b\n\n\0id: 3\n\n"


BEATS = ['{"resources":{"cpus":8,"gpu":{"name":"a } b"}},"tasks":[{"steps_done":120,"task_id":"ID","train_loss":0.4375},{"task_id":"ID","steps_done":0}]}',
         '{}', ' { "tasks" : [ ] , "resources" : { } }\r\n', '{"tasks":[{"task_id":"ID","train_loss":-3e5}]}', '{"tasks":[{"task_id":"ID","train_loss":"NaN"}]}',
         '{"resources":{"a":"\\"}"}}', '{"resources":{]}}', '{"tasks":[{"task_id":"ID","steps_done":01}]}', '{"tasks":[],"tasks":[]}',
         '{"tasks":[{"task_id":"ID","steps_done":9223372036854775808}]}', '{"tasks":null}', '{"tasks":[{"task_id":"ID","train_loss":1e999}]}',
         '{"tasks":[' + ",".join(['{"task_id":"ID"}'] * 17) + "]}"]


def all_seeds():
    for name, requests in HTTP.items():
        yield "http", name, b"\n===\n".join(requests)
        for i, one in enumerate(requests):
            yield "http", f"{name}-{i}", one
    for i, part in enumerate(PARTS):
        yield "http_parts", f"{i:02d}", part.encode()
    for i, beat in enumerate(BEATS):
        yield "beat", f"{i:02d}", beat.replace("ID", ID).encode()
    for i, value in enumerate(["", "0", "1", "-1", "5", "99999999999999999999", ID, ID.upper(), "latest", "completed", "train_loss", "a%b", "é", "\0", "a\r\nb",
                               "0190a0b0", "2026-01-02T03:04:05Z", "online", "1.5", "key=value"]):
        yield "cursors", f"{i:02d}", bytes([i % 4]) + value.encode()
    for target, seeds in {"safetensors": safetensors_seeds, "npy": npy_seeds, "idx": idx_seeds, "csv": csv_seeds, "leaf": leaf_seeds, "text": text_seeds, "json_spec": json_seeds,
                          "run_spec": run_spec_seeds, "data_spec": data_seeds, "worker": worker_seeds, "trace": trace_seeds, "lanes": lanes_seeds, "secrets": secret_seeds,
                          "sse": sse_seeds}.items():
        for name, value in seeds():
            yield target, name, value


def main():
    for target, name, value in all_seeds():
        folder = os.path.join(sys.argv[1], target)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, name), "wb") as out:
            out.write(value)


main()
