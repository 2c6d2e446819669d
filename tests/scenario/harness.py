"""Real processes for scenario tests: a server, workers, the CLI, and a small HTTP client. Standard library only.

A test is a script: it defines test_* functions and ends with harness.main(globals()). Exit status 77 skips."""
import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import ssl
import struct
import subprocess
import sys
import tempfile
import termios
import time
import traceback
import urllib.error
import urllib.parse
import urllib.request

SRC = os.path.abspath(os.environ.get("top_srcdir", os.path.join(os.path.dirname(__file__), "..", "..")))
BUILD = os.path.abspath(os.environ.get("top_builddir", os.path.join(SRC, "build")))
BIN = os.path.join(BUILD, "bin")
TIMEOUT_S = float(os.environ.get("FEDLANE_TEST_TIMEOUT_S", "300"))
FULL = os.environ.get("FEDLANE_FULL") == "yes"

# A shell's background jobs, and what nohup starts, ignore some of these; the programs under test would inherit that.
for number, action in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL),
                       (signal.SIGHUP, signal.SIG_DFL), (signal.SIGQUIT, signal.SIG_DFL)):
    signal.signal(number, action)


def program(name):
    return os.path.join(BIN, name)


def on_terminal(*args, columns=80, lines=24, env=None):
    """Runs `fedlane` on a pseudo-terminal; (exit status, what it wrote)."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    plain = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen([program("fedlane"), *args], stdin=slave, stdout=slave, stderr=slave,
                               env={**plain, "TERM": "xterm", "LC_ALL": "C.UTF-8", **(env or {})})
    os.close(slave)
    text, deadline = b"", time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        if select.select([master], [], [], 1)[0]:
            try:
                piece = os.read(master, 65536)
            except OSError:
                break
            if not piece:
                break
            text += piece
    status = process.wait(TIMEOUT_S)
    os.close(master)
    return status, text.decode()


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


def wait_for(condition, what, timeout_s=None):
    """Waits until condition() is true and returns its value; the deadline only bounds a broken test."""
    deadline = time.monotonic() + (timeout_s or TIMEOUT_S)
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError("waited too long for " + what)
        time.sleep(0.01)


def unchanged(before, after):
    """Of two answers of Lab.everything()."""
    for path, value in before.items():
        assert value == after[path], "%s changed:\n%s\n%s" % (path, json.dumps(value), json.dumps(after[path]))


def all_of(cases, check):
    """Goes through all the cases before it fails, so that one run shows every one that is wrong."""
    wrong = []
    for case in cases:
        try:
            check(*case)
        except AssertionError as error:
            wrong.append("%s:\n    %s" % (repr(case)[:300], error))
    assert not wrong, "%d of %d:\n%s" % (len(wrong), len(cases), "\n".join(wrong))


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return "%d %r" % (self.status, self.body[:600])


class Client:
    """One caller with one token."""

    def __init__(self, url, token=None, tls=None):
        self.url, self.token, self.tls = url, token, tls

    def request(self, method, path, body=None, headers=None, timeout=None):
        headers = dict(headers or {})
        data = None
        if body is not None:
            if isinstance(body, (bytes, bytearray)):
                data = bytes(body)
            else:
                data = json.dumps(body).encode()
                headers.setdefault("Content-Type", "application/json")
        if self.token and "Authorization" not in headers:
            headers["Authorization"] = "Bearer " + self.token
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}),
                                             *([urllib.request.HTTPSHandler(context=self.tls)] if self.tls else []))
        try:
            with opener.open(request, timeout=timeout or TIMEOUT_S) as reply:
                return Reply(reply.status, reply.headers, reply.read())
        except urllib.error.HTTPError as error:
            return Reply(error.code, error.headers, error.read())

    def get(self, path, **kw):
        return self.request("GET", path, **kw)

    def post(self, path, body=None, **kw):
        return self.request("POST", path, body if body is not None else None, **kw)

    def ok(self, method, path, body=None, **kw):
        reply = self.request(method, path, body, **kw)
        assert 200 <= reply.status < 300, "%s %s: %r" % (method, path, reply)
        return reply.json if reply.body and "json" in reply.headers.get("Content-Type", "") else reply


class Process:
    def __init__(self, argv, log_path, env=None):
        self.argv, self.log_path = argv, log_path
        self.log = open(log_path, "ab")
        self.log_start = self.log.tell()
        self.process = subprocess.Popen(argv, stdout=self.log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                        env=dict(os.environ, **(env or {})))

    def text(self):
        with open(self.log_path, "rb") as f:
            return f.read().decode(errors="replace")

    def own_text(self):
        """Without what former processes wrote into the same log."""
        with open(self.log_path, "rb") as f:
            f.seek(self.log_start)
            return f.read().decode(errors="replace")

    def running(self):
        return self.process.poll() is None

    def cpu_s(self):
        """Seconds of a core that it has taken."""
        with open("/proc/%d/stat" % self.process.pid) as f:
            fields = f.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self):
        if self.running():
            self.process.kill()
        self.process.wait()
        self.log.close()

    def stop(self):
        """SIGTERM; returns the exit status."""
        if self.running():
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError("%s did not stop on SIGTERM:\n%s" % (self.argv[0], self.text()[-3000:]))
        self.log.close()
        return status

    def wait(self, timeout_s=None):
        status = self.process.wait(timeout_s or TIMEOUT_S)
        self.log.close()
        return status


def free_port():
    import socket
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Lab:
    """A folder with a server and workers in it; everything is killed and removed at the end."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="fedlane-test-")
        self.data_dir = os.path.join(self.folder, "data")
        self.processes = []
        self.server = None
        self.port = None
        self.tls = None  # how clients see the server's certificate
        self.tls_options = ()
        self.server_program = program("fedlane-server")

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, value):
        path = self.path(name)
        with open(path, "w") as f:
            f.write(value if isinstance(value, str) else json.dumps(value))
        return path

    def launch_server(self, *options, env=None):
        """Starts (again, on the same port and data), waits for nothing."""
        if self.port is None:
            self.port = free_port()
        self.url = "%s://127.0.0.1:%d" % ("https" if self.tls else "http", self.port)
        self.server = Process([self.server_program, "--data-dir", self.data_dir,
                               "--listen", "127.0.0.1:%d" % self.port, *self.tls_options, *options], self.path("server.log"), env)
        self.processes.append(self.server)
        return self.server

    def is_ready(self):
        try:
            return Client(self.url, tls=self.tls).get("/readyz", timeout=5).status == 200
        except OSError:
            return False

    def start_server(self, *options, env=None):
        """Starts (again) and waits until it is ready."""
        self.launch_server(*options, env=env)

        def ready():
            assert self.server.running(), "the server ended:\n" + self.server.text()[-3000:]
            return self.is_ready()
        wait_for(ready, "the server to be ready")
        self.admin = Client(self.url, self.token("admin.token"), self.tls)
        return self.server

    def init_tls(self, *options):
        """Makes certificates in the folder tls; the server that is started next shows them."""
        folder = self.path("tls")
        subprocess.run([program("fedlane-server"), "init-tls", "--out", folder, *options], check=True, capture_output=True)
        self.tls_options = ("--tls-cert", folder + "/server.pem", "--tls-key", folder + "/server.key")
        self.tls = ssl.create_default_context(cafile=folder + "/ca.pem")
        return folder

    def token(self, name):
        with open(os.path.join(self.data_dir, name)) as f:
            return f.read().strip()

    def enroll_file(self):
        return os.path.join(self.data_dir, "enrollment.token")

    def start_worker(self, data, devices, name="worker", threads=1, options=(), state=None):
        worker = Process([program("fedlane-worker"), "--server", self.url, "--enroll-token-file", self.enroll_file(),
                          "--data", self.write(name + ".data.json", data), "--devices", devices,
                          "--threads", str(threads), "--state-dir", state or self.path(name + ".state"), *options],
                         self.path(name + ".log"))
        self.processes.append(worker)
        return worker

    def cli(self, *args, check=True, env=None):
        done = subprocess.run([program("fedlane"), *args], capture_output=True, text=True, timeout=TIMEOUT_S * 3,
                              stdin=subprocess.DEVNULL,
                              env={**os.environ, "FEDLANE_SERVER": getattr(self, "url", ""),
                                   "FEDLANE_TOKEN": self.admin.token if hasattr(self, "admin") else "", **(env or {})})
        if check:
            assert done.returncode == 0, "fedlane %s: exit %d\n%s%s" % (args, done.returncode, done.stdout, done.stderr)
        return done

    def submit(self, spec):
        return self.admin.ok("POST", "/api/v1/runs", spec)["id"]

    def run(self, run_id):
        return self.admin.ok("GET", "/api/v1/runs/" + run_id)

    def wait_run(self, run_id, timeout_s=None):
        def finished():
            run = self.run(run_id)
            return run if run["status"] == "finished" else None
        try:
            return wait_for(finished, "run %s to finish" % run_id, timeout_s)
        except AssertionError:
            raise AssertionError("run did not finish: %s\n%s" % (json.dumps(self.run(run_id)), self.logs()))

    def rounds(self, run_id):
        rounds, cursor = [], ""
        while True:
            page = self.admin.ok("GET", "/api/v1/runs/%s/rounds?limit=1000%s" % (run_id, cursor))
            rounds += page["items"]
            if not page["next_cursor"]:
                return rounds
            cursor = "&cursor=" + urllib.parse.quote(page["next_cursor"])

    def hashes(self, run_id):
        return [r["aggregate_sha256"] for r in self.rounds(run_id) if r["type"] == "train"]

    def everything(self, *runs):
        """All that a request could have changed, by path; when a device was last heard of is no change."""
        paths = ["/runs", "/experiments", "/devices", "/workers", "/tokens", "/events?since=0", "/audit"]
        for run in runs:
            of_run = "/runs/" + run
            paths += [of_run, of_run + "/rounds", of_run + "/rounds/0/tasks", of_run + "/models", of_run + "/metrics"]
        found = {path: self.admin.ok("GET", "/api/v1" + path) for path in paths}
        for path in ("/devices", "/workers"):
            for item in found[path]["items"]:
                item.pop("last_seen_at")
        return found

    def logs(self):
        last = {p.log_path: p for p in self.processes}  # a program that was started again goes on in its log
        return "\n".join("--- %s\n%s" % (path, p.text()[-2500:]) for path, p in last.items())

    def close(self):
        for process in self.processes:
            with contextlib.suppress(Exception):
                process.kill()
        subprocess.run(["rm", "-rf", self.folder])


