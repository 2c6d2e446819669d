"""The page before anybody has signed in."""

POLICY = {"default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self' data: blob:",
          "connect-src": "'self'", "base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'"}


def policy_of(reply):
    return dict(part.strip().split(" ", 1) for part in reply.headers["Content-Security-Policy"].split(";"))


def test_every_reply_is_locked_down(lab, page):
    paths = ["/", "/assets/app.css", "/assets/app.js", "/assets/chart.js"]
    for path in paths:
        reply = lab.admin.get(path)
        assert reply.status == 200, (path, reply)
        assert policy_of(reply) == POLICY, (path, reply.headers)
        assert reply.headers["X-Content-Type-Options"] == "nosniff", path
        assert reply.headers["Referrer-Policy"] == "no-referrer", path
    text = lab.admin.get("/").body.decode()
    assert "style=" not in text and "<script>" not in text and "javascript:" not in text, text


def test_first_view_is_small(lab, page):
    sizes = {path: len(lab.admin.get(path).body) for path in ("/", "/assets/app.css", "/assets/app.js")}
    assert sum(sizes.values()) < 300_000, sizes
