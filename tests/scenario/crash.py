"""Kills servers and workers, at chosen points and at random moments, and looks for what is lost. test_crash.py does it
some times, bench/crash many."""
import collections
import contextlib
import hashlib
import http.client
import json
import os
import random
import sqlite3
import threading
import time

import harness
from device import Device, small_spec, weights
from specs import SYNTHETIC, synthetic_run

SERVER = os.path.join(harness.BUILD, "tests", "bin", "fedlane-server-crash")
# tests/crash/crash_points.c, and how far the number goes: a round makes about that many calls.
POINTS = {("write", "before"): 60, ("write", "within"): 60, ("write", "after"): 60, ("sync", "before"): 40, ("sync", "after"): 40,
          ("blobs", "before"): 15, ("blobs", "after"): 15, ("commit", "before"): 30, ("commit", "after"): 30,
          ("done", "before"): 30, ("done", "after"): 30, ("reply", "before"): 60, ("reply", "after"): 60}
WORKERS = {"one": "0-9", "two": "10-19", "three": "20-29"}
MOMENT_S = 0.2
CUT = (OSError, http.client.HTTPException)  # what a client sees of a server that dies

# at: a crash point, "moment", or None where the server lives; worker: which one is killed, or None.
Kill = collections.namedtuple("Kill", "at worker delay_s")


def plan(count, seed):
    """Of 30 kills: each crash point once, 7 of the server at a random moment, 5 of a worker, 5 of both, every other one of these
    at a crash point."""
    draw, kills = random.Random(seed), []
    while len(kills) < count:
        points = [(k, w) for k, w in POINTS]
        at = lambda kind, when: "%s:%s:%d" % (kind, when, draw.randint(1, POINTS[kind, when]))  # noqa: E731
        deck = [(at(*p), None) for p in points] + [("moment", None)] * 7 + [(None, draw.choice(sorted(WORKERS))) for _ in range(5)]
        deck += [(at(*draw.choice(points)) if i % 2 else "moment", draw.choice(sorted(WORKERS))) for i in range(5)]
        draw.shuffle(deck)
        kills += [Kill(server, worker, draw.uniform(0, MOMENT_S)) for server, worker in deck]
    return kills[:count]


def kind_of(kill):
    where = {None: [], "moment": ["server at a moment"]}.get(kill.at, ["server " + " ".join((kill.at or "").split(":")[1::-1])])
    return " and ".join(where + (["worker"] if kill.worker else []))


class Hands(threading.Thread):
    """Two devices of a second run that remember every receipt: what has one counts, and counts once."""
    ROUNDS, EXAMPLES = 5, (3, 5)

    def __init__(self, lab):
        super().__init__(daemon=True)
        self.lab, self.is_ending, self.error = lab, threading.Event(), None
        self.receipts, self.repeats, self.runs = 0, 0, 0
        self.devices = [Device(lab, i, num_examples=n) for i, n in enumerate(self.EXAMPLES)]
        for device in self.devices:
            device.http.timeout_s = 30

    def insist(self, call):
        """What a device does whose server may be away: asks again."""
        while True:
            try:
                return call()
            except CUT:
                time.sleep(0.01)

    def run(self):
        try:
            while not self.is_ending.is_set():
                self.one_run()
        except BaseException as error:
            self.error = error
            raise

    def one_run(self):
        self.runs += 1
        key = {"Idempotency-Key": "hand-%d" % self.runs}
        spec = small_spec(2, name="hand-%d" % self.runs, num_rounds=self.ROUNDS)
        run_id = self.insist(lambda: self.lab.admin.ok("POST", "/api/v1/runs", spec, headers=key))["id"]
        receipts = {}
        for n in range(self.ROUNDS):
            for device in self.devices:
                self.one_update(device, run_id, n, receipts)
        self.insist(lambda: self.lab.wait_run(run_id))
        self.insist(lambda: self.check(run_id, receipts))

    def one_update(self, device, run_id, n, receipts):
        def task_of_round():
            while True:
                task = device.claim(10)
                if task and (task["run_id"], task["round"]) == (run_id, n):
                    return task
        task = self.insist(task_of_round)
        value = float(100 * n + 10 * device.ordinal + self.runs % 7)
        body = device.body(task, value)

        def put():
            reply = device.put(task, body)
            assert reply.status == 200 and reply.json["accepted"], reply
            return reply.json
        first = self.insist(put)
        again = self.insist(put)
        assert again["duplicate"] and again["update_id"] == first["update_id"], (first, again)
        self.repeats += first["duplicate"]
        self.receipts += 1
        receipts[n, device.ordinal] = (task["task_id"], first["update_id"], value)

    def check(self, run_id, receipts):
        for closed in [r for r in self.lab.rounds(run_id) if r["type"] == "train"]:
            n = closed["round"]
            tasks = self.lab.admin.ok("GET", "/api/v1/runs/%s/rounds/%d/tasks?limit=1000" % (run_id, n))["items"]
            kept = {(t["round"], t["ordinal"]): (t["id"], t["update_id"]) for t in tasks}
            mine = {key: receipts[key][:2] for key in receipts if key[0] == n}
            assert kept == mine and len(tasks) == len(mine) == closed["received"], (mine, tasks, closed)
            mean = sum(e * receipts[n, i][2] for i, e in enumerate(self.EXAMPLES)) / sum(self.EXAMPLES)
            assert weights(self.lab, run_id, n + 1) == [mean] * 6, (n, mean)

    def end(self):
        self.is_ending.set()
        self.join(harness.TIMEOUT_S)
        assert not self.is_alive(), "the devices do not come to an end"
        if self.error:
            raise self.error