def simulate(spec, *options, threads=1):
    """Runs `fedlane simulate`; returns (rounds, final), each a dict."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as f:
        json.dump(spec, f)
    try:
        done = subprocess.run([program("fedlane"), "simulate", f.name, "--format", "jsonl", "--threads", str(threads),
                               *options], capture_output=True, text=True, timeout=TIMEOUT_S * 10)
    finally:
        os.unlink(f.name)
    assert done.returncode == 0, "simulate: exit %d\n%s" % (done.returncode, done.stderr[-3000:])
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [x for x in lines if x.get("type") != "final"], [x for x in lines if x.get("type") == "final"][0]


def without_opencl():
    """An environment in which no OpenCL device is found. Looking for one loads the system's library, over whose thread-local
    storage the leak checker falls now and then."""
    return {"OCL_ICD_VENDORS": "/nonexistent", "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


def main(names):
    """Runs every test_* function (or those named on the command line), each with a lab of its own."""
    chosen = sys.argv[1:] or [n for n in names if n.startswith("test_")]
    failed = 0
    for name in chosen:
        lab = Lab()
        try:
            names[name](lab)
            print("ok: " + name)
        except SystemExit:
            raise
        except BaseException:
            failed += 1
            print("FAILED: " + name)
            traceback.print_exc(file=sys.stdout)
            print(lab.logs())
        finally:
            lab.close()
        sys.stdout.flush()
    sys.exit(1 if failed else 0)
