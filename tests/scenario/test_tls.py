#!/usr/bin/env python3
"""HTTPS: a run over it, certificates renewed under open connections, clients that must show one, and what is said when something
does not fit."""
import http.client
import os
import signal
import socket
import ssl
import subprocess
import threading
import warnings

import harness
import specs
from device import Device, small_spec


def cacert(folder):
    return ("--cacert", folder + "/ca.pem")


def own(folder):
    return ("--cert", folder + "/client.pem", "--key", folder + "/client.key")


def curl(*args):
    return subprocess.run(["curl", "-sS", "--noproxy", "*", *args], capture_output=True, text=True, timeout=harness.TIMEOUT_S)


def hangup(lab, word):
    """SIGHUP; waits until the log says how it went."""
    before = lab.server.text().count("SIGHUP")
    lab.server.process.send_signal(signal.SIGHUP)
    harness.wait_for(lambda: lab.server.text().count("SIGHUP") > before, "the log to tell of SIGHUP")
    assert word in lab.server.text().splitlines()[-1], lab.server.text()[-500:]


def serial(lab):
    """The certificate that a new connection sees."""
    with socket.create_connection(("127.0.0.1", lab.port)) as plain, lab.tls.wrap_socket(plain, server_hostname="127.0.0.1") as s:
        return s.getpeercert()["serialNumber"]


def test_a_run_is_the_same_over_tls(lab):
    spec = specs.synthetic_run(num_rounds=3)
    folder = lab.init_tls()
    lab.start_server()
    lab.start_worker(specs.SYNTHETIC, "0-29", options=cacert(folder))
    run = lab.wait_run(lab.submit(spec))
    assert run["outcome"] == "completed", run
    rounds, _ = harness.simulate(dict(spec, data=specs.SYNTHETIC))
    assert lab.hashes(run["id"]) == [r["aggregate_sha256"] for r in rounds if r["type"] == "train"]
    assert "completed" in lab.cli("run", "show", run["id"], *cacert(folder)).stdout
    assert lab.cli("run", "list", env={"FEDLANE_CACERT": folder + "/ca.pem"}).stdout.count("\n") >= 1


def test_old_versions_are_refused(lab):
    folder = lab.init_tls()
    lab.start_server()
    old = ssl.create_default_context(cafile=folder + "/ca.pem")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    old.set_ciphers("DEFAULT@SECLEVEL=0")
    try:
        harness.Client(lab.url, tls=old).get("/healthz")
        raise AssertionError("TLS 1.1 was spoken")
    except OSError as error:
        assert isinstance(getattr(error, "reason", error), (ssl.SSLError, ConnectionError)), error
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        new = ssl.create_default_context(cafile=folder + "/ca.pem")
        new.minimum_version = new.maximum_version = version
        assert harness.Client(lab.url, tls=new).get("/healthz").status == 200


def test_certificates_are_renewed_under_open_connections(lab):
    folder = lab.init_tls()
    lab.start_server()
    first = serial(lab)
    open_one = http.client.HTTPSConnection("127.0.0.1", lab.port, context=lab.tls)
    open_one.connect()
    socket_at_first = open_one.sock

    def ask():
        open_one.request("GET", "/healthz")
        with open_one.getresponse() as reply:
            assert reply.status == 200 and b"ok" in reply.read()
        assert open_one.sock is socket_at_first, "the connection was closed"
    ask()
    for name in ("server.pem", "server.key"):
        os.unlink(os.path.join(folder, name))
    lab.init_tls()
    hangup(lab, "new connections get the certificate")
    ask()
    second = serial(lab)
    assert second != first
    with open(folder + "/server.key", "w") as f:
        f.write("not a key\n")
    hangup(lab, "stay as they were")
    ask()
    assert serial(lab) == second
    open_one.close()


def test_files_that_do_not_fit_are_named(lab):
    folder = lab.init_tls()
    for changes, said in (({"--tls-key": folder + "/client.key"}, "is not the key of the first certificate"),
                          ({"--tls-cert": folder + "/none.pem"}, "none.pem"),
                          ({"--tls-cert": folder + "/server.key"}, "holds no certificate"),
                          ({"--client-ca": folder + "/server.key"}, "holds no certificate"),
                          ({"--tls-key": None}, "--tls-cert needs --tls-key"),
                          ({"--insecure": ""}, "exclude each other")):
        options = {"--tls-cert": folder + "/server.pem", "--tls-key": folder + "/server.key", **changes}
        done = subprocess.run([harness.program("fedlane-server"), "--data-dir", lab.data_dir, "--listen", "127.0.0.1:0",
                               *[word for name, value in options.items() if value is not None
                                 for word in ([name, value] if value else [name])]],
                              capture_output=True, text=True, timeout=harness.TIMEOUT_S)
        assert done.returncode == 4 and said in done.stderr, (changes, done)


def test_clients_show_certificates(lab):
    folder = lab.init_tls()
    stranger = lab.path("stranger")
    subprocess.run([harness.program("fedlane-server"), "init-tls", "--out", stranger], check=True, capture_output=True)
    lab.tls.load_cert_chain(folder + "/client.pem", folder + "/client.key")
    lab.start_server("--client-ca", folder + "/ca.pem")
    url = lab.url + "/healthz"
    assert '"ok"' in curl(*cacert(folder), *own(folder), url).stdout
    for options in ((), own(stranger), ("--cert", folder + "/server.pem", "--key", folder + "/server.key")):
        done = curl(*cacert(folder), *options, "-w", "%{http_code}", url)
        assert done.stdout.endswith("401") and "curl --cert client.pem" in done.stdout, (options, done)
    none = lab.cli("run", "list", *cacert(folder), check=False)
    assert none.returncode == 2 and "--cert client.pem" in none.stderr, none
    lab.cli("run", "list", *cacert(folder), *own(folder))
    lab.start_worker(specs.SYNTHETIC, "0-29", options=(*cacert(folder), *own(folder)))
    assert lab.wait_run(lab.submit(specs.synthetic_run(num_rounds=1)))["outcome"] == "completed"


