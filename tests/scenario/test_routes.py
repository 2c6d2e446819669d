#!/usr/bin/env python3
"""Walks every operation of the OpenAPI file with ids that exist: who is refused, how a malformed request is answered, and
that a refused request changes nothing."""
import http.client
import json

import harness
from device import Device, small_spec

PAGE = {"/", "/assets/{file}"}  # whose links may carry anything behind a question mark
OPEN = PAGE | {"/healthz", "/readyz", "/api/v1/version", "/api/v1/openapi.json", "/api/v1/login"}
ROLES = ("admin", "operator", "viewer", "worker", "enrollment")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
TENSORS = "application/vnd.safetensors"


def who_may(method, path):
    """The roles of an operation, as the API's rules give them; an administrator may everything."""
    readers, runners, own = {"admin", "operator", "viewer"}, {"admin", "operator"}, {"admin", "worker"}
    path = path.replace("/api/v1", "", 1)
    if path in ("/strategies", "/tokens/self"):
        return set(ROLES)
    if path.startswith(("/tokens", "/audit")) or (method == "DELETE" and path in ("/workers/{worker}", "/devices/{device}")):
        return {"admin"}
    if (method, path) in (("POST", "/workers"), ("POST", "/devices")):
        return {"admin", "enrollment"}
    if path.startswith(("/workers/", "/devices/", "/tasks/")):
        return readers | own if method == "GET" else own
    if path.endswith("/weights") and method == "GET":
        return readers | own
    return readers if method == "GET" else runners


class Walk:
    """A server with one of everything, a caller of every kind, and all operations with ids put in."""

    def __init__(self, lab):
        # No heartbeat is missed within this test, so what the devices look like changes only by a request.
        lab.start_server("--heartbeat-s", "600", "--log-level", "debug", "--auth-failures", "1000000")
        self.lab, self.admin, self.secrets, self.replies = lab, lab.admin, [lab.admin.token], []
        self.document = self.admin.ok("GET", "/api/v1/openapi.json")
        self.connection = http.client.HTTPConnection("127.0.0.1", lab.port, timeout=harness.TIMEOUT_S)
        self.tokens, self.token_ids = {"admin": lab.admin.token, "enrollment": lab.token("enrollment.token")}, {}
        self.expiring = self.make_token("admin", expires_in_s=1)
        self.revoked = self.make_token("admin")
        self.admin.ok("DELETE", "/api/v1/tokens/" + self.token_ids[self.revoked])
        self.tokens["operator"] = self.make_token("operator")
        self.tokens["viewer"] = self.make_token("viewer")
        self.run = lab.submit(small_spec(2, num_rounds=3, selection={"devices_per_round": 1}, evaluation={"on": "all_devices"}))
        mine, other = self.make_worker("mine", [0]), self.make_worker("other", [7])
        self.worker, self.tokens["worker"] = mine["worker_id"], mine["token"]
        self.device = mine["devices"][0]["device_id"]
        peer = Device(lab, 1)
        self.strangers = {"another worker": other["token"], "another device": peer.http.token}
        self.secrets += [*self.tokens.values(), *self.strangers.values(), self.expiring, self.revoked]
        self.claim_tasks(peer)

    def make_token(self, role, **body):
        made = self.admin.ok("POST", "/api/v1/tokens", dict(body, name=role, role=role))
        self.token_ids[made["token"]] = made["id"]
        return made["token"]

    def make_worker(self, name, ordinals):
        enroll = harness.Client(self.lab.url, self.tokens["enrollment"])
        return enroll.ok("POST", "/api/v1/workers", {
            "name": name, "instance_id": name.rjust(32, "0"), "version": "1", "capabilities": {"threads": 1},
            "devices": [{"ordinal": k, "dataset": "hand", "num_examples": 4, "num_test_examples": 1, "input": [2], "classes": 2}
                        for k in ordinals]})

    def claim_tasks(self, peer):
        """One task each; whose turn to train it is, the seed says."""
        worker = harness.Client(self.lab.url, self.tokens["worker"])
        first = worker.post("/api/v1/workers/%s/tasks:claim?wait=10" % self.worker, {"max": 4}).json["items"][0]
        self.task, peers = first["task_id"], peer.claim(10)
        self.evaluate_task = next(t["task_id"] for t in (first, peers) if t["type"] == "evaluate")

    def operations(self):
        for path, item in self.document["paths"].items():
            for method, operation in item.items():
                if method.upper() in METHODS:
                    yield method.upper(), path, operation

    def fill(self, path):
        ids = {"run": self.run, "worker": self.worker, "device": self.device, "task": self.task, "experiment": "0",
               "token": self.token_ids[self.tokens["viewer"]], "round": "0", "version": "0", "file": "app.js",
               "upload": self.run}  # of which there is none; that is found out last
        for name, value in ids.items():
            path = path.replace("{%s}" % name, value)
        assert "{" not in path, path
        return path

    def send(self, method, target, token=None, body=None, media="application/json"):
        headers = {"Origin": "https://elsewhere.example"}  # as from another site's page, which must not read the reply
        if token is not None:
            headers["Authorization"] = "Bearer " + token
        if body is not None:
            headers["Content-Type"] = media
        self.connection.request(method, target, body, headers)
        answer = self.connection.getresponse()
        reply = harness.Reply(answer.status, answer.headers, answer.read())
        assert "access-control-" not in str(reply.headers).lower(), (method, target, str(reply.headers))
        self.replies.append((method + " " + target, str(reply.headers) + reply.body.decode(errors="replace")))
        return reply

    def refused(self, status, code, method, target, token=None, body=None, media="application/json"):
        """Sends it and checks all that an error must have."""
        reply = self.send(method, target, token, body, media)
        what = "%s %s: %r" % (method, target, reply)
        assert reply.status == status, "wanted %d %s of %s" % (status, code, what)
        assert reply.headers["Content-Type"] == "application/problem+json", what
        problem = reply.json
        assert problem["status"] == status and problem["code"] == code, "wanted %s of %s" % (code, what)
        for key in ("type", "title", "detail", "request_id"):
            assert isinstance(problem[key], str) and problem[key], what
        assert set(problem) <= {"type", "title", "status", "detail", "code", "request_id", "field"}, what
        if status == 401:
            assert reply.headers["WWW-Authenticate"].startswith("Bearer"), what
        return reply

    def everything(self):
        return self.lab.everything(self.run)


