"""The table of runs and the form of a new one, with real workers behind them."""
import json
import re

import specs
import stage
from device import Device, small_spec
from selenium.webdriver.common.keys import Keys


def row(page, name):
    """The cells of a run's row; None while it has none."""
    return next((cells for cells in page.rows("Runs") if cells[1].split("\n")[0] == name), None)


def pick(page, name):
    page.click("checkbox", "Select " + name)


def spec_on_page(page):
    return json.loads(page.find("textbox", "Run spec").get_property("value"))


def open_form(lab, page, **sign_in):
    stage.workers(lab)
    stage.sign_in(lab, page, "/#/runs/new", **sign_in)
    page.find("heading", "New run")
    page.click("button", re.compile("^synthetic"))  # there may be other data sets


def test_the_runs_are_shown_as_the_api_has_them(lab, page):
    done = stage.runs(lab)
    stage.sign_in(lab, page)
    page.find("table", "Runs")
    for run in done:
        run = lab.admin.ok("GET", "/api/v1/runs/" + run["id"])
        values = run["metrics"]["values"]
        cells = row(page, run["name"])
        assert cells[2] == "completed" and cells[3] == "fedprox", cells
        assert cells[4] == "%g" % run["spec"]["strategy"]["params"]["proximal_mu"], cells
        assert cells[5].startswith("8 / 8"), cells
        assert abs(float(cells[6]) - values["train_loss"]) <= 0.0005 * max(1, values["train_loss"]), (cells, values)
        assert cells[7].startswith("%.1f" % (100 * values["test_accuracy"])), (cells, values)
    assert page.js("return document.querySelectorAll('tbody .spark polyline').length") >= 2 * len(done)
    page.check_view()
    page.resize(360)
    page.check_fits()


def test_names_are_text_whatever_they_say(lab, page):
    names = [stage.HOSTILE, stage.RIGHT_TO_LEFT, "\"'&lt;b>"]
    for name in names:
        lab.submit(specs.synthetic_run(name=name, experiment=name, autostart=False))
    stage.sign_in(lab, page)
    for name in names:
        cells = page.until(lambda name=name: row(page, name), "the row of " + name)
        assert cells[1].startswith(name + "\n" + name), cells
    assert page.js("return document.querySelectorAll('main img, main b').length") == 0
    assert page.js("return [...document.querySelectorAll('tbody a')].every((a) => a.querySelector('bdi'))")


def test_finding_and_sorting_stand_in_the_link(lab, page):
    stage.runs(lab)
    lab.submit(specs.synthetic_run(name="not-started", autostart=False))
    stage.sign_in(lab, page)
    page.until(lambda: row(page, "not-started"), "all runs")
    page.fill("Find runs by name, experiment, data set, strategy or id", "TERM", role="searchbox")
    page.choose("Status", "Completed")
    names = lambda: [cells[1].split("\n")[0] for cells in page.rows("Runs")]
    page.until(lambda: sorted(names()) == ["with-term", "without-term"], "what was looked for")
    page.click("button", "Mu")
    page.until(lambda: names() == ["with-term", "without-term"], "the larger mu first")
    page.click("button", "Mu")
    page.until(lambda: names() == ["without-term", "with-term"], "the smaller mu first")
    assert page.place == "#/runs?q=TERM&status=completed&sort=mu.asc", page.place
    page.reload()
    page.until(lambda: names() == ["without-term", "with-term"], "the same after a reload")
    page.fill("Find runs by name, experiment, data set, strategy or id", "no such run", role="searchbox")
    page.click("button", "Show all")
    page.until(lambda: row(page, "not-started"), "all runs again")
    assert page.place == "#/runs?sort=mu.asc", page.place


def test_a_run_from_the_form_is_watched_to_its_end(lab, page):
    open_form(lab, page)
    page.fill("Name", "by hand")
    page.fill("Rounds", "6")
    assert spec_on_page(page)["model"] == {"input": [60], "layers": [{"type": "dense", "units": 10}], "init": "zeros"}
    page.fill("Learning rate", "0.01")
    page.fill("Hidden layers", "8")
    page.click("button", "Start the run")
    page.until(lambda: re.fullmatch("#/runs/[0-9a-f]{32}", page.place), "the place of the new run")
    run_id = page.place.split("/")[-1]
    page.js("location.hash = '#/runs'; window.isSamePage = true")
    page.until(lambda: row(page, "by hand")[2] == "completed", "the end of the run")
    assert page.js("return window.isSamePage") is True
    run = lab.admin.ok("GET", "/api/v1/runs/" + run_id)
    assert run["outcome"] == "completed" and len(run["spec"]["model"]["layers"]) == 3, run
    assert row(page, "by hand")[7].startswith("%.1f" % (100 * run["metrics"]["values"]["test_accuracy"]))


