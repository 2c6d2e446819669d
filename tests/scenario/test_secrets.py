#!/usr/bin/env python3
"""Where secrets are, and where they are not: every token and code that a scenario makes is looked for in all that the programs
leave behind or show of themselves."""
import contextlib
import glob
import hashlib
import json
import os
import re
import stat
import subprocess
import threading

import harness
from device import Device, MEDIA, small_spec
from specs import SYNTHETIC, synthetic_run


class Watch:
    """Looks at what /proc shows to everybody of the processes that the test started, all the while."""

    def __init__(self):
        self.seen, self.is_over = set(), threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.is_over.wait(0.002):
            for folder in glob.glob("/proc/[0-9]*"):
                try:
                    with open(folder + "/stat") as f:
                        name = f.read().partition("(")[2].rpartition(")")[0]
                    if not name.startswith("fedlane"):
                        continue
                    with open(folder + "/cmdline", "rb") as f:
                        self.seen.add(f.read() + b" " + name.encode())
                except OSError:
                    pass  # it has ended meanwhile

    def stop(self):
        self.is_over.set()
        self.thread.join()
        return self.seen


class Shown:
    """A caller whose replies are kept but for those that are made to show a secret."""

    def __init__(self, url, token, texts):
        self.client, self.texts = harness.Client(url, token), texts

    def __call__(self, method, path, body=None, headers=None, shows_secret=False):
        reply = self.client.request(method, path, body, headers=headers)
        if not shows_secret:
            self.texts.append("%s %s %s" % (reply.status, reply.headers, reply.body.decode(errors="replace")))
        return reply


def make_tokens(lab, ask, secrets):
    """Tokens of every kind; returns one that is good, and those that are not."""
    ended = []
    for role in ("admin", "operator", "viewer", "enrollment"):
        for _ in range(2):  # the second time with another secret
            made = ask("POST", "/api/v1/tokens", {"name": role, "role": role}, {"Idempotency-Key": role}, True).json
            secrets["token " + made["token"][:9]] = made["token"]
    made = lab.admin.ok("POST", "/api/v1/tokens", {"name": "gone", "role": "admin"})
    ask("DELETE", "/api/v1/tokens/" + made["id"])
    secrets["revoked"] = made["token"]
    ended.append(made["token"])
    own = "a secret of the caller's own"
    ask("POST", "/api/v1/tokens", {"name": "own", "role": "viewer", "token_sha256": hashlib.sha256(own.encode()).hexdigest()})
    secrets["own"] = own
    return ended


def mistakes(lab, ask, texts, ended):
    """A secret where none belongs, and tokens that are no good."""
    token = lab.admin.token
    for method, path, body in (("GET", "/api/v1/runs?token=" + token, None), ("GET", "/api/v1/runs?cursor=" + token, None),
                               ("GET", "/api/v1/runs/" + token, None), ("DELETE", "/api/v1/tokens/" + token, None),
                               ("GET", "/" + token, None), ("POST", "/api/v1/tokens", token.encode()),
                               ("POST", "/api/v1/tokens", {"name": "x", "role": token}), ("POST", "/api/v1/login", {"code": token}),
                               ("POST", "/api/v1/experiments", {token: 1}), ("BREW", "/" + token, None)):
        ask(method, path, body)
    for bad in ended + [token[:-1], token + "0"]:
        Shown(lab.url, bad, texts)("GET", "/api/v1/runs")
    ask("GET", "/api/v1/runs", headers={"Authorization": "Basic " + token})
    ask("GET", "/api/v1/runs", headers={"X-Request-Id": "mine", "Cookie": "token=" + token})


def use_command_line(lab, secrets, texts):
    made = lab.cli("token", "create", "--role", "viewer", "--format", "json")
    secrets["of the command line"] = json.loads(made.stdout)["token"]
    token_file = lab.write("viewer.token", secrets["of the command line"] + "\n")
    os.chmod(token_file, 0o600)
    no_driver = harness.without_opencl()
    env = {"FEDLANE_TOKEN": "", **no_driver}
    for args in (("run", "list"), ("token", "list"), ("doctor",), ("run", "show", "0" * 32)):
        for option in (("--token-file", token_file), ()):
            done = lab.cli(*args, *option, check=False, env=env if option else no_driver)
            texts.append(done.stdout + done.stderr)
    code = subprocess.run([harness.program("fedlane-server"), "login-link", "--data-dir", lab.data_dir], capture_output=True,
                          text=True, check=True).stdout.strip().rpartition("/")[2]
    secrets["login code"] = code
    reply = harness.Client(lab.url).post("/api/v1/login", {"code": code})
    secrets["session"] = reply.json["token"]