def json_body(operation):
    """The example of an operation that takes JSON and nothing else; None for others."""
    content = operation.get("requestBody", {}).get("content", {})
    return dict(content["application/json"].get("example", {})) if list(content) == ["application/json"] else None


def refuse_callers(walk, method, path):
    target = walk.fill(path)
    walk.refused(401, "unauthorized", method, target)
    for token in ("", "garbage", "fl_" + "0" * 64, walk.admin.token[:-1], walk.admin.token + "0", "\xe4" * 8, "x" * 5000):
        walk.refused(401, "unauthorized", method, target, token)
    walk.refused(401, "token_revoked", method, target, walk.revoked)
    walk.refused(401, "token_expired", method, target, walk.expiring)
    for role in ROLES:
        if role not in who_may(method, path):
            walk.refused(403, "forbidden", method, target, walk.tokens[role])
    if path.startswith(("/api/v1/workers/{", "/api/v1/devices/{", "/api/v1/tasks/{")):
        for token in walk.strangers.values():
            walk.refused(403, "forbidden", method, target, token, *good_request(walk, method, path))


def good_request(walk, method, path):
    """A body that would pass, so that only the caller is wrong."""
    operation = walk.document["paths"][path][method.lower()]
    body = json_body(operation)
    if body is not None:
        return (json.dumps(body), "application/json")
    return (b"x", list(operation["requestBody"]["content"])[0]) if "requestBody" in operation else (None,)


def refuse_bodies(walk, method, path, body):
    target, token = walk.fill(path), walk.admin.token
    typo = dict(body, proximal_muu=1)
    assert walk.refused(400, "unknown_field", method, target, token, json.dumps(typo)).json["field"] == "proximal_muu"
    for text in ('{"a": 1', "{'a': 1}", "nonsense", '{"a": NaN}', '{"a": 1, "a": 2}', '{"a": 1} x', '{"a": "\x01"}', "[" * 40):
        walk.refused(400, "malformed_json", method, target, token, text)
    walk.refused(400, "malformed_json", method, target, token, b'{"a": "\xff\xfe"}')
    for value in ([], [body], "text", 1, None, True):
        walk.refused(400, "invalid_field", method, target, token, json.dumps(value))
    for media in ("text/plain", "application/x-www-form-urlencoded", "application/jsonx", TENSORS):
        walk.refused(415, "unsupported_media_type", method, target, token, json.dumps(body), media)


def test_every_route_refuses_and_changes_nothing(lab):
    walk = Walk(lab)
    harness.wait_for(lambda: harness.Client(lab.url, walk.expiring).get("/api/v1/tokens").status == 401, "a token to expire")
    before, walked = walk.everything(), 0
    for method, path, operation in walk.operations():
        walked += 1
        if path in OPEN:
            wanted = 200 if method == "GET" else 400  # without its body
            for token in (None, "garbage"):
                assert operation["security"] == [] and walk.send(method, walk.fill(path), token).status == wanted, path
        else:
            refuse_callers(walk, method, path)
        if path in PAGE:
            assert walk.send(method, walk.fill(path) + "?nonsense=1").status == 200, path
            continue
        answer = walk.refused(400, "unknown_field", method, walk.fill(path) + "?nonsense=1", walk.admin.token,
                              *good_request(walk, method, path))
        assert answer.json["field"] == "nonsense", answer
        body = json_body(operation)
        if body is not None:
            refuse_bodies(walk, method, path, body)
    assert walked >= 54, walked
    harness.unchanged(before, walk.everything())
    no_secrets(walk)


def test_the_open_routes_are_few_and_the_roles_are_those_of_the_rules(lab):
    walk = Walk(lab)
    for method, path, operation in walk.operations():
        is_open = operation.get("security") == []
        assert is_open == (path in OPEN), path
        if not is_open:
            said = operation["description"].rsplit("Roles: ", 1)[1].strip(" .").split(", ")
            assert set(said) == who_may(method, path), (method, path, said)


