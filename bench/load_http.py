"""The HTTP half of `./dev bench load`: parked long-polls, busy connections, small GETs, heartbeats."""
import json
import os
import time

from load_lab import CLIENT_CORE, SERVER_CORE, all_status, harness, lab, latencies

SPEC = {
    "name": "load", "seed": 1, "num_rounds": 1, "dataset": "load",
    "model": {"input": [60], "layers": [{"type": "dense", "units": 10}], "init": "zeros"},
    "training": {"local_steps": 10, "batch_size": 10, "learning_rate": 0.01},
    "evaluation": {"on": "none"}, "reporting": {"deadline_s": 3600},
}
EMPTY_CLAIMS = 'fedlane_http_requests_total{route="device_claim",status="204"}'


def register(load_lab, count, devices_each=0):
    """[(id, token)] of so many workers with devices_each devices each; 0: of devices of their own."""
    path, key = ("/api/v1/workers", "worker_id") if devices_each else ("/api/v1/devices", "device_id")
    token, requests = load_lab.token("enrollment.token"), []
    for i in range(count):
        devices = [{"name": "device-%d" % (i * devices_each + k), "dataset": "load", "num_examples": 100}
                   for k in range(devices_each)]
        body = {"name": "worker-%d" % i, "instance_id": "%032x" % i, "version": "1", "devices": devices} if devices else \
            {"name": "device-%d" % i, "dataset": "load", "num_examples": 100}
        requests.append(("POST", path, token, json.dumps(body).encode()))
    connections = min(count, 100)
    assert count % connections == 0
    result, bodies = load_lab.answers(load_lab.requests("register", requests), connections=connections,
                                      times=count // connections)
    assert all_status(result, 201), (result, bodies[:1])
    return [(made[key], made["token"]) for made in map(json.loads, bodies)]


def open_round(load_lab, count):
    """A run whose first round has this many tasks, not started yet; its id."""
    return load_lab.submit(dict(SPEC, selection={"devices_per_round": count}, autostart=False))


# -- parked ------------------------------------------------------------------------------------------------------

def parked_once(report, count, with_tls):
    name = "%s devices parked%s" % (format(count, ","), ", TLS" if with_tls else "")
    with lab() as load_lab:
        if with_tls:
            load_lab.init_tls()
        load_lab.start_server()
        devices = register(load_lab, count)
        run = open_round(load_lab, count)
        before = load_lab.memory_mb()
        polls = [("POST", "/api/v1/devices/%s/tasks:claim?wait=%s" % (device, wait), token, None)
                 for wait in ("0", "0.5", "60") for device, token in devices]
        client = load_lab.start_load(load_lab.requests("polls", polls), connections=count, sources=8, times=3, seconds=120)

        def waiting():
            assert client.poll() is None, "the client ended: " + client.stdout.read()
            return load_lab.metric("fedlane_waiters") == count and load_lab.metric(EMPTY_CLAIMS) == 2 * count
        harness.wait_for(waiting, "all to be parked")
        memory = load_lab.memory_mb()
        start = time.monotonic()
        load_lab.admin.ok("POST", "/api/v1/runs/%s/start" % run)
        result = load_lab.finish_load(client)
        woken = result["statuses"].get("200", 0)
        report.expect(woken == count and result["ended"] == 0 and result["reopened"] == 0,
                      "%s: %d of %d woken, %s" % (name, woken, count, result))
        bar, each = 330 if with_tls else 200, (memory - before) / count
        most = before + 10000 * each
        report.row(name + ": the server's memory", "%.0f MB (%.0f before; %.1f KB each%s)" %
                   (memory, before, each * 1e3, "" if count == 10000 else "; with 10,000: %.0f MB" % most),
                   "under %.0f MB with 10,000" % bar, most < bar)
        took = result["last"] - result["first"]
        report.row(name + ": from the first that has its task to the last", "%.2f s; the round was there %.2f s after it was asked for" %
                   (took, result["first"] - start), "0.8 s", took <= 0.8)


def parked(report, is_short):
    parked_once(report, 1000 if is_short else 10000, False)
    parked_once(report, 500 if is_short else 10000, True)


# -- busy --------------------------------------------------------------------------------------------------------

def busy(report, is_short):
    with lab() as load_lab:
        load_lab.start_server("--threads", "1")
        path = load_lab.requests("busy", [("GET", "/healthz", None, None)])
        for connections in (128, 256, 384):
            times = 50 if is_short else 1000
            result = load_lab.load(path, connections=connections, times=times, seconds=30)
            report.expect(all_status(result, 200) and result["answered"] == connections * times,
                          "%d busy connections: %s" % (connections, result))
            report.row("%d busy connections, one thread: longest of %s requests" %
                       (connections, format(result["answered"], ",")), "%.1f ms" % result["max_ms"], "no stall",
                       result["answered"] == connections * times and result["max_ms"] < 1000)


# -- gets --------------------------------------------------------------------------------------------------------

def claimed_task(load_lab, device, token):
    task = harness.Client(load_lab.url, token, load_lab.tls).ok("POST", "/api/v1/devices/%s/tasks:claim?wait=10" % device)
    return task["task_id"]


def gets_once(report, is_short, with_tls):
    with lab(server_core=SERVER_CORE, client_core=CLIENT_CORE) as load_lab:
        if with_tls:
            load_lab.init_tls()
        load_lab.start_server()
        device, token = register(load_lab, 10)[0]
        run = open_round(load_lab, 10)
        load_lab.admin.ok("POST", "/api/v1/runs/%s/start" % run)
        task = claimed_task(load_lab, device, token)
        for what, target, who, bar in (("/healthz", "/healthz", None, None),
                                       ("/api/v1/runs/{run}", "/api/v1/runs/" + run, load_lab.admin.token, 40000),
                                       ("/api/v1/tasks/{task}, by its device", "/api/v1/tasks/" + task, token, 40000)):
            path = load_lab.requests("get", [("GET", target, who, None)])
            load_lab.load(path, connections=64, seconds=0.5)
            before, start = load_lab.server.cpu_s(), time.monotonic()
            result = load_lab.load(path, connections=64, seconds=1 if is_short else 4)
            share = (load_lab.server.cpu_s() - before) / (time.monotonic() - start)
            report.expect(all_status(result, 200), "GET %s: %s" % (what, result))
            bar = None if with_tls else bar
            report.row("GET %s, 64 connections, server on one core%s" % (what, ", TLS" if with_tls else ""),
                       "%s a second (the core %.0f %% busy); %s" % (format(round(result["rate"]), ","), share * 100,
                                                                    latencies(result)),
                       "%s a second" % format(bar, ",") if bar else "", result["rate"] >= bar if bar else None)




def gets(report, is_short):
    gets_once(report, is_short, False)
    gets_once(report, is_short, True)


# -- heartbeats --------------------------------------------------------------------------------------------------

RESOURCES = {"threads": 4, "cpus": 8, "memory_bytes": 16777216000, "slowdown": 1.0}


def compact(value):
    """As our workers write it."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def beats(load_lab, workers, tasks_each):
    """A heartbeat of 1 KB for each worker: what a worker of ours says, and its load in as many words as it takes."""
    requests = []
    for worker, token in workers:
        tasks = harness.Client(load_lab.url, token).ok("POST", "/api/v1/workers/%s/tasks:claim?wait=10" % worker,
                                                       {"max": tasks_each})["items"]
        assert len(tasks) == tasks_each, tasks
        body = {"resources": dict(RESOURCES, processes=[]),
                "tasks": [{"task_id": t["task_id"], "steps_done": 7, "train_loss": 0.4375} for t in tasks]}
        while len(compact(body)) < 1024 - 80:
            n = len(body["resources"]["processes"])
            body["resources"]["processes"].append({"name": "trainer-%d" % n, "cpu": 0.75, "memory_bytes": 104857600 + n})
        text = compact(body)
        requests.append(("POST", "/api/v1/workers/%s/heartbeat" % worker, token, (text + " " * (1024 - len(text))).encode()))
    return load_lab.requests("beats", requests)


def heartbeats(report, is_short):
    seconds, workers, tasks_each = (1 if is_short else 5), 200, 2
    with lab() as load_lab:
        load_lab.start_server()
        made = register(load_lab, workers, tasks_each)
        run = open_round(load_lab, workers * tasks_each)
        load_lab.admin.ok("POST", "/api/v1/runs/%s/start" % run)
        path = beats(load_lab, made, tasks_each)
        load_lab.load(path, connections=workers, seconds=1)  # the resources are written down
        most = load_lab.load(path, connections=workers, seconds=seconds)
        report.expect(all_status(most, 200), "heartbeats: %s" % most)
        report.row("heartbeats of 1 KB with 2 tasks, as many as it takes, both cores shared with the client",
                   "%s a second; %s" % (format(round(most["rate"]), ","), latencies(most)), "30,000 a second",
                   most["rate"] >= 30000)
        rate = 1000 if is_short else 30000
        paced(report, load_lab, path, workers, rate, seconds, "")
        upload = start_upload(load_lab, 64 << 20 if is_short else 1 << 30)
        paced(report, load_lab, path, workers, rate, seconds, ", during an upload of 1 GB")
        finish_upload(report, load_lab, upload, is_short)


def paced(report, load_lab, path, workers, rate, seconds, when):
    result = load_lab.load(path, connections=workers, rate=rate, seconds=seconds)
    report.expect(all_status(result, 200), "heartbeats%s: %s" % (when, result))
    report.row("heartbeats, %s a second asked for%s" % (format(rate, ","), when),
               "%s a second; %s" % (format(round(result["rate"]), ","), latencies(result)),
               "%s a second, p99 under 20 ms" % format(rate, ","),
               result["rate"] >= 0.98 * rate and result["p99_ms"] < 20)


def start_upload(load_lab, size):
    """Initial weights of this many bytes for a run that is pending, over and over until the file of requests ends."""
    model = {"tensors": [{"name": "w", "shape": [size // 4], "dtype": "F32"}]}
    header = json.dumps({"w": {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]}}).encode()
    header += b" " * (-len(header) % 8)
    body = len(header).to_bytes(8, "little") + header
    run = load_lab.submit(dict(SPEC, name="large", model=model, selection={"devices_per_round": 1}, autostart=False))
    target = "/api/v1/runs/%s/models/0/weights" % run
    path = load_lab.requests("upload", [("PUT", target, load_lab.admin.token, body, size,
                                         "Content-Type: application/vnd.safetensors\r\n")])
    return load_lab.start_load(path, connections=1, times=1, seconds=120)


def finish_upload(report, load_lab, upload, is_short):
    result = load_lab.finish_load(upload)
    report.expect(all_status(result, 201) or all_status(result, 200), "the upload: %s" % result)
    report.row("the upload of %s meanwhile" % ("64 MB" if is_short else "1 GB"), "%.1f s" % result["seconds"])


PARTS = {"parked": parked, "busy": busy, "gets": gets, "heartbeats": heartbeats}
