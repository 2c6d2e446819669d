#!/usr/bin/env python3
"""`fedlane-server login-link` beside the running server, and before one runs."""
import os
import re
import stat
import subprocess

import harness


def link(lab, *options, data_dir=None, env=None):
    return subprocess.run([harness.program("fedlane-server"), "login-link", "--data-dir", data_dir or lab.data_dir, *options],
                          capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL,
                          env={**os.environ, **(env or {})})


def made(lab, *options, **kw):
    done = link(lab, *options, **kw)
    assert done.returncode == 0, done
    found = re.fullmatch(r"(http\S+)/#/login/([0-9a-f]{64})\n", done.stdout)
    assert found, done
    return found.group(1), found.group(2), done.stderr


def started(lab):
    """Until it has said where it listens: it is ready a moment before."""
    lab.start_server()
    harness.wait_for(lambda: "listening on" in lab.server.text(), "the server to say where it listens")


def exchange(lab, code):
    return harness.Client(lab.url).post("/api/v1/login", {"code": code})


def test_beside_the_running_server(lab):
    started(lab)
    url, code, said = made(lab)
    assert url == lab.url, url
    assert "10 minutes" in said and "admin" in said, said
    reply = exchange(lab, code)
    assert reply.status == 201 and reply.json["role"] == "admin", reply
    assert harness.Client(lab.url, reply.json["token"]).get("/api/v1/tokens").status == 200
    again = exchange(lab, code)
    assert again.status == 401 and "login-link" in again.json["detail"], again
    url, code, _ = made(lab, "--role", "viewer", "--session-hours", "1", "--url", "https://fedlane.example.org/")
    assert url == "https://fedlane.example.org", url
    viewer = exchange(lab, code).json
    assert viewer["role"] == "viewer", viewer
    assert harness.Client(lab.url, viewer["token"]).get("/api/v1/tokens").status == 403
    names = [t["name"] for t in lab.admin.ok("GET", "/api/v1/tokens")["items"]]
    assert names.count("login link, used from 127.0.0.1") == 2, names
    assert lab.server.stop() == 0
    text = lab.server.text()
    assert code not in text and viewer["token"] not in text and reply.json["token"] not in text, text


def test_before_the_server_runs(lab):
    started(lab)
    where = os.path.join(lab.data_dir, "server.url")
    with open(where) as f:
        assert f.read() == lab.url + "\n"
    assert lab.server.stop() == 0
    assert not os.path.exists(where)
    url, code, said = made(lab)
    assert url == "http://127.0.0.1:8080" and "No server runs" in said, (url, said)
    assert made(lab, "--listen", "[::1]:99")[0] == "http://[::1]:99"
    assert made(lab, env={"FEDLANE_LISTEN": "0.0.0.0:77"})[0] == "http://127.0.0.1:77"
    done = link(lab, "--listen", "127.0.0.1:0")
    assert done.returncode == 4 and "start it first" in done.stderr, done
    assert made(lab, "--url", "http://fedlane.example.org:1/path")[0] == "http://fedlane.example.org:1/path"
    started(lab)
    assert exchange(lab, code).status == 201


def test_after_kill_9_nothing_stale_is_told(lab):
    started(lab)
    where = os.path.join(lab.data_dir, "server.url")
    lab.server.kill()
    with open(where) as f:
        stale = f.read().strip()
    url, code, said = made(lab)
    assert url == "http://127.0.0.1:8080" and stale not in said, (url, said)
    for word in (lab.data_dir, "No server runs", "Start it", "--url"):
        assert word in said, said
    # Another server at that address is not this one.
    first, lab.data_dir = lab.data_dir, lab.path("other")
    started(lab)
    assert made(lab)[0] == lab.url == stale
    assert made(lab, data_dir=first)[0] == "http://127.0.0.1:8080"
    assert lab.server.stop() == 0
    lab.port, lab.data_dir = None, first
    started(lab)
    assert made(lab)[0] == lab.url
    assert exchange(lab, code).status == 201


def test_files_of_the_folder(lab):
    started(lab)
    made(lab)
    folder = os.path.join(lab.data_dir, "login")
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    files = os.listdir(folder)
    assert len(files) == 1, files
    assert stat.S_IMODE(os.stat(os.path.join(folder, files[0])).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.join(lab.data_dir, "server.url")).st_mode) == 0o600


def test_what_is_wrong_is_named(lab):
    started(lab)
    for options, words in ((["--role", "worker"], ["--role", "viewer"]),
                           (["--role", "emperor"], ["--role"]),
                           (["--minutes", "0"], ["minutes"]),
                           (["--minutes", "x"], ["minutes"]),
                           (["--url", "fedlane.example.org"], ["--url", "https://"]),
                           (["--url", "https://a/?x"], ["--url"]),
                           (["--ulr", "x"], ["ulr"]),
                           (["word"], ["word"])):
        done = link(lab, *options)
        assert done.returncode == 4 and done.stdout == "", (options, done)
        for word in words:
            assert word in done.stderr, (options, done)
    done = link(lab, data_dir=lab.path("nowhere"))
    assert done.returncode == 4 and lab.path("nowhere") in done.stderr and "--data-dir" in done.stderr, done
    assert not os.path.exists(lab.path("nowhere"))
    done = subprocess.run([harness.program("fedlane-server"), "login-link", "--help"], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0 and "--minutes" in done.stdout, done
    done = subprocess.run([harness.program("fedlane-server"), "--help"], capture_output=True, text=True, timeout=20)
    assert "login-link" in done.stdout, done


harness.main(globals())
