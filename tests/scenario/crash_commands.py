"""Kills servers and commands at their writes, one after the other: an upload that comes in pieces, a backup, a restore, a
compacting. test_crash_commands.py does it at some, bench/crash at all."""
import collections
import contextlib
import glob
import hashlib
import os
import shutil
import sqlite3
import subprocess

import crash
import harness
from device import Device, small_spec, weights

FILE_POINTS = [(kind, when) for kind in ("write", "file") for when in ("before", "within", "after")] + [
    ("sync", "before"), ("sync", "after")]


SILENCE = ("device", "event")  # where a server writes down of whom it has not heard


def command(lab, *args, at=None):
    """A command that is to die at the point; (whether it did, what it ended with)."""
    env = {**os.environ, **({"FEDLANE_CRASH_AT": at} if at else {})}
    done = subprocess.run([crash.SERVER, *args], capture_output=True, text=True, timeout=harness.TIMEOUT_S, env=env)
    has_died = "crash point %s\n" % at in done.stderr
    assert has_died == (done.returncode == -9), done
    return has_died, done


def content(data_dir, without=()):
    """What both databases say, whatever their files look like; and they are sound."""
    said = hashlib.sha256()
    crash.check_store(data_dir)
    for name in ("fedlane.db", "blobs.db"):
        with contextlib.closing(sqlite3.connect(os.path.join(data_dir, name))) as db:
            db.text_factory = bytes
            for (table,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall():
                for row in db.execute('SELECT * FROM "%s"' % table.decode()) if table.decode() not in without else ():
                    said.update(repr(row).encode())
    return said.hexdigest()


class Sweep:
    """Each point of each command, from the first call to the last, `stride` apart."""

    def __init__(self, lab, stride):
        self.lab, self.stride, self.counts = lab, stride, collections.Counter()

    def points(self, name, points, attempt):
        """attempt(at) says whether the program died there; once it does not, there are no further calls."""
        for number, (kind, when) in enumerate(points):
            stride = self.stride if kind == "write" else (self.stride + 13) // 14  # of the others there are few
            n = 1 + number % stride
            while attempt("%s:%s:%d" % (kind, when, n)):
                self.counts[name] += 1
                n += stride

    def prepare(self):
        """A data directory with a finished run, and one whose weights were removed: there is something to compact."""
        lab = self.lab
        lab.start_server()
        device = Device(lab, 0)
        for _ in range(2):
            run_id = lab.submit(small_spec(1, num_rounds=3))
            for n in range(3):
                task = harness.wait_for(lambda: device.claim(10), "a task")
                assert device.update(task, float(n + 1)).json["accepted"]
            lab.wait_run(run_id)
        assert lab.server.stop() == 0
        with contextlib.closing(sqlite3.connect(os.path.join(lab.data_dir, "fedlane.db"), isolation_level=None)) as db:
            db.execute("CREATE TABLE filler AS SELECT zeroblob(300000)")
            db.execute("DROP TABLE filler")
        self.content = content(lab.data_dir)

    def backups(self):
        """Without a server. A half of one has no name."""
        lab, target = self.lab, self.lab.path("b")

        def attempt(at):
            has_died, done = command(lab, "backup", "--data-dir", lab.data_dir, "--to", target, at=at)
            assert has_died or done.returncode == 0, done
            assert content(lab.data_dir) == self.content, at
            if os.path.exists(target):
                self.is_whole(target, at, self.content)
            for left in glob.glob(target + "*"):
                shutil.rmtree(left)
            return has_died
        self.points("backup", FILE_POINTS, attempt)

    def is_whole(self, target, at, expected, without=()):
        to = self.lab.path("whole")
        _, done = command(self.lab, "restore", "--from", target, "--data-dir", to)
        assert done.returncode == 0 and content(to, without) == expected, (at, done)
        shutil.rmtree(to)

    def restores(self):
        lab, source, to = self.lab, self.lab.path("source"), self.lab.path("restored")
        command(lab, "backup", "--data-dir", lab.data_dir, "--to", source)

        def attempt(at):
            has_died, done = command(lab, "restore", "--from", source, "--data-dir", to, at=at)
            assert has_died or done.returncode == 0, done
            if not os.path.exists(to) or os.listdir(to) == [] or os.path.exists(to + "/restore.partial"):
                _, done = command(lab, "restore", "--from", source, "--data-dir", to)
                assert done.returncode == 0, (at, done)
            assert content(to) == self.content and sorted(os.listdir(to))[0] == "admin.token", at
            shutil.rmtree(to)
            return has_died
        self.points("restore", FILE_POINTS, attempt)

    def compactings(self):
        lab, work = self.lab, self.lab.path("work")

        def attempt(at):
            shutil.copytree(lab.data_dir, work, ignore=shutil.ignore_patterns("*.sock"))  # a socket is no file
            has_died, done = command(lab, "compact", "--data-dir", work, at=at)
            assert has_died or done.returncode == 0, done
            assert content(work) == self.content, at
            _, done = command(lab, "compact", "--data-dir", work)
            assert done.returncode == 0 and content(work) == self.content, (at, done)
            assert os.path.getsize(work + "/fedlane.db") < os.path.getsize(lab.data_dir + "/fedlane.db") - 200000, at
            shutil.rmtree(work)
            return has_died
        self.points("compact", [p for p in FILE_POINTS if p[0] != "file"], attempt)

    def servers(self):
        """The server that makes a backup dies: there is none, or a whole one, and the server goes on from what it had."""
        lab, target = self.lab, self.lab.path("online")

        def attempt(at):
            lab.launch_server(env={"FEDLANE_CRASH_AT": at})
            harness.wait_for(lambda: not lab.server.running() or lab.is_ready(), "the server to die or to be there")
            has_died, done = command(lab, "backup", "--data-dir", lab.data_dir, "--to", target)
            if done.returncode == 0:
                self.is_whole(target, at, expected, SILENCE)
                shutil.rmtree(target)
            else:  # it was the server that died; its process may last a moment longer
                harness.wait_for(lambda: not lab.server.running(), "the server to be dead")
            assert not glob.glob(target + "*"), (at, done)
            if not lab.server.running():
                has_died = True
            lab.server.kill()
            assert content(lab.data_dir, SILENCE) == expected, at
            return has_died
        lab.server_program = crash.SERVER
        expected = content(lab.data_dir, SILENCE)
        self.points("server that makes a backup", [p for p in FILE_POINTS if p[0] != "file"], attempt)


class Pieces:
    """A device whose update comes in pieces to servers that die at its writes: what was acknowledged is there."""
    PIECE = 60

    def __init__(self, lab, stride):
        self.lab, self.stride, self.counts, self.acknowledged = lab, stride, collections.Counter(), 0
        lab.server_program = crash.SERVER
        lab.start_server()
        self.device = Device(lab, 0)
        self.updates = 0

    def begin(self):
        self.run_id = self.lab.submit(small_spec(1, num_rounds=1))
        task = harness.wait_for(lambda: self.device.claim(10), "a task")
        self.updates += 1
        self.value = float(self.updates)
        self.body = self.device.body(task, self.value)
        made = self.device.http.post("/api/v1/tasks/%s/uploads" % task["task_id"], headers={"Upload-Length": str(len(self.body))})
        assert made.status == 201, made
        self.path, self.offset = made.headers["Location"], 0

    def patch(self):
        piece = self.body[self.offset:self.offset + self.PIECE]
        return self.device.http.request("PATCH", self.path, piece, headers={
            "Upload-Offset": str(self.offset), "Content-Type": "application/partial-upload"})

    def one_piece(self):
        """False: the server died first."""
        try:
            reply = self.patch()
        except crash.CUT:
            harness.wait_for(lambda: not self.lab.server.running(), "the server that cut the connection to be dead")
            return False
        assert reply.status in (200, 204), reply
        self.offset = int(reply.headers["Upload-Offset"])
        self.acknowledged += 1
        return True

    def resume(self):
        """Of a server that runs undisturbed: all that was acknowledged is there, and perhaps the piece that was not."""
        head = self.device.http.request("HEAD", self.path)
        if head.status != 200:  # its round is closed, with it
            assert self.lab.wait_run(self.run_id)["outcome"] == "completed", head
            self.offset = len(self.body)
            return
        offset = int(head.headers["Upload-Offset"])
        assert self.offset <= offset <= self.offset + self.PIECE, (self.offset, offset)
        self.offset = offset

    def finish(self):
        while self.offset < len(self.body):
            assert self.one_piece()
        self.patch()  # all of it was there when the server died; or it is there twice
        assert self.lab.wait_run(self.run_id)["outcome"] == "completed"
        assert weights(self.lab, self.run_id) == [self.value] * 6
        received = [r["received"] for r in self.lab.rounds(self.run_id) if r["type"] == "train"]
        assert received == [1], received

    def attempt(self, at):
        """One piece after the other until the server dies; it is the whole update's end, too, where that is near."""
        lab = self.lab
        lab.server.kill()
        lab.launch_server(env={"FEDLANE_CRASH_AT": at})
        harness.wait_for(lambda: not lab.server.running() or lab.is_ready(), "the server to die or to be there")
        sent = 0
        while sent < 3 and self.offset < len(self.body) and lab.server.running() and self.one_piece():
            sent += 1
        has_died = not lab.server.running()
        lab.server.kill()
        lab.start_server()
        self.resume()
        if self.offset == len(self.body):
            self.finish()
            self.begin()
        return has_died

    def go(self):
        self.begin()
        for number, (kind, when) in enumerate(crash.POINTS):
            stride = self.stride if kind == "write" else (self.stride + 3) // 4  # a piece is many writes
            n = 1 + number % stride
            while self.attempt("%s:%s:%d" % (kind, when, n)):
                self.counts[kind + " " + when] += 1
                n += stride
        self.finish()
        assert self.lab.server.stop() == 0
        crash.check_store(self.lab.data_dir)
