"""A page that lives: a connection that is lost, devices that come and go."""
import harness
import stage
from specs import synthetic_run


def mark(page):
    """What a reload would take away."""
    page.js("globalThis.fedlaneMark = 1")


def not_reloaded(page):
    assert page.js("return globalThis.fedlaneMark") == 1, "the page was loaded again"


def finished(row):
    return row if row and any("completed" in cell for cell in row) else None


def test_stop_and_restart_under_an_open_page(lab, page):
    stage.workers(lab)
    before = lab.wait_run(lab.submit(synthetic_run(name="before the restart", num_rounds=2)))
    stage.sign_in(lab, page)
    page.until(lambda: stage.row_of(page, "Runs", before["name"]), "the run in the table")
    page.until_text("Live")
    mark(page)
    page.allow("ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY|Failed to fetch|network error")
    assert lab.server.stop() == 0
    page.until_text("Offline")
    assert stage.row_of(page, "Runs", before["name"]), "what was known stays"
    lab.start_server()
    run = lab.submit(synthetic_run(name="after the restart", num_rounds=2, autostart=False))
    page.until_text("Live")
    page.until(lambda: stage.row_of(page, "Runs", "after the restart"), "the run that came meanwhile")
    lab.admin.ok("POST", "/api/v1/runs/%s/start" % run)
    page.until(lambda: finished(stage.row_of(page, "Runs", "after the restart")), "events after the restart")
    names = [row[1].splitlines()[0] for row in page.rows("Runs")]
    assert len(names) == len(set(names)) or names.count("after the restart") == 1, names
    not_reloaded(page)


def test_what_is_gone_comes_back(lab, page):
    """Something in between knows nothing for a while: the page says that there is no such run, then shows it again."""
    page.allow("404|network error|Failed to fetch")
    page.on_new_document("""
        const ask = globalThis.fetch, cut = new AbortController();
        globalThis.fedlaneGone = (is) => { globalThis.fedlaneIsGone = is; cut.abort(); };
        globalThis.fetch = (url, options) => (globalThis.fedlaneIsGone ? Promise.resolve(new Response('{"code": "not_found", "detail": "?"}', {status: 404}))
            : ask(url, cut.signal.aborted ? options : {...options, signal: AbortSignal.any([options.signal, cut.signal])}));""")
    run = stage.runs(lab)[0]
    stage.sign_in(lab, page, "/#/runs/" + run["id"])
    page.until(lambda: page.has("heading", run["name"]) and page.live_state() == "live", "the run")
    page.js("globalThis.fedlaneGone(true)")
    page.until_text("There is no such run")
    page.js("globalThis.fedlaneGone(false)")
    page.until(lambda: page.has("heading", run["name"]) and page.live_state() == "live", "the run again")


def test_devices_come_and_go(lab, page):
    stage.sign_in(lab, page, "/#/devices?dataset=guests")
    page.find("heading", "Devices") if stage.devices(lab, "") else page.until_text("No device is enrolled yet")
    mark(page)
    enroll = harness.Client(lab.url, lab.token("enrollment.token"))
    guest = enroll.ok("POST", "/api/v1/devices", {"name": "guest", "dataset": "guests", "num_examples": 5, "labels": {"room": "kitchen"}})
    row = page.until(lambda: stage.row_of(page, "Devices", "guest"), "the guest in the table")
    assert any("room=kitchen" in cell for cell in row) and any("online" in cell for cell in row), row
    page.click("link", "guest")
    page.click("button", "Revoke")
    page.click("button", "Cancel", within=page.find("dialog"))
    page.until(lambda: not page.has("dialog"), "the dialog to close")
    assert lab.admin.ok("GET", "/api/v1/devices/" + guest["device_id"])["status"] == "online", "revoked without a yes"
    page.click("button", "Revoke")
    page.click("button", "Revoke", within=page.find("dialog"))
    page.until_text("guest is revoked")
    page.until(lambda: not page.has("button", "Revoke"), "nothing more to revoke")
    assert lab.admin.ok("GET", "/api/v1/devices/" + guest["device_id"])["status"] == "revoked"
    not_reloaded(page)