class Crash:
    """Runs one after the other, through as many kills as are asked for."""

    def __init__(self, lab, spec=None):
        self.lab, self.spec = lab, spec or synthetic_run(num_rounds=8)
        self.expected, self.counts = {}, collections.Counter()
        self.mismatches, self.runs, self.run_id, self.run_spec = [], 0, None, None
        lab.server_program = SERVER
        lab.start_server()
        self.workers = {name: self.start_worker(name) for name in WORKERS}
        harness.wait_for(lambda: len(lab.admin.ok("GET", "/api/v1/devices?limit=100")["items"]) == 30, "the workers' devices")
        self.device_ids = self.ids_of_devices()
        self.hands = Hands(lab)
        self.hands.start()

    def ids_of_devices(self):
        items = self.lab.admin.ok("GET", "/api/v1/devices?limit=100&dataset=synthetic")["items"]
        return sorted((d["ordinal"], d["id"]) for d in items)

    def start_worker(self, name):
        # Slow enough that kills hit work in progress; and one whose updates go in pieces, some ten each.
        options = {"one": ["--slowdown", "3"], "three": ["--max-request", "300"]}.get(name, [])
        return self.lab.start_worker(SYNTHETIC, WORKERS[name], name=name, options=options)

    def hashes_of(self, seed):
        if seed not in self.expected:
            rounds, _ = harness.simulate(dict(self.spec, seed=seed))
            self.expected[seed] = [r["aggregate_sha256"] for r in rounds]
        return self.expected[seed]

    def look(self):
        """Sees to it that there is a run, and that one that has ended is right."""
        if not self.run_spec:
            self.runs += 1
            self.run_spec = dict(self.spec, name="crash-%d" % self.runs, seed=self.runs % 3)
        if not self.run_id:  # asked again with the same key, it is the same run
            key = {"Idempotency-Key": self.run_spec["name"]}
            self.run_id = self.lab.admin.ok("POST", "/api/v1/runs", self.run_spec, headers=key)["id"]
        run = self.lab.run(self.run_id)
        if run["status"] != "finished":
            return False
        got, want = self.lab.hashes(self.run_id), self.hashes_of(self.run_spec["seed"])
        if run["outcome"] != "completed" or got != want:
            self.mismatches.append({"run": run, "got": got, "want": want})
        self.run_id = self.run_spec = None
        return True

    def kill_worker(self, name):
        self.workers[name].kill()
        self.workers[name] = self.start_worker(name)

    def one_kill(self, kill):
        """From a server that runs to one that runs, or is on its way."""
        start = time.monotonic()
        while self.lab.server.running():
            if (kill.at is None or kill.at == "moment") and time.monotonic() - start >= kill.delay_s:
                break
            assert time.monotonic() - start < harness.TIMEOUT_S, "the server never came to %s\n%s" % (kill.at, self.lab.logs())
            try:
                self.look()
            except CUT:
                pass
            time.sleep(0.005)
        if kill.at:
            self.lab.server.kill()
        if kill.worker:
            self.kill_worker(kill.worker)
        if kill.at and kill.at != "moment":
            assert "crash point %s\n" % kill.at in self.lab.server.own_text(), (kill, self.lab.server.own_text()[-3000:])
        self.counts[kind_of(kill)] += 1
        assert not self.hands.error, self.hands.error

    def go(self, kills):
        """A point is armed by the start before it; so the first kill is of the server that runs, whatever was planned for it."""
        self.lab.server.kill()
        for kill in kills:
            if not self.lab.server.running():
                is_point = kill.at and kill.at != "moment"
                self.lab.launch_server(env={"FEDLANE_CRASH_AT": kill.at} if is_point else None)
            elif kill.at and kill.at != "moment":
                self.lab.server.kill()
                self.lab.launch_server(env={"FEDLANE_CRASH_AT": kill.at})
            self.one_kill(kill)

    def end(self):
        """All goes on to its end, undisturbed; then nothing is missing and nothing is left over."""
        if not self.lab.server.running():
            self.lab.start_server()
        harness.wait_for(lambda: self.look_patiently(), "the last run to finish")
        self.hands.end()
        assert self.ids_of_devices() == self.device_ids
        assert self.lab.server.stop() == 0, self.lab.logs()
        for worker in self.workers.values():
            worker.kill()
        check_store(self.lab.data_dir)

    def look_patiently(self):
        try:
            return self.look()
        except CUT:
            return False


def check_store(data_dir):
    """Of a server that was stopped: both files are sound, and the blobs are those that rows name, whole. Updates name theirs until
    their round is closed. Gives the blobs' sizes by their number."""
    meta, blobs = (contextlib.closing(sqlite3.connect(os.path.join(data_dir, name))) for name in ("fedlane.db", "blobs.db"))
    with meta as meta, blobs as blobs:
        for db in (meta, blobs):
            assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)], data_dir
        named = {i for (i,) in meta.execute(
            "SELECT blob_id FROM model UNION SELECT blob_id FROM upload UNION "
            "SELECT blob_id FROM update_record u JOIN round r ON r.run_id = u.run_id AND r.n = u.round WHERE r.closed_at = 0")} - {0}
        sizes = dict(blobs.execute("SELECT id, size FROM object"))
        assert set(sizes) == named, ("not there: %s" % sorted(named - set(sizes)), "not named: %s" % sorted(set(sizes) - named))
        held = blobs.execute("SELECT coalesce(sum(length(data)), 0) FROM chunk").fetchone()[0]
        assert min(sizes.values()) >= 0 and sum(sizes.values()) == held, (sizes, held)
    return sizes


def digest_of(kills):
    """Tells two plans apart in a report."""
    return hashlib.sha256(json.dumps(kills).encode()).hexdigest()[:12]
