"""What the parts of `./dev bench load` share: a server of their own, files of requests, and a report that sets bar and measured
beside each other. Standard library only."""
import contextlib
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "scenario"))
import harness  # noqa: E402

SERVER_CORE, CLIENT_CORE = "0", "1"


class Report:
    """Lines of a Markdown table. A bar that is missed is said so; what was lost or stalled makes the program fail."""

    def __init__(self):
        self.broken = []
        print("| what | measured | to reach | |\n|---|---|---|---|", flush=True)

    def row(self, what, measured, bar="", is_met=None):
        verdict = "" if is_met is None else "met" if is_met else "MISS"
        print("| %s | %s | %s | %s |" % (what, measured, bar, verdict), flush=True)

    def expect(self, is_fine, what):
        if not is_fine:
            self.broken.append(what)
            print("LOST OR STALLED: " + what, file=sys.stderr, flush=True)


def pinned(core):
    """The command prefix that keeps a program on one core."""
    return ["taskset", "-c", core] if core else []


class LoadLab(harness.Lab):
    """A server under build/, perhaps on one core, and clients that are perhaps on another."""

    def __init__(self, server_core=None, client_core=None):
        super().__init__()
        os.rmdir(self.folder)
        self.folder = tempfile.mkdtemp(prefix="load-", dir=harness.BUILD)
        self.data_dir = self.path("data")
        self.server_core, self.client_core = server_core, client_core

    def start_server(self, *options):
        super().start_server("--log-level", "warning", *options)
        if self.server_core:
            subprocess.run(["taskset", "-a", "-p", "-c", self.server_core, str(self.server.process.pid)],
                           check=True, capture_output=True)
        return self.server

    def ca_options(self):
        return ["--ca", self.path("tls/ca.pem")] if self.tls else []

    def memory_mb(self):
        """Resident, in units of 10^6 bytes."""
        with open("/proc/%d/status" % self.server.process.pid) as f:
            return int([line.split()[1] for line in f if line.startswith("VmRSS")][0]) * 1024 / 1e6

    def metric(self, name):
        """Of /metrics; what is not there yet is 0."""
        text = self.admin.ok("GET", "/metrics").body.decode()
        return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name + " "))

    def requests(self, name, requests):
        """A file of requests for bench_load: (method, path, token, body or None, zeros behind it, more header lines)."""
        path = self.path(name)
        with open(path, "wb") as f:
            for method, target, token, body, *rest in requests:
                fill = rest[0] if rest else 0
                fields = rest[1] if len(rest) > 1 else "Content-Type: application/json\r\n" if body is not None else ""
                length = len(body or b"") + fill
                head = "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s%s%s\r\n" % (
                    method, target, "Authorization: Bearer %s\r\n" % token if token else "", fields,
                    "Content-Length: %d\r\n" % length if body is not None else "")
                f.write(b"%d %d %d\n" % (len(head), len(body or b""), fill) + head.encode() + (body or b""))
        return path

    def start_load(self, path, stderr=None, **options):
        """Starts bench_load; its options with _ for -. See finish_load."""
        argv = pinned(self.client_core) + [os.path.join(harness.BUILD, "bench", "bench_load"), "--port", str(self.port),
                                           *self.ca_options()]
        for key, value in options.items():
            argv += ["--" + key.replace("_", "-"), str(value)]
        return subprocess.Popen(argv + [path], stdout=subprocess.PIPE, stderr=stderr, text=True)

    def finish_load(self, process):
        out, _ = process.communicate()
        assert process.returncode == 0, "bench_load failed; the server's log:\n" + self.server.text()[-3000:]
        return json.loads(out)

    def load(self, path, **options):
        return self.finish_load(self.start_load(path, **options))

    def answers(self, path, **options):
        """Sends each request of the file once; (what bench_load says, bodies of the answers in the file's order)."""
        where, bodies = self.path("answers"), {}
        result = self.load(path, answers=where, **options)
        with open(where, "rb") as f:
            while line := f.readline():
                place, _, size = map(int, line.split())
                bodies[place] = f.read(size)
        return result, [bodies[i] for i in sorted(bodies)]


@contextlib.contextmanager
def lab(**options):
    made = LoadLab(**options)
    try:
        yield made
    except BaseException:
        print(made.logs(), file=sys.stderr)
        raise
    finally:
        made.close()


def all_status(result, status):
    return result["statuses"].get(str(status), 0) == result["answered"] == result["sent"]


def latencies(result):
    return "p50 %.2f ms, p99 %.2f ms, most %.1f ms" % (result["p50_ms"], result["p99_ms"], result["max_ms"])
