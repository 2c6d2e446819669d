"""The page itself: what it is allowed, and what it costs; and that the manual's pictures show it as it is."""
import base64
import os

import screenshots
import stage

POLICY = {"default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self' data: blob:",
          "connect-src": "'self'", "base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'"}


def policy_of(reply):
    return dict(part.strip().split(" ", 1) for part in reply.headers["Content-Security-Policy"].split(";"))


def test_page_asks_who_is_there(lab, page):
    page.open("/")
    page.find("textbox", "Token")
    page.find("button", "Sign in")
    page.collect()
    headers = page.replies[page.origin + "/"]["headers"]
    assert any(h.lower() == "content-security-policy" for h in headers), headers
    assert page.js("return document.title"), "the page has no title"
    assert page.js("return document.documentElement.lang") == "en"
    page.check_view()


def test_a_page_without_its_script_is_not_blank(lab, page):
    page.allow("ERR_BLOCKED_BY_CLIENT|ERR_FAILED")
    page.cdp("Network.enable")
    page.cdp("Network.setBlockedURLs", {"urls": ["*/assets/app.js"]})
    try:
        page.open("/")
        page.until(lambda: page.js("return document.querySelector('.boot')?.getAnimations()[0]"), "it to wait a little")
        page.js("document.querySelector('.boot').getAnimations()[0].finish()")
        page.until_text("reload this page")
    finally:
        page.cdp("Network.setBlockedURLs", {"urls": []})


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
    """The page, its style, its logic, one API page and the event stream; what comes over the wire for them."""
    stage.sign_in(lab, page)
    page.until(lambda: page.has("status", "Live") or "Live" in page.text(), "the page to be live")
    page.collect()
    page.requests.clear(), page.bytes.clear()
    page.cdp("Network.clearBrowserCache")
    page.reload()
    page.find("heading", "Runs")
    page.until(lambda: "Live" in page.text(), "the page to be live")
    page.collect()
    asked = [u for u in page.requests if u.startswith(page.origin)]
    assert len(asked) <= 5, asked
    assert sum(page.bytes.values()) < 300_000, page.bytes


def test_a_picture_is_the_page(lab, page):
    stage.sign_in(lab, page, "/#/runs")
    page.find("heading", "Runs")
    path = os.path.join(lab.folder, "picture.png")
    taken = screenshots.shoot(page, path)
    with open(path, "rb") as f:
        made = base64.b64encode(f.read()).decode()
    size, far = page.driver.execute_async_script("""
        const [taken, made, done] = arguments;
        const pixels = async (png) => {
            const image = await createImageBitmap(new Blob([Uint8Array.from(atob(png), (c) => c.charCodeAt(0))]));
            const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d');
            canvas.drawImage(image, 0, 0);
            return [[image.width, image.height], canvas.getImageData(0, 0, image.width, image.height).data];
        };
        Promise.all([pixels(taken), pixels(made)]).then(([[size, a], [, b]]) =>
            done([size, a.length === b.length && a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0)]));""", taken, made)
    assert size == [1280, 900] and far is not False and far < 40, (size, far)
    assert len(made) < len(taken) / 2, (len(made), len(taken))