def test_form_and_json_stay_in_step(lab, page):
    open_form(lab, page)
    page.choose("Proximal mu", "Dynamic")
    page.fill("Patience", "3")
    assert spec_on_page(page)["strategy"] == {"params": {"proximal_mu": {"dynamic": {"patience": 3}}}}
    text = page.find("textbox", "Run spec")
    spec = {**spec_on_page(page), "num_rounds": 77, "strategy": {"params": {"proximal_mu": 0.25}}}
    page.js("arguments[0].focus(); arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', {bubbles: true}))",
            text, json.dumps(spec))
    assert page.find("textbox", "Rounds").get_property("value") == "77"
    assert page.find("textbox", "Number").get_property("value") == "0.25"
    text.send_keys("}")
    page.until_text("This is not JSON yet")
    page.click("button", "Start the run")
    assert page.place == "#/runs/new" and page.js("return document.activeElement.id") == "spec-json"
    text.send_keys(Keys.BACKSPACE)
    page.fill("Number", "0.5")
    assert "\"proximal_mu\":0.5" in page.js("return document.querySelector('.command code').textContent")
    assert spec_on_page(page)["strategy"] == {"params": {"proximal_mu": 0.5}}
    page.js("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    page.check_view(keyboard=False)


def test_errors_stand_at_their_fields(lab, page):
    page.allow("400 .Bad Request")
    open_form(lab, page)
    page.fill("Rounds", "many")
    page.fill("Learning rate", "-1")
    page.click("button", "Start the run")
    rounds, rate = page.find("textbox", "Rounds"), page.find("textbox", "Learning rate")
    described = lambda field: page.js("return arguments[0].getAttribute('aria-describedby').split(' ')"
                                      ".map((id) => document.getElementById(id).textContent).join(' ')", field)
    assert "not a number" in described(rounds) and "at least" in described(rate), (described(rounds), described(rate))
    assert page.js("return document.activeElement === arguments[0]", rounds)
    page.fill("Rounds", "5")
    page.fill("Learning rate", "0.1")
    # Only the server knows this one.
    page.fill("Local steps", "3")
    page.click("button", "Start the run")
    page.until_text("give one of them, not both")
    assert "not both" in described(page.find("textbox", "Local steps"))
    assert page.place == "#/runs/new"


def test_a_run_is_cloned_changed_and_steered(lab, page):
    """Its devices do nothing: its first round stays open, whatever the machine has to do."""
    for k in range(2):
        Device(lab, k, dataset="steered")
    lab.submit(small_spec(2, name="steered", dataset="steered", systems={"straggler_fraction": 0.5}, autostart=False))
    stage.sign_in(lab, page)
    pick(page, "steered")
    page.click("button", "Clone")
    page.until(lambda: page.has("heading", "New run") and spec_on_page(page), "the form")
    spec = spec_on_page(page)
    assert spec["name"] == "steered copy" and spec["systems"] == {"straggler_fraction": 0.5}, spec
    assert "reporting" not in spec or "grace_s" not in spec["reporting"], spec
    page.choose("Start at once", "No")
    page.fill("Rounds", "100000")
    page.click("button", "Create the run")
    page.until(lambda: re.fullmatch("#/runs/[0-9a-f]{32}", page.place), "the place of the new run")
    assert lab.run(page.place.split("/")[-1])["num_rounds"] == 100000
    page.js("location.hash = '#/runs'")
    status = lambda: row(page, "steered copy")[2]
    page.until(lambda: row(page, "steered copy") and status() == "pending", "the new run")
    pick(page, "steered copy")
    page.click("button", "Start")
    page.until(lambda: status() == "running", "that it runs")
    page.click("button", "Pause")
    page.click("button", "Cancel")
    page.click("button", "Pause")
    page.click("button", "Pause the run")
    page.until(lambda: status() == "paused", "that it pauses")
    page.click("button", "Resume")
    page.until(lambda: status() == "running", "that it goes on")
    page.click("button", "Stop")
    page.keys(Keys.ESCAPE)
    assert status() == "running"
    page.click("button", "Stop")
    page.click("button", "Stop the run")
    page.until(lambda: status() == "stopped", "that it is stopped")


def test_a_draft_outlives_the_session(lab, page):
    page.allow("401 .Unauthorized")
    made = lab.admin.ok("POST", "/api/v1/tokens", {"name": "short", "role": "operator"})
    open_form(lab, page, token=made["token"])
    page.fill("Name", "half done")
    lab.admin.ok("DELETE", "/api/v1/tokens/" + made["id"])
    page.click("button", "Start the run")
    page.until_text("Your token was revoked")
    assert page.place == "#/runs/new"
    page.fill("Token", lab.admin.token)
    page.click("button", "Sign in")
    page.until(lambda: page.has("heading", "New run") and spec_on_page(page)["name"] == "half done", "the draft")
    page.click("button", "Start over")
    page.until(lambda: "name" not in spec_on_page(page), "an empty form")


def test_viewers_only_look(lab, page):
    stage.runs(lab)
    stage.sign_in(lab, page, role="viewer")
    pick(page, "with-term")
    pick(page, "without-term")
    page.find("button", "Compare")
    for role, name in (("link", "New run"), ("button", "Clone"), ("button", "Stop"), ("button", "Start")):
        assert not page.has(role, name), name
    page.js("location.hash = '#/runs/new'")
    page.until_text("Your token only reads")