def test_mistakes_are_told_with_the_line_that_works(lab):
    folder = lab.init_tls("--hosts", "localhost")
    lab.tls.check_hostname = False
    lab.start_server()
    by_name = "https://localhost:%d" % lab.port
    # Nobody trusts the authority; the line that is named works.
    done = lab.cli("run", "list", "--server", by_name, check=False)
    assert done.returncode == 2 and "curl --cacert ca.pem %s/healthz" % by_name in done.stderr, done
    line = done.stderr[done.stderr.index("curl --cacert"):].split("\n")[0].replace("ca.pem", folder + "/ca.pem")
    assert '"ok"' in curl(*line.split()[1:]).stdout, line
    # A name that the certificate does not have.
    done = lab.cli("run", "list", "--server", lab.url, *cacert(folder), check=False)
    assert done.returncode == 2 and "use a name that stands in the server's certificate" in done.stderr, done
    worker = lab.start_worker(specs.SYNTHETIC, "0-1", options=cacert(folder))
    harness.wait_for(lambda: "use a name that stands in the server's certificate" in worker.text(), "the worker's complaint")
    assert "curl --cacert %s/ca.pem %s/healthz" % (folder, lab.url) in worker.text(), worker.text()
    assert lab.admin.ok("GET", "/api/v1/workers")["items"] == []
    # http where https is spoken, and the reverse.
    done = lab.cli("run", "list", "--server", "http://127.0.0.1:%d" % lab.port, check=False)
    assert done.returncode == 2 and "curl --cacert ca.pem https://127.0.0.1:%d/healthz" % lab.port in done.stderr, done
    plain = harness.Lab()
    try:
        plain.start_server()
        done = lab.cli("run", "list", "--server", "https://127.0.0.1:%d" % plain.port, check=False)
        line = "curl http://127.0.0.1:%d/healthz" % plain.port
        assert done.returncode == 2 and line in done.stderr, done
        assert '"ok"' in curl(*line.split()[1:]).stdout, line
    finally:
        plain.close()


def test_a_client_that_leaves_waits_no_more(lab):
    lab.init_tls()
    lab.start_server()
    waiters = lambda: int(next(line for line in lab.admin.get("/metrics").body.decode().splitlines()
                               if line.startswith("fedlane_waiters ")).split()[1])
    device = Device(lab, 0)
    with socket.create_connection(("127.0.0.1", lab.port)) as plain, lab.tls.wrap_socket(plain, server_hostname="127.0.0.1") as s:
        s.sendall(("POST /api/v1/devices/%s/tasks:claim?wait=60 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
                   "Content-Length: 0\r\n\r\n" % (device.id, device.http.token)).encode())
        harness.wait_for(lambda: waiters() == 1, "the claim to wait")
        # A polite end: a last record, then the end of the stream.
        s.setblocking(False)
        try:
            s.unwrap()
        except (ssl.SSLWantReadError, OSError):
            pass
    # What wakes the claim must not give the task to nobody.
    run = lab.submit(small_spec(1))
    harness.wait_for(lambda: waiters() == 0, "nobody to wait")
    tasks = lab.admin.ok("GET", "/api/v1/runs/%s/rounds/0/tasks" % run)["items"]
    assert [t["status"] for t in tasks] == ["ready"], tasks
    assert device.claim(10)["task_id"] == tasks[0]["id"]


class Proxy:
    """An HTTP proxy that knows CONNECT only; counts what it tunnels."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.count = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.tunnel, args=(near,), daemon=True).start()

    def tunnel(self, near):
        head = b""
        while b"\r\n\r\n" not in head:
            head += near.recv(4096)
        method, target, _ = head.decode().split(" ", 2)
        assert method == "CONNECT", head
        host, port = target.rsplit(":", 1)
        far = socket.create_connection((host, int(port)))
        self.count += 1
        near.sendall(b"HTTP/1.1 200 here you are\r\n\r\n")
        threading.Thread(target=self.pump, args=(far, near), daemon=True).start()
        self.pump(near, far)

    @staticmethod
    def pump(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def test_a_proxy_of_the_environment_is_used(lab):
    folder = lab.init_tls()
    lab.start_server()
    proxy = Proxy()
    env = {"HTTPS_PROXY": "http://127.0.0.1:%d" % proxy.listener.getsockname()[1], "NO_PROXY": "", "no_proxy": ""}
    lab.cli("run", "list", *cacert(folder), env=env)
    assert proxy.count == 1
    lab.cli("run", "list", *cacert(folder), env={**env, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"})
    assert proxy.count == 1
    worker = harness.Process([harness.program("fedlane-worker"), "--server", lab.url, "--enroll-token-file", lab.enroll_file(), "--data",
                              lab.write("data.json", specs.SYNTHETIC), "--devices", "0-29", "--state-dir", lab.path("state"),
                              *cacert(folder)], lab.path("worker.log"), env)
    lab.processes.append(worker)
    assert lab.wait_run(lab.submit(specs.synthetic_run(num_rounds=1)))["outcome"] == "completed"
    assert proxy.count > 1
    worker.stop()
    proxy.listener.close()


if __name__ == "__main__":
    harness.main(globals())
