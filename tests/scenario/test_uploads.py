#!/usr/bin/env python3
"""Updates in pieces over links that break: a worker goes on where the server is, whoever of the two was killed, and a device
of anyone's own does so by hand."""
import hashlib
import http.client

import harness
from device import Device, small_spec
from specs import SYNTHETIC, synthetic_run

SPEC = synthetic_run(num_rounds=6)
TINY = ["--max-request", "60"]  # bytes: an update is some 60 pieces


def expected():
    return [r["aggregate_sha256"] for r in harness.simulate(SPEC)[0]]


def half_an_upload(lab, run_id):
    """The id of an upload that is under way, some of it there; None."""
    run = lab.run(run_id)
    if run["status"] == "finished":
        return "none any more"
    page = lab.admin.get("/api/v1/runs/%s/rounds/%d/tasks?status=claimed&limit=1000" % (run_id, run["round"]))
    for task in page.json["items"] if page.status == 200 else []:
        uploads = "/api/v1/tasks/%s/uploads" % task["id"]
        for upload in lab.admin.ok("GET", uploads)["items"]:
            seen = lab.admin.get(uploads + "/" + upload["upload_id"])
            if seen.status == 200 and 0 < seen.json["offset"] < seen.json["size_bytes"]:
                return upload["upload_id"]
    return None


def goes_on(worker):
    return worker.text().count("the update goes on at")


def test_server_killed_while_updates_come(lab):
    lab.start_server()
    worker = lab.start_worker(SYNTHETIC, "0-29", threads=2, options=TINY)
    run_id = lab.submit(SPEC)
    for _ in range(4):
        harness.wait_for(lambda: half_an_upload(lab, run_id), "half an upload")
        lab.server.kill()
        lab.start_server()
    assert lab.wait_run(run_id)["outcome"] == "completed"
    assert lab.hashes(run_id) == expected()
    assert goes_on(worker) > 0, worker.text()[-3000:]
    received = [r["received"] for r in lab.rounds(run_id) if r["type"] == "train"]
    assert received == [10] * 6, received


def test_worker_killed_while_it_sends(lab):
    lab.start_server()
    run_id, went_on = lab.submit(SPEC), 0
    for _ in range(3):
        worker = lab.start_worker(SYNTHETIC, "0-29", threads=2, options=TINY)
        harness.wait_for(lambda: half_an_upload(lab, run_id), "half an upload")
        worker.kill()
        went_on += goes_on(worker)
    worker = lab.start_worker(SYNTHETIC, "0-29", threads=2, options=TINY)
    assert lab.wait_run(run_id)["outcome"] == "completed"
    assert lab.hashes(run_id) == expected()
    assert went_on + goes_on(worker) > 0, worker.text()[-3000:]


def patch(lab, device, path, body, offset, sent):
    """Sends the first `sent` bytes of body[offset:] as a PATCH of all the rest; the open connection."""
    link = http.client.HTTPConnection("127.0.0.1", lab.port, timeout=60)
    link.putrequest("PATCH", path)
    for name, value in (("Authorization", "Bearer " + device.http.token), ("Upload-Offset", offset),
                        ("Content-Type", "application/partial-upload"), ("Content-Length", len(body) - offset)):
        link.putheader(name, str(value))
    link.endheaders()
    link.send(body[offset:offset + sent])
    return link


def test_a_device_by_hand(lab):
    """20 MB down by Range and up in three requests, of which one is cut and one ends with the server."""
    lab.start_server()
    shape = [5, 1000000]
    run_id = lab.submit(small_spec(1, num_rounds=1, model={"input": None, "layers": None, "init": None, "tensors": [
        {"name": "w", "shape": shape, "dtype": "F32"}]}))
    device = Device(lab, 0)
    task = device.claim(10)
    whole = device.http.get(task["weights_url"])
    half = device.http.get(task["weights_url"], headers={"Range": "bytes=7000000-", "If-Range": whole.headers["ETag"]})
    assert (half.status, half.body) == (206, whole.body[7000000:]), half.status
    other = device.http.get(task["weights_url"], headers={"Range": "bytes=7000000-", "If-Range": '"of another file"'})
    assert (other.status, other.body) == (200, whole.body), other.status
    body = device.body(task, 1.5, names=["w"], shapes=[shape])
    uploads = "/api/v1/tasks/%s/uploads" % task["task_id"]
    path = device.http.request("POST", uploads, headers={"Upload-Length": str(len(body))}).headers["Location"]
    offset = 0
    for kills in (False, True):
        link = patch(lab, device, path, body, offset, 7000000)
        if kills:
            lab.server.kill()
            lab.start_server()
        link.close()
        head = device.http.request("HEAD", path)
        assert head.status == 200 and head.headers["Upload-Complete"] == "?0", head
        assert offset <= int(head.headers["Upload-Offset"]) <= offset + 7000000, (offset, head.headers["Upload-Offset"])
        offset = int(head.headers["Upload-Offset"])
    link = patch(lab, device, path, body, offset, len(body) - offset)
    answer = link.getresponse()
    receipt = harness.Reply(answer.status, answer.headers, answer.read())
    link.close()
    assert receipt.status == 200 and receipt.json["accepted"], receipt
    again = device.put(task, body)
    assert again.json["duplicate"] and again.json["update_id"] == receipt.json["update_id"], again
    lab.wait_run(run_id)
    made = lab.admin.get("/api/v1/runs/%s/models/1/weights" % run_id).body
    assert hashlib.sha256(made[-20000000:]).digest() == hashlib.sha256(body[-20000000:]).digest()


harness.main(globals())