def by_hand(lab, secrets, texts):
    """A device that is a script: its updates good and bad."""
    lab.submit(small_spec(1, num_rounds=1))
    device = Device(lab, 0)
    secrets["device"] = device.http.token
    ask = Shown(lab.url, device.http.token, texts)
    task = device.claim(10)
    path = "/api/v1/tasks/%s/update" % task["task_id"]
    ask("PUT", path, device.body(task, steps_done=99), MEDIA)
    ask("PUT", path, b"nonsense", MEDIA)
    ask("PUT", path, device.body(task), MEDIA)
    lab.admin.ok("DELETE", "/api/v1/devices/" + device.id)
    ask("POST", "/api/v1/devices/%s/tasks:claim" % device.id)


def needles(secret):
    """What would give it away: the text itself, and without the letters that all of ours begin with."""
    return {secret.encode(), secret.removeprefix("fl_").encode()}


def files_of(folder):
    """The bytes of each, by its path."""
    found = {}
    for base, _, names in os.walk(folder):
        for path in (os.path.join(base, name) for name in names):
            with contextlib.suppress(FileNotFoundError):  # one that a program has removed meanwhile
                if stat.S_ISREG(os.stat(path).st_mode):
                    with open(path, "rb") as f:
                        found[path] = f.read()
    return found


def test_no_secret_is_anywhere_but_in_its_own_file(lab):
    watch, secrets, texts = Watch(), {}, []
    try:
        lab.start_server("--log-level", "debug", "--auth-failures", "1000000")
        secrets.update({"admin": lab.admin.token, "enrollment": lab.token("enrollment.token")})
        ask = Shown(lab.url, lab.admin.token, texts)
        worker = lab.start_worker(SYNTHETIC, "0-29", options=("--log-level", "debug"))
        run = lab.submit(synthetic_run(num_rounds=2))
        mistakes(lab, ask, texts, make_tokens(lab, ask, secrets))
        by_hand(lab, secrets, texts)
        use_command_line(lab, secrets, texts)
        assert lab.wait_run(run)["outcome"] == "completed"
        with open(lab.path("worker.state/token")) as f:
            secrets["worker"] = f.read().strip()
        for path in ("/audit", "/tokens?limit=1000", "/events?since=0&limit=1000", "/workers", "/devices?limit=1000",
                     "/runs/%s/spec" % run):
            ask("GET", "/api/v1" + path)
        # As they are while the programs run: the log of the database is not yet in it.
        left = files_of(lab.folder)
        assert worker.stop() == 0 and lab.server.stop() == 0
    finally:
        seen = watch.stop()
    left.update(files_of(lab.folder))
    own_files = {lab.data_dir + "/admin.token", lab.data_dir + "/enrollment.token", lab.path("worker.state/token"),
                 lab.path("viewer.token")}
    assert len(secrets) >= 16, secrets.keys()
    # The places are those where secrets would be: their hashes are there, and their own files are found.
    databases = b"".join(text for path, text in left.items() if os.path.basename(path).startswith("fedlane.db"))
    for name in ("admin", "enrollment", "worker", "device", "own", "revoked", "session"):
        assert hashlib.sha256(secrets[name].encode()).hexdigest().encode() in databases, name
    assert any(b"debug" in text for path, text in left.items() if path.endswith("server.log"))
    assert {p for p, text in left.items() if secrets["admin"].encode() in text} == {lab.data_dir + "/admin.token"}
    assert any(b"fedlane-worker" in line for line in seen) and any(b"token-file" in line for line in seen), seen
    for path in own_files:
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600, path
    for name, secret in secrets.items():
        for needle in needles(secret):
            for path, text in left.items():
                assert path in own_files or needle not in text, "%s is in %s" % (name, path)
            for line in seen:
                assert needle not in line, "%s is in the title of a process: %r" % (name, line)
            for text in texts:
                assert needle.decode() not in text, "%s is in a reply: %s" % (name, text)


def test_no_option_takes_a_secret(lab):
    """What stands on a command line can be read by everybody on the machine."""
    found = set()
    for command in (["fedlane", "--help"], ["fedlane", "token", "create", "--help"], ["fedlane", "run", "submit", "--help"],
                    ["fedlane-worker", "--help"], ["fedlane-server", "--help"], ["fedlane-server", "login-link", "--help"],
                    ["fedlane-server", "init-tls", "--help"]):
        done = subprocess.run([harness.program(command[0]), *command[1:]], capture_output=True, text=True)
        assert done.returncode == 0, done
        found |= {o for o in re.findall(r"--[a-z-]+", done.stdout) if re.search(r"token|secret|password|code", o)}
    assert found <= {"--token-file", "--enroll-token-file"}, found
    # Nor does the address, where some programs take a name and a password.
    for program in (["fedlane", "run", "list"], ["fedlane-worker", "--enroll-token-file", lab.write("t", "x"), "--data", lab.write("d", SYNTHETIC),
                                                 "--state-dir", lab.path("s")]):
        done = subprocess.run([harness.program(program[0]), *program[1:], "--server", "http://me:fl_secret@127.0.0.1:1"],
                              capture_output=True, text=True, timeout=harness.TIMEOUT_S, env={**os.environ, "FEDLANE_TOKEN": "x"})
        assert done.returncode == 4 and "fl_secret" not in done.stdout + done.stderr, done


harness.main(globals())
