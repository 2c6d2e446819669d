"""The store half of `./dev bench load`: many devices, durable updates, large bodies. Ratios are to a plain file that is written
and synced (fdatasync) as often, in turns with what is measured; of large bodies also to one that the same HTTP server writes."""
import json
import os
import random
import statistics
import subprocess
import time

from load_lab import CLIENT_CORE, SERVER_CORE, all_status, harness, lab, latencies

TENSORS = "application/vnd.safetensors"
MODEL_31_KB, MODEL_10_MB, MODEL_1_GB = 784, 250_000, 25_000_000  # features of a dense layer of 10 units
BATCH = 16 << 20


def bench_program(name, *args):
    return subprocess.run([os.path.join(harness.BUILD, "bench", name), *map(str, args)], check=True, capture_output=True,
                          text=True).stdout


class Fleet:
    """Devices with a run whose round is open, in the lab's data directory, before its server starts."""

    def __init__(self, load_lab, devices, tasks, features, rounds=0):
        self.lab, self.features = load_lab, features
        path = load_lab.path("fleet")
        self.facts = json.loads(bench_program("fill_fleet", load_lab.data_dir, path, devices, tasks, features, rounds)
                                .splitlines()[-1])
        with open(path, encoding="ascii") as f:
            self.tokens = dict(line.split() for line in f)
        self.run, self.round = self.facts["run"], rounds
        self.size = (features + 1) * 10 * 4  # of the weights

    def tasks(self):
        """[(task, device)] of the open round."""
        found, cursor = [], ""
        while cursor is not None:
            page = self.lab.admin.ok("GET", "/api/v1/runs/%s/rounds/%d/tasks?limit=1000%s" % (self.run, self.round, cursor))
            found += [(t["id"], t["device_id"]) for t in page["items"]]
            cursor = page["next_cursor"] and "&cursor=" + page["next_cursor"]
        return found

    def claims(self, tasks):
        return [("POST", "/api/v1/devices/%s/tasks:claim" % device, self.tokens[device], None) for _, device in tasks]

    def claim_all(self, tasks):
        connections = next(n for n in (64, 50, 5, 1) if len(tasks) % n == 0)
        result = self.lab.load(self.lab.requests("claims", self.claims(tasks)), connections=connections,
                               times=len(tasks) // connections, seconds=300)
        assert all_status(result, 200), result

    def updates(self, tasks):
        """What a worker of ours says and sends, with weights of zeros."""
        weight = self.features * 40
        meta = {"attempt": "1", "batch_size": "10", "compute_ms": "812.5", "content": "weights", "download_ms": "3.25",
                "encoding": "none", "eval_test_correct": "13", "eval_test_examples": "20", "eval_test_loss": "1.3456789012345678",
                "eval_train_examples": "100", "eval_train_loss": "1.2345678901234567", "learning_rate": "0.029999999999999999",
                "num_examples": "100", "proximal_mu": "1", "samples_seen": "100", "seed": "1", "steps_assigned": "10",
                "steps_done": "10", "stop_reason": "completed", "train_loss_end": "0.98765432109876543",
                "train_loss_start": "1.2345678901234567", "update_norm": "0.12345678901234567"}
        header = json.dumps({"__metadata__": meta,
                             "0.weight": {"dtype": "F32", "shape": [10, self.features], "data_offsets": [0, weight]},
                             "0.bias": {"dtype": "F32", "shape": [10], "data_offsets": [weight, self.size]}}).encode()
        body = len(header).to_bytes(8, "little") + header
        return [("PUT", "/api/v1/tasks/%s/update" % task, self.tokens[device], body, self.size,
                 "Content-Type: %s\r\n" % TENSORS) for task, device in tasks]

    def received(self):
        return self.lab.admin.ok("GET", "/api/v1/runs/%s/rounds/%d" % (self.run, self.round))["received"]

    def check_received(self, report, acknowledged):
        """Also behind a kill: what was acknowledged is counted, and nothing else. No request is under way any more."""
        self.lab.server.kill()
        self.lab.start_server()
        there = self.received()
        report.expect(there == acknowledged, "%d updates were acknowledged, %d are counted" % (acknowledged, there))


def plain_rate(path, chunk, chunks, per_sync):
    """Bytes a second of chunks appended to a file, synced after every so many."""
    data = bytes(chunk)
    fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    start = time.monotonic()
    for i in range(chunks):
        assert os.write(fd, data) == chunk
        if (i + 1) % per_sync == 0 or i + 1 == chunks:
            os.fdatasync(fd)
    rate = chunk * chunks / (time.monotonic() - start)
    os.close(fd)
    os.unlink(path)
    return rate


def median_of(values, form="%.0f"):
    return "median %s (%s)" % (form % statistics.median(values), ", ".join(form % v for v in values))


# -- devices -----------------------------------------------------------------------------------------------------

def list_pages(fleet):
    middle = sorted(fleet.tokens)[len(fleet.tokens) // 2]
    status, label, run = "&status=%s", "&label=%s%%3D%s", "&run=" + fleet.run
    rare, site, tier = label % ("rare", "yes"), label % ("site", "site-42"), label % ("tier", "phone")
    return [("all, the first", ""), ("all, in the middle", "&cursor=" + middle), ("by dataset", "&dataset=fleet"),
            ("by status online", status % "online"), ("by status offline", status % "offline"),
            ("by status suspect: none", status % "suspect"), ("by status revoked: none", status % "revoked"),
            ("by status suspect and dataset: none", status % "suspect" + "&dataset=fleet"),
            ("by a label of two thirds", tier), ("by a label of every hundredth", site),
            ("by a label of every ten-thousandth", rare), ("by a label of the last", "&label=last"),
            ("by a label of none", "&label=nobody"), ("by a label of two thirds and status online", tier + status % "online"),
            ("by a label of two thirds and status suspect: none", tier + status % "suspect"),
            ("by a label of every hundredth and status offline: none", site + status % "offline"),
            ("by a label of one half and a status of the other: none", label % ("half", "seen") + status % "offline"),
            ("by run", run), ("by run, in the middle", run + "&cursor=%d" % (len(fleet.tokens) // 2)),
            ("by run and status offline", run + status % "offline"), ("by run and status suspect: none", run + status % "suspect"),
            ("by run and a label of every hundredth", run + site), ("by run and a label of every ten-thousandth", run + rare),
            ("by run, a label of one half and a status of the other: none", run + label % ("half", "seen") + status % "offline")]


def devices(report, is_short):
    count, tasks, rounds = (2000, 200, 3) if is_short else (100_000, 1000, 50)
    with lab() as load_lab:
        facts = Fleet(load_lab, count, tasks, MODEL_31_KB, rounds).facts
        report.row("selecting %s of %s devices" % (format(tasks, ","), format(count, ",")), "%.2f ms" % facts["select_ms"],
                   "under 2 ms", facts["select_ms"] < 2)
        p99 = sorted(facts["rounds_ms"])[max(0, int(len(facts["rounds_ms"]) * 0.99) - 1)]
        report.row("closing a round of %s silent tasks and opening the next" % format(tasks, ","), "p50 %.0f ms, p99 %.0f ms" %
                   (statistics.median(facts["rounds_ms"]), p99), "p99 under 70 ms", p99 < 70)
    with lab() as load_lab:
        claims = 1000 if is_short else 20_000
        fleet = Fleet(load_lab, count, claims, MODEL_31_KB)
        load_lab.start_server("--heartbeat-s", "3600")
        path = load_lab.requests("claims", fleet.claims(fleet.tasks()))
        rate = 2000
        result = load_lab.load(path, connections=64, rate=rate, seconds=0.9 * claims / rate)
        report.expect(all_status(result, 200), "claims: %s" % result)
        report.row("claims of %s devices, 2,000 a second asked for" % format(count, ","),
                   "%.0f a second; %s" % (result["rate"], latencies(result)), "p99 under 5 ms",
                   result["p99_ms"] < 5 and result["rate"] > 0.98 * rate)
        for what, query in list_pages(fleet):
            path = load_lab.requests("page", [("GET", "/api/v1/devices?limit=100" + query, load_lab.admin.token, None)])
            result = load_lab.load(path, connections=1, times=100, seconds=60)
            report.expect(all_status(result, 200), "a page of devices, %s: %s" % (what, result))
            report.row("100 devices of %s, %s" % (format(count, ","), what), latencies(result), "under 5 ms",
                       result["p99_ms"] < 5)


# -- updates -----------------------------------------------------------------------------------------------------

def store_alone(report):
    folder = os.path.join(harness.BUILD, "bench-store")
    os.makedirs(folder)
    try:
        lines = [line for line in bench_program("bench_store", folder).splitlines() if " 64 weights" in line]
    finally:
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)
    for line in lines:
        ratio = float(line.split()[-1])
        report.row("the store alone, " + line.split(":")[0], line.split(": ")[1], "0.9", ratio >= 0.9)


def shuffled(tasks, block):
    """Each so many of them, one behind the other, in an order drawn at random."""
    draw = random.Random(1)
    return [t for i in range(0, len(tasks), block) for t in draw.sample(tasks[i:i + block], len(tasks[i:i + block]))]


def burst_and_pace(report, name, is_short, connections, bar, repeats, block=1, **cores):
    """As many updates as the server takes, several times, and then 80 % of what is to be reached. They come in the order in
    which a worker of many devices gets its tasks, or, in each block of so many, in no order."""
    each = (2 if is_short else 40 if connections > 100 else 160) * connections
    seconds = 0.5 if is_short else 4
    paced = int(0.8 * bar * seconds * 1.1) // 64 * 64
    with lab(**cores) as load_lab:
        fleet = Fleet(load_lab, repeats * each + paced, repeats * each + paced, MODEL_31_KB)
        load_lab.start_server("--heartbeat-s", "3600", *(["--threads", "1"] if cores else []))
        tasks = shuffled(fleet.tasks(), block)
        fleet.claim_all(tasks)
        rates, last = [], None
        for i in range(repeats):
            path = load_lab.requests("updates", fleet.updates(tasks[i * each:(i + 1) * each]))
            last = load_lab.load(path, connections=connections, times=each // connections, seconds=300)
            report.expect(all_status(last, 200), "updates, %s: %s" % (name, last))
            rates.append(last["answered"] / last["seconds"])
        plain = plain_rate(load_lab.path("plain"), fleet.size, each, connections) / fleet.size
        report.row("durable updates of 31 KB, %s" % name, "%s a second; %s; the file alone takes %s a second" %
                   (median_of(rates), latencies(last), format(round(plain), ",")), "%s a second" % format(bar, ","),
                   statistics.median(rates) >= bar)
        rate = 0.8 * bar
        path = load_lab.requests("updates", fleet.updates(tasks[repeats * each:]))
        result = load_lab.load(path, connections=connections, rate=rate, seconds=seconds)
        report.expect(all_status(result, 200), "paced updates: %s" % result)
        report.row("the same, %s a second asked for" % format(round(rate), ","),
                   "%.0f a second; %s" % (result["rate"], latencies(result)), "p99 under 50 ms",
                   result["p99_ms"] < 50 and result["rate"] > 0.98 * rate)
        fleet.check_received(report, repeats * each + result["answered"])


def updates(report, is_short):
    repeats = 1 if is_short else 3
    if not is_short:
        store_alone(report)
    for order, block in (("", 1), (", each 1,000 in no order", 1000), (", all in no order", 1 << 30)):
        burst_and_pace(report, "64 in flight, the server on one core" + order, is_short, 64, 4500, repeats, block,
                       server_core=SERVER_CORE, client_core=CLIENT_CORE)
    burst_and_pace(report, "256 in flight, both cores shared with the client", is_short, 256, 6000, repeats)


# -- bodies ------------------------------------------------------------------------------------------------------

def peak_mb(load_lab):
    with open("/proc/%d/status" % load_lab.server.process.pid) as f:
        return int([line.split()[1] for line in f if line.startswith("VmHWM")][0]) * 1024 / 1e6


def plain_server_rate(load_lab, path, at_once, total):
    """Bytes a second of the same requests when the server appends the bodies to a plain file."""
    name = load_lab.path("plain")
    process = subprocess.Popen([os.path.join(harness.BUILD, "bench", "bench_plain"), name], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    ours, load_lab.port = load_lab.port, int(process.stdout.readline())
    try:
        result = load_lab.load(path, connections=at_once, times=1, seconds=300)
    finally:
        load_lab.port = ours
        process.communicate()
    assert all_status(result, 200) and os.path.getsize(name) >= total, result
    os.unlink(name)
    return total / result["seconds"]


def large_updates(report, at_once, features, repeats, bar, name):
    with lab() as load_lab:
        # One more, so that the round stays open.
        fleet = Fleet(load_lab, at_once * repeats + 1, at_once * repeats + 1, features)
        load_lab.start_server("--heartbeat-s", "3600")
        tasks = fleet.tasks()
        fleet.claim_all(tasks)
        before = peak_mb(load_lab)
        ratios, to_file, rates = [], [], []
        total = fleet.size * at_once
        for i in range(repeats):
            path = load_lab.requests("updates", fleet.updates(tasks[i * at_once:(i + 1) * at_once]))
            alone = plain_rate(load_lab.path("plain"), min(BATCH, total), max(1, total // BATCH), 1)
            served = plain_server_rate(load_lab, path, at_once, total)
            result = load_lab.load(path, connections=at_once, times=1, seconds=300)
            report.expect(all_status(result, 200), "%s: %s" % (name, result))
            rates.append(total / result["seconds"])
            ratios.append(rates[-1] / served)
            to_file.append(rates[-1] / alone)
        report.row(name, "%.0f MB/s; to the plain file through the same server %s" %
                   (statistics.median(rates) / 1e6, median_of(ratios, "%.2f")), "%.1f" % bar, statistics.median(ratios) >= bar)
        report.row("the same to the file alone, without HTTP and SHA-256", median_of(to_file, "%.2f"))
        peak, allowed = peak_mb(load_lab), before + 3 * fleet.size / 1e6
        report.row("the server's memory meanwhile", "%.0f MB (%.0f before)" % (peak, before), "at most %.0f MB" % allowed,
                   peak <= allowed)
        fleet.check_received(report, at_once * repeats)


def bodies(report, is_short):
    if is_short:
        large_updates(report, 5, MODEL_10_MB // 10, 1, 0.9, "5 updates of 1 MB at once")
        return
    large_updates(report, 50, MODEL_10_MB, 3, 0.9, "50 updates of 10 MB at once")
    large_updates(report, 1, MODEL_1_GB, 3, 0.7, "an update of 1 GB")


PARTS = {"devices": devices, "updates": updates, "bodies": bodies}