def test_a_wrong_method_names_the_right_ones(lab):
    walk = Walk(lab)
    before = walk.everything()
    for path, item in walk.document["paths"].items():
        has = {m.upper() for m in item if m.upper() in METHODS}
        if path == "/api/v1/tokens/self":
            has.add("DELETE")  # of /tokens/{token}, which this could be
        for method in METHODS:
            if method not in has:
                reply = walk.refused(405, "method_not_allowed", method, walk.fill(path), walk.admin.token)
                allowed = {m.strip() for m in reply.headers["Allow"].split(",")}
                assert has <= allowed <= has | {"HEAD", "OPTIONS"}, (path, allowed)
        for method in ("TRACE", "BREW"):
            assert walk.send(method, walk.fill(path), walk.admin.token).status in (405, 501), (method, path)
    harness.unchanged(before, walk.everything())


def test_an_update_is_refused_before_and_after_its_body(lab):
    walk = Walk(lab)
    before, token = walk.everything(), walk.admin.token
    weights = walk.fill("/api/v1/runs/{run}/models/0/weights")
    update = "/api/v1/tasks/%s/update" % walk.evaluate_task
    for target in (weights, update):
        for media in ("text/plain", "application/x-npz", "application/octet-streams"):
            walk.refused(415, "unsupported_media_type", "PUT", target, token, b"x", media)
    walk.refused(415, "unsupported_media_type", "PUT", weights, token, b"{}")
    typo = walk.refused(400, "unknown_field", "PUT", update, token, json.dumps({"attempt": 1, "eval_train_los": 1}))
    assert typo.json["field"] == "eval_train_los", typo
    for text in ("", "{", "nonsense", '{"attempt": NaN}', '{"attempt": 1, "attempt": 1}'):
        walk.refused(400, "malformed_json", "PUT", update, token, text)
    for text in ("[]", "1", "null"):
        walk.refused(400, "invalid_field", "PUT", update, token, text)
    harness.unchanged(before, walk.everything())


def test_no_path_is_found_by_spelling_it_otherwise(lab):
    walk = Walk(lab)
    for target in ("/api/v1/nothing", "/api/v2/runs", "/API/v1/runs", "/api/v1//runs", "/api/v1/runs/", "/api/v1/runs/../tokens",
                   "/api/v1/runs/%2e%2e/tokens", "/api/v1/runs/" + "A" * 32, "/api/v1/runs/" + walk.run + "x",
                   "/api/v1/runs/%s/models/-1" % walk.run, "/api/v1/devices/" + walk.worker, "/api/v1/tasks/" + walk.run):
        reply = walk.send("GET", target, walk.admin.token)
        assert reply.status in (400, 404) and reply.headers["Content-Type"] == "application/problem+json", (target, reply)
        assert reply.json["detail"] and reply.json["request_id"], reply


def test_no_other_site_is_let_in(lab):
    """What a browser asks before it sends another site's request."""
    walk = Walk(lab)
    for method, path, _ in walk.operations():
        walk.connection.request("OPTIONS", walk.fill(path), headers={
            "Origin": "https://elsewhere.example", "Access-Control-Request-Method": method,
            "Access-Control-Request-Headers": "authorization, content-type", "Access-Control-Request-Private-Network": "true"})
        answer = walk.connection.getresponse()
        answer.read()
        assert "access-control-" not in str(answer.headers).lower(), (method, path, str(answer.headers))


def test_a_token_in_the_wrong_place_is_neither_taken_nor_shown(lab):
    walk = Walk(lab)
    before, secret = walk.everything(), walk.admin.token
    for name in ("access_token", "token", "limit", "cursor"):
        walk.refused(401, "unauthorized", "GET", "/api/v1/runs?%s=%s" % (name, secret))
        assert walk.send("GET", "/api/v1/runs?%s=%s" % (name, secret), secret).status == 400
    # Its secret where a token's id belongs: an easy mistake.
    walk.refused(404, "not_found", "DELETE", "/api/v1/tokens/" + secret, secret)
    walk.refused(405, "method_not_allowed", "GET", "/api/v1/tokens/" + secret, secret)
    walk.refused(404, "not_found", "GET", "/api/v1/runs/" + secret, secret)
    walk.refused(404, "not_found", "GET", "/api/v1/" + secret, secret)
    walk.refused(400, "malformed_json", "POST", "/api/v1/tokens", secret, secret)
    walk.refused(400, "invalid_field", "POST", "/api/v1/tokens", secret, json.dumps(secret))
    harness.unchanged(before, walk.everything())
    no_secrets(walk)


def no_secrets(walk):
    assert len(walk.secrets) >= 9
    log = walk.lab.server.text()
    for secret in walk.secrets:
        assert secret not in log and secret[3:] not in log, "a token is in the log"
        for request, text in walk.replies:
            assert secret not in text, "a token is in the reply to " + request


harness.main(globals())
