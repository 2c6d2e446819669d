#!/usr/bin/env python3
"""Requests that are no good HTTP, or good HTTP with something in them that is not: each has its answer, changes nothing, hides
no other request, and the server goes on. What libmicrohttpd refuses itself is a bare status without problem+json."""
import base64
import contextlib
import hashlib
import json
import re
import socket

import harness
from device import Device, small_spec

BODY = b'{"num_rounds":1}'  # missing_field: it was read
HIDDEN = b"GET /api/v1/version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"  # what another reader takes for a part of the request before it
DIGEST = base64.b64encode(hashlib.sha256(BODY).digest())
NO_REPLY = ""
CHUNKED = b"Transfer-Encoding: chunked\r\n"


def get(headers=b"", path=b"/api/v1/runs"):
    return b"GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer TOKEN\r\n%s\r\n" % (path, headers)


def post(headers, body=BODY):
    return (b"POST /api/v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer TOKEN\r\nContent-Type: application/json\r\n%s\r\n"
            b"%s" % (headers, body))


def chunks(text):
    return post(CHUNKED, text)


GOOD_CHUNKS = b"10\r\n" + BODY + b"\r\n0\r\n\r\n"

# bytes, answer; HIDDEN must not be answered
LENGTHS = [
    # The body's length, said twice or not at all.
    (post(b"Content-Length: 5\r\n" + CHUNKED, GOOD_CHUNKS), "400 invalid_field"),
    (post(CHUNKED + b"Content-Length: 5\r\n", GOOD_CHUNKS + HIDDEN), "400 invalid_field"),
    (post(b"Content-Length: 5\r\nContent-Length: 16\r\n", BODY + HIDDEN), "400 invalid_field"),
    (post(b"Content-Length: 16\r\nContent-Length: 16\r\n", BODY + HIDDEN), "400 invalid_field"),
    (post(CHUNKED + CHUNKED, GOOD_CHUNKS + HIDDEN), "400 invalid_field"),
    (post(b"Transfer-Encoding: gzip, chunked\r\n", GOOD_CHUNKS + HIDDEN), "400 invalid_field"),
    (post(b"Transfer-Encoding: chunked, chunked\r\n", GOOD_CHUNKS + HIDDEN), "400 invalid_field"),
    (post(b"Transfer-Encoding: xchunked\r\n", GOOD_CHUNKS + HIDDEN), "400 invalid_field"),
    (post(b"Transfer-Encoding: identity\r\n", HIDDEN), "400 invalid_field"),
    (post(b"Transfer-Encoding: \x0bchunked\r\n", GOOD_CHUNKS + HIDDEN), "400 invalid_field"),
    (post(b"Content-Length: +16\r\n", BODY + HIDDEN), "400"),
    (post(b"Content-Length: -1\r\n", BODY + HIDDEN), "400"),
    (post(b"Content-Length: 0x10\r\n", BODY + HIDDEN), "400"),
    (post(b"Content-Length: 16, 16\r\n", BODY + HIDDEN), "400"),
    (post(b"Content-Length: 1 6\r\n", BODY + HIDDEN), "400"),
    (post(b"Content-Length: \r\n", BODY + HIDDEN), "400"),
    # Legal (RFC 9110, 5.5), but libmicrohttpd does not read it; what it does not read must end the connection.
    (post(b"Content-Length: 16 \r\n", BODY + HIDDEN), "400"),
    (post(b"Content-Length: 16\t\r\n", BODY + HIDDEN), "400"),
    (post(b"Transfer-Encoding: chunked \r\n", GOOD_CHUNKS + HIDDEN), "400 invalid_field"),
    (post(b"Content-Length: 18446744073709551616\r\n", BODY + HIDDEN), "413"),
    (post(b"Content-Length: 18446744073709551615\r\n", BODY + HIDDEN), "413 payload_too_large"),
    (post(b"Content-Length: 99999999999999\r\n", BODY + HIDDEN), "413 payload_too_large"),
    # A field that one reader sees and another does not.
    (post(b"Content-Length : 16\r\n", HIDDEN), "400 invalid_field"),
    (post(b"Transfer-Encoding : chunked\r\n", b"0\r\n\r\n" + HIDDEN), "400 invalid_field"),
    (post(b"Content-Length:\r\n 16\r\n", BODY + HIDDEN), "400 invalid_field"),
    (post(b"Content-Length: 1\r\n 6\r\n", BODY + HIDDEN), "400 invalid_field"),
    (post(b"Content-Length: 16\r\n\tx\r\n", BODY + HIDDEN), "400 invalid_field"),
    (post(b"Transfer-Encoding:\r\n chunked\r\n", GOOD_CHUNKS + HIDDEN), "400 invalid_field"),
    (get(b"X: a\rContent-Length: 40\r\n", ) + HIDDEN, "400 invalid_field"),
    (get(b"X: a\r\r\n") + HIDDEN, "400 invalid_field"),
    (get(b"X\x01Y: a\r\n") + HIDDEN, "400 invalid_field"),
    (get(b"X Y: a\r\n") + HIDDEN, "400 invalid_field"),
    (get(b"X\x00Y: a\r\n") + HIDDEN, "400"),
    (get(b"X: \x1b[2J\r\n") + HIDDEN, "400 invalid_field"),
    (get(b"Nonsense\r\n") + HIDDEN, "400"),
    (get(b"Host: y\r\n") + HIDDEN, "400 invalid_field"),
    (get(b"Authorization: Bearer other\r\n") + HIDDEN, "400 invalid_field"),
    (get(b"Authorization: Bearer TOKEN \r\n") + HIDDEN, "400 invalid_field"),
    (post(b"Content-Type: text/plain\r\nContent-Length: 16\r\n", BODY + HIDDEN), "400 invalid_field"),
    (post(b"Idempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Length: 16\r\n", BODY + HIDDEN), "400 invalid_field"),
    # Chunks.
    (chunks(b"zz\r\n" + BODY + b"\r\n0\r\n\r\n" + HIDDEN), "400"),
    (chunks(b"-1\r\n" + BODY + b"\r\n0\r\n\r\n" + HIDDEN), "400"),
    (chunks(b"0x10\r\n" + BODY + b"\r\n0\r\n\r\n" + HIDDEN), "400"),
    (chunks(b"\r\n" + BODY + b"\r\n0\r\n\r\n" + HIDDEN), "400"),
    (chunks(b"10 \r\n" + BODY + b"\r\n0\r\n\r\n" + HIDDEN), "400"),
    (chunks(b"10\r\n" + BODY + b"0\r\n\r\n" + HIDDEN), "400"),
    (chunks(b"10000000000000010\r\n" + BODY + b"\r\n0\r\n\r\n" + HIDDEN), "413"),
    (chunks(b"8000000000000000\r\n" + BODY + b"\r\n0\r\n\r\n" + HIDDEN), NO_REPLY),  # it waits for the rest, which does not come
    (chunks(b"10\r\n" + BODY + b"\r\n0\r\nnonsense\r\n\r\n" + HIDDEN), "400"),
    # Not whole.
    (post(b"Content-Length: 17\r\n"), NO_REPLY),
    (post(b"Content-Length: 16\r\n", b""), NO_REPLY),
    (chunks(b"10\r\n" + BODY + b"\r\n"), NO_REPLY),
]
# The same, where what follows is a request of its own for everybody: both are answered.
FOLLOWED = [
    (get() + HIDDEN, "200"),
    (post(b"Content-Length: 16\r\n", BODY + HIDDEN), "400 missing_field"),
    (chunks(GOOD_CHUNKS + HIDDEN), "400 missing_field"),
    (post(b"Transfer-Encoding:\tCHUNKED\r\n", GOOD_CHUNKS + HIDDEN), "400 missing_field"),
    (chunks(b"0000000000000000000000010;a=b\r\n" + BODY + b"\r\n0\r\nContent-Length: 5\r\nAuthorization: x\r\n\r\n" + HIDDEN),
     "400 missing_field"),  # trailers are read and count for nothing
    (b"\r\n\r\n" + get() + HIDDEN, "200"),
    # Blanks at a value's end are none of it (RFC 9110, 5.5).
    (get().replace(b"TOKEN", b"TOKEN \t") + HIDDEN, "200"),
    (post(b"Content-Length: \t 16\r\n", BODY + HIDDEN), "400 missing_field"),
    (post(b"Content-Length: 16\r\nIdempotency-Key: k \r\n", BODY + HIDDEN), "400 missing_field"),
    (post(b"Content-Length: 16\r\nContent-Encoding: identity\t\r\n", BODY + HIDDEN), "400 missing_field"),
    (post(b"Content-Length: 16\r\nContent-Digest: sha-256=:%s: \r\n" % DIGEST, BODY + HIDDEN), "400 missing_field"),
    (get(b"If-None-Match: \t \r\nX:\r\n") + HIDDEN, "200"),
    # A line may end with LF alone (RFC 9112, 2.2).
    (get().replace(b"\r\n", b"\n") + HIDDEN, "200"),
    (get(b"X: a\r\n\n") + HIDDEN, "200"),
    # More than the route takes is swallowed where it is short.
    (get(b"Content-Length: 3\r\n") + b"abc" + HIDDEN, "413 payload_too_large"),
]
LINES = [
    (b"GET /healthz\r\n\r\n", "400"),
    (b"GET /healthz HTTP/9.9\r\n\r\n", "505"),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505"),
    (b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n" + get(), "400"),
    (b"GET /healthz HTTP/1.1\r\n\r\n", "400"),  # no Host
    (b"GET\t/healthz\tHTTP/1.1\r\nHost: x\r\n\r\n", NO_REPLY),
    (b"GET /heal thz HTTP/1.1\r\nHost: x\r\n\r\n", NO_REPLY),
    (b" GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", NO_REPLY),
    (b"get /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "405 method_not_allowed"),
    (b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", "404 not_found"),
    (b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", "404 not_found"),
    (b"GET http://other/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "200"),
    (get(b"Upgrade: h2c\r\nConnection: Upgrade, close\r\n"), "200"),
    (get(b"X-HTTP-Method-Override: DELETE\r\nConnection: close\r\n"), "200"),
    (post(b"Expect: nonsense\r\nContent-Length: 16\r\n"), "400 missing_field"),
    # The server does not read all of it, so its answer may be lost to who is still sending.
    (get(b"X: " + b"a" * 40000 + b"\r\n"), "431", NO_REPLY),
    (get(b"".join(b"X-%d: y\r\n" % i for i in range(3000))), "431", NO_REPLY),
    (get(path=b"/" + b"a" * 40000), "414", NO_REPLY),
    (get(path=b"/" + b"a" * 5000), "404 not_found"),
    (get(path=b"/a" * 2000), "400 invalid_field"),
    (get(b"Connection: close\r\n", b"/api/v1/runs?cursor=" + b"a" * 5000), "400 invalid_cursor"),
    (get(path=b"/api/v1/runs?" + b"&".join(b"a%d=1" % i for i in range(100))), "400 unknown_field"),
]
# Headers that do not end: nothing is answered, and the connection is cut after a minute.
ENDLESS = [b"\x00\xff\xfe\r\n\r\n", get()[:-2], get()[:9], get(b"X: a"), b"\r\n", bytes.fromhex("16030100c8010000c40303") + b"a" * 180]  # the last: TLS
PATHS = [
    (b"/api/v1/runs/%00", "400 invalid_field"), (b"/api/v1/runs/a%00b", "400 invalid_field"),
    (b"/api/v1/runs?cursor=%00", "400 invalid_field"), (b"/api/v1/runs?%00=1", "400 invalid_field"),
    (b"/api/v1%2Fruns", "404 not_found"), (b"/api/v1/runs%2f", "404 not_found"), (b"/api/v1/runs/%2F", "404 not_found"),
    (b"/api/v1/runs/%2e%2e/tokens", "404 not_found"), (b"/api/v1/runs/../tokens", "404 not_found"),
    (b"/api/v1/./runs", "404 not_found"), (b"/../../etc/passwd", "404 not_found"),
    (b"/assets/..%2f..%2f..%2fetc%2fpasswd", "404 not_found"), (b"/assets/../admin.token", "404 not_found"),
    (b"/api/v1/runs/%c0%af", "400 invalid_field"), (b"/api/v1/runs/%ed%a0%80", "400 invalid_field"),
    (b"/api/v1/runs/\xff\xfe", "400 invalid_field"), (b"/api/v1/runs/%", "400 invalid_field"),
    (b"/api/v1/runs/%zz", "400 invalid_field"), (b"/api/v1/runs/%u0041", "400 invalid_field"),
    (b"/api/v1/runs/%252e%252e", "404 not_found"), (b"/api/v1/runs;x=1", "404 not_found"), (b"/api/v1/runs\\..", "404 not_found"),
    (b"//api/v1/runs", "404 not_found"), (b"/api/v1/runs/", "404 not_found"), (b"/api/v1/runs?limit=1&limit=2", "400 invalid_field"),
    (b"/api/v1/runs?limit=%31%00", "400 invalid_field"), (b"/api/v1/runs?=x", "400 unknown_field"),
]


def talk(lab, data):
    """Sends all, says that no more comes, and reads to the end."""
    with socket.create_connection(("127.0.0.1", lab.port), timeout=harness.TIMEOUT_S) as s:
        reply = b""
        try:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the server may answer and end it with some of it unread
        with contextlib.suppress(ConnectionError):
            while chunk := s.recv(65536):
                reply += chunk
    return reply


def answer_of(reply):
    """Status and code of the first answer."""
    status = re.match(rb"HTTP/1\.[01] (\d+) ", reply)
    if not status:
        assert not reply, reply[:300]
        return NO_REPLY
    code = re.search(rb'"code":"(\w+)"', reply)
    is_problem = b"application/problem+json" in reply
    assert is_problem == bool(code), reply
    return status.group(1).decode() + (" " + code.group(1).decode() if code else "")


def check(lab, data, *wanted, is_followed=False):
    reply = talk(lab, data.replace(b"TOKEN", lab.admin.token.encode()))
    assert answer_of(reply) in wanted, "answered %r, %r" % (answer_of(reply), reply[-300:])
    assert (b'"version"' in reply) == is_followed, "the request behind it was%s answered" % ("" if not is_followed else " not")
    assert lab.admin.get("/healthz").status == 200


def test_no_request_hides_in_another(lab):
    lab.start_server()
    before = lab.everything()
    harness.all_of(LENGTHS, lambda data, wanted: check(lab, data, wanted))
    harness.all_of(FOLLOWED, lambda data, wanted: check(lab, data, wanted, is_followed=True))
    harness.unchanged(before, lab.everything())


def test_lines_and_paths_that_are_none(lab):
    lab.start_server()
    before = lab.everything()
    harness.all_of(LINES, lambda data, *wanted: check(lab, data, *wanted))
    for data in ENDLESS:
        with socket.create_connection(("127.0.0.1", lab.port)) as s:
            s.sendall(data)
            assert lab.admin.get("/healthz").status == 200
    harness.all_of(PATHS, lambda path, wanted: check(lab, get(b"Connection: close\r\n", path), wanted))
    harness.unchanged(before, lab.everything())


# ---- bodies ----

def nested(depth):
    return b"[" * depth + b"]" * depth


MALFORMED = [
    b"", b" ", b"{", b"{}}", b"{} {}", b"{}x", b"nonsense", b"{'a':1}", b'{a:1}', b'{"a":1,}', b'{"a" 1}', b'{"a":}', b'/* */{}', b'{"a":01}',
    b'{"a":+1}', b'{"a":.5}', b'{"a":1.}', b'{"a":0x10}', b'{"a":NaN}', b'{"a":Infinity}', b'{"a":-}', b'{"a":"\t"}', b'{"a":"\n"}',
    b'{"a":"\\x"}', b'{"a":"\\u12"}', b'{"a":"abc', '{"a":1}'.encode("utf-16"), '{"a":1}'.encode("utf-32"),
    # numbers past what a double or 64 bits hold
    b'{"a":1e999}', b'{"a":-1e999}', b'{"a":1e99999999999999999999}', b'{"a":' + b"9" * 400 + b"}", b'{"a":9223372036854775808}',
    b'{"a":-9223372036854775809}',
    # the same key twice, also where one is spelt otherwise
    b'{"a":1,"a":2}', b'{"a":1,"\\u0061":2}', b'{"x":{"a":1,"a":1}}',
    # no UTF-8: overlong, surrogates, past the last character, cut
    b'{"a":"\xc0\xaf"}', b'{"a":"\xc1\x81"}', b'{"a":"\xe0\x80\xaf"}', b'{"a":"\xf0\x80\x80\xaf"}', b'{"a":"\xed\xa0\x80"}',
    b'{"a":"\xed\xb0\x80"}', b'{"a":"\xf4\x90\x80\x80"}', b'{"a":"\xff"}', b'{"a":"\xe2\x82"}', b'{"\xc3":1}', b'{"a":"\x80"}',
    # half a character by escapes, and NUL
    b'{"a":"\\ud800"}', b'{"a":"\\udc00"}', b'{"a":"\\ud800\\u0041"}', b'{"a":"\\u0000"}', b'{"a\\u0000b":1}', b'{"a":"x\x00y"}', b"{}\x00",
    # deep
    nested(33), nested(2000), b"[" * 500000, b'{"a":' * 100000, b'{"a":' * 33 + b"1" + b"}" * 33,
]
WIDE = [
    b"{" + b",".join(b'"k%d":%d' % (i, i) for i in range(60000)) + b"}",
    b'{"name":[' + b"0," * 400000 + b"0]}",
    b'{"name":"' + b"x" * 900000 + b'"}',
    b'{"' + b"k" * 900000 + b'":1}',
    b'{"name":[{}' + b",{}" * 250000 + b"]}",
]


class Bodies:
    """Routes that read JSON, each in its own way: a small body, one that may speak of many devices, a stream."""

    def __init__(self, lab):
        lab.start_server("--heartbeat-s", "600")
        self.lab = lab
        self.run = lab.submit(small_spec(2, selection={"devices_per_round": 1}, evaluation={"on": "all_devices"}))
        devices = [Device(lab, 0), Device(lab, 1)]
        tasks = [d.claim(10) for d in devices]
        place = [t["type"] for t in tasks].index("evaluate")
        self.device = devices[place]
        self.targets = [("POST", "/api/v1/experiments", lab.admin), ("POST", "/api/v1/devices/%s/heartbeat" % self.device.id, self.device.http),
                        ("PUT", "/api/v1/tasks/%s/update" % tasks[place]["task_id"], self.device.http)]

    def send(self, target, body, headers=None):
        method, path, client = target
        fields = {"Host": "x", "Connection": "close", "Authorization": "Bearer " + client.token, "Content-Type": "application/json",
                  "Content-Length": str(len(body)), **(headers or {})}
        head = "%s %s HTTP/1.1\r\n%s\r\n" % (method, path, "".join("%s: %s\r\n" % field for field in fields.items()))
        status, _, text = talk(self.lab, head.encode() + body).partition(b"\r\n\r\n")
        return harness.Reply(int(status.split()[1]), None, text)


def test_json_that_is_none(lab):
    bodies = Bodies(lab)
    before = lab.everything(bodies.run)

    def refused(target, body, codes, status=400):
        reply = bodies.send(target, body)
        assert reply.status == status and reply.json["code"] in codes, reply
        assert len(reply.body) < 2000, "an answer of %d bytes" % len(reply.body)
    cases = [(target, body, ("malformed_json",)) for target in bodies.targets for body in MALFORMED
             if not (target is bodies.targets[1] and body == b"")]  # a heartbeat may say nothing
    cases += [(target, body, ("unknown_field", "invalid_field")) for target in bodies.targets for body in WIDE]
    cases += [(target, b'"' + b"x" * size + b'"', ("payload_too_large",), 413)
              for target, size in zip(bodies.targets, (1 << 20, 1 << 20, 1 << 20))]
    harness.all_of(cases, refused)
    harness.unchanged(before, lab.everything(bodies.run))


def digest(body, algorithm="sha256"):
    return base64.b64encode(hashlib.new(algorithm, body).digest()).decode()


def test_content_digests(lab):
    bodies = Bodies(lab)
    good, other = b'{"name":"x","nosuch":1}', b"other"
    before = lab.everything(bodies.run)
    right, wrong = "sha-256=:%s:" % digest(good), "sha-256=:%s:" % digest(other)
    cases = [(wrong, "422 digest_mismatch"), ("sha-256=:%s:" % digest(b""), "422 digest_mismatch"),
             ("sha-256", "400 invalid_field"), ("sha-256=", "400 invalid_field"), ("sha-256=%s" % digest(good), "400 invalid_field"),
             ("sha-256=::", "400 invalid_field"), ("sha-256=:AAAA:", "400 invalid_field"), ("sha-256=:%s" % digest(good), "400 invalid_field"),
             ("sha-256=:%s:" % digest(good)[:-1], "400 invalid_field"), ("sha-256=:%s:" % digest(good).replace("=", "!"), "400 invalid_field"),
             ("sha-256=:%s:" % hashlib.sha256(good).hexdigest(), "400 invalid_field"),
             # several: the one that we know is checked
             ("sha-512=:%s:, %s" % (digest(good, "sha512"), wrong), "422 digest_mismatch"),
             ("%s, sha-512=:%s:" % (wrong, digest(good, "sha512")), "422 digest_mismatch"),
             ("sha-512=:%s:, %s" % (digest(other, "sha512"), right), None), ("sha-512=:%s:" % digest(other, "sha512"), None),
             ("md5=:%s:" % digest(good, "md5"), None), (right, None)]

    def check_digest(target, header, wanted):
        reply = bodies.send(target, good, {"Content-Digest": header})
        said = "%d %s" % (reply.status, reply.json["code"])
        assert said == (wanted or "400 unknown_field"), reply  # what is good is read
        if wanted:
            assert reply.json["field"] == "Content-Digest", reply
    harness.all_of([(target, *case) for target in bodies.targets for case in cases], check_digest)
    harness.unchanged(before, lab.everything(bodies.run))


if __name__ == "__main__":
    harness.main(globals())
