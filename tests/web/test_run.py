"""The page of one run: what it shows is what the API has, live and by keyboard alone."""
import csv
import io
import json
import re

import browser
import stage
from browser import Keys
from device import Device, small_spec
from specs import synthetic_run

STRIP = re.compile("Round strip")


def place_of(run):
    return "/#/runs/" + run["id"]


def work_of(lab, run):
    return lab.admin.ok("GET", "/api/v1/runs/%s/work?limit=1000" % run["id"])["items"]


def curve(lab, run, name):
    items = lab.admin.ok("GET", "/api/v1/runs/%s/metrics?name=%s&device=aggregate" % (run["id"], name))["items"]
    return [(m["round"], m["value"]) for m in items]


def plotted(page):
    """The points of every line and of every edge of a band, by the title of its chart."""
    return page.js("""return Object.fromEntries(Object.values(globalThis.Chart?.instances ?? {}).map((chart) => [
        chart.canvas.closest('figure').querySelector('.chart-title').textContent,
        chart.data.datasets.map((set) => set.data.map((p) => [p.x, p.y]))]))""")


def values(page, title):
    """The rows of a chart's table of values, oldest first."""
    figure = page.js("return [...document.querySelectorAll('figure')].find((f) =>"
                     " f.querySelector('.chart-title').textContent === arguments[0])", title)
    page.js("arguments[0].querySelector('details').open = true", figure)
    rows = page.until(lambda: page.js("return [...arguments[0].querySelectorAll('tbody tr')].map((r) =>"
                                      " [...r.cells].map((c) => c.innerText))", figure), "the values of " + title)
    return rows[::-1]


def counts(item):
    return [sum(cell[1] == state for cell in item["cells"]) for state in ("completed", "partial", "late", "failed", "dropped")]


def shown_counts(page):
    return {row[0].split(",")[0]: [int(n) for n in row[2:7]] for row in page.rows("Rounds")}


def test_a_run_shows_what_the_api_has(lab, page):
    run = stage.runs(lab)[1]
    stage.sign_in(lab, page, place_of(run))
    page.find("heading", "with-term")
    work = work_of(lab, run)
    newest = {str(item["round"]): counts(item) for item in work[-9:]}
    page.until(lambda: shown_counts(page) == newest, "the rounds of the API")
    drawn = page.until(lambda: plotted(page) if "Gamma" in plotted(page) else None, "the charts")
    points = lambda pairs: [list(p) for p in pairs]  # noqa: E731
    assert drawn["Loss"] == [points(curve(lab, run, "train_loss")), points(curve(lab, run, "test_loss"))]
    assert drawn["Accuracy"] == [points(curve(lab, run, "test_accuracy")), points(curve(lab, run, "test_accuracy_p10")),
                                 points(curve(lab, run, "test_accuracy_p90")), points(curve(lab, run, "test_accuracy_p50"))]
    rounds = lab.rounds(run["id"])
    of_rounds = lambda name: [[r["round"], r[name]] for r in rounds if r[name] is not None]  # noqa: E731
    assert drawn["Gamma"] == [of_rounds("mean_gamma")]
    assert drawn["Proximal mu"] == [of_rounds("proximal_mu")]
    assert drawn["Duration"] == [of_rounds("duration_ms")]
    assert drawn["Bytes"] == [of_rounds("bytes_in"), of_rounds("bytes_out")]
    assert [row[:2] for row in values(page, "Loss")] == [[str(n), "%.4f" % v if v < 1 else "%.3f" % v] for n, v in curve(lab, run, "train_loss")]
    files = page.find("group", "Save the chart: Loss")
    page.click("button", "CSV", within=files)
    with open(browser.downloaded(page.browser, r"^with-term loss\.csv$"), newline="") as f:
        rows = list(csv.reader(f))
    assert rows[0] == ["series", "round", "value"], rows[0]
    assert [(name, int(n), float(v)) for name, n, v in rows[1:]] == [
        (title, n, v) for title, name in (("training data", "train_loss"), ("test data", "test_loss")) for n, v in curve(lab, run, name)]
    assert not page.js("return [...document.querySelectorAll('.chart-drawn')].some((p) => !p.hidden)"), "all is drawn"
    page.click("button", "SVG", within=files)
    with open(browser.downloaded(page.browser, r"^with-term loss\.svg$")) as f:
        assert f.read().startswith("<svg")


def readout(page):
    return page.js("return document.querySelector('.strip-readout').textContent")


def next_device(page, n, told):
    """What the strip says of a device that it has not spoken of yet."""
    match = re.match(r"Round %d: completed; .* · (device .*)" % n, readout(page))
    return match[1] if match and match[1] not in told else None


def legend(page):
    return page.js("return document.querySelector('.strip .legend').innerText")


def test_the_strip_tells_every_device_by_keyboard(lab, page):
    run = stage.runs(lab)[1]
    stage.sign_in(lab, page, place_of(run))
    strip = page.find("application", STRIP)
    cells = [cell for item in work_of(lab, run) for cell in item["cells"]]
    sums = [sum(cell[k] for cell in cells) for k in (2, 3)]
    states = ", ".join("%d %s" % (n, name) for name in ("completed", "partial") for n in [sum(c[1] == name for c in cells)] if n)
    page.until(lambda: readout(page) == "8 rounds: %s; %.1f %% of the steps" % (states, 100 * sums[0] / sums[1]), "the work")
    page.js("arguments[0].focus()", strip)
    page.keys(Keys.HOME, Keys.ARROW_UP)
    for item in work_of(lab, run)[:3]:
        told = [page.until(lambda: next_device(page, item["round"], []), "the lowest device")]
        while len(told) < len(item["cells"]):
            page.keys(Keys.ARROW_UP)
            told.append(page.until(lambda: next_device(page, item["round"], told), "the next device"))
        assert set(told) == {"device %d: %s, %s of %s steps (%.1f %%)" % (n, state, "{:,}".format(done), "{:,}".format(of), 100 * done / of)
                             for n, state, done, of in item["cells"]}, told
        page.keys(*[Keys.ARROW_DOWN] * len(told), Keys.ARROW_RIGHT)
    page.keys(Keys.HOME, Keys.ENTER)
    page.find("heading", "Round 0")


def test_a_run_lives(lab, page):
    stage.workers(lab)
    run = lab.run(lab.submit(synthetic_run(name="alive", num_rounds=6, autostart=False)))
    stage.sign_in(lab, page, place_of(run))
    page.until_text("pending")
    page.js("globalThis.fedlaneMark = 1")
    page.click("button", "Start")
    page.until_text("6 of 6 rounds")
    page.until_text("all 6 rounds are done")
    newest = page.until(lambda: page.js("const li = document.querySelector('.log li'); return /Run completed/.test(li.innerText) && li.innerText"), "the last event")
    assert "all 6 rounds are done" in newest
    events = page.js("return document.querySelector('.log').innerText")
    assert "Final evaluation: its measurements are averaged" in events and "no updates" not in events, events
    assert "dropped" in legend(page) and "round" not in legend(page) and "no update counted" not in page.js("return document.body.innerText")
    wanted = {str(item["round"]): counts(item) for item in work_of(lab, run)}
    page.until(lambda: shown_counts(page) == wanted, "every cell of every round")
    page.until(lambda: plotted(page).get("Loss", [[]])[0] == [list(p) for p in curve(lab, run, "train_loss")], "every loss")
    page.until(lambda: len(plotted(page)["Duration"][0]) == 7, "every duration")
    page.until(lambda: not page.has("button", "Pause") and not page.has("button", "Stop"), "the buttons to go")
    assert page.js("return globalThis.fedlaneMark") == 1, "the page was loaded again"
    seqs = page.js("return [...document.querySelectorAll('.log-seq')].map((n) => Number(n.textContent.replace(',', '')))")
    assert seqs == sorted(set(seqs), reverse=True), "events twice or out of order: %s" % seqs


def test_the_strip_follows_a_run(lab, page):
    """However late the browser tells that it has scrolled."""
    stage.workers(lab)
    run = lab.run(lab.submit(synthetic_run(name="followed", num_rounds=30, autostart=False, evaluation={"on": "none"},
                                           selection={"devices_per_round": 2})))
    page.on_new_document("""const add = EventTarget.prototype.addEventListener;
        EventTarget.prototype.addEventListener = function (type, f, options) {
            add.call(this, type, type === 'scroll' ? (event) => setTimeout(() => f.call(this, event), 250) : f, options);
        };""")
    page.resize(browser.PHONE)
    stage.sign_in(lab, page, place_of(run) + "?zoom=24")
    page.click("button", "Start")
    page.until_text("all 30 rounds are done")
    page.until(lambda: page.js("""const box = document.querySelector('.strip-scroll');
        return box.scrollWidth > box.clientWidth && box.scrollLeft + box.clientWidth > 29 * 24"""), "the last round in sight", 5)


def test_a_restart_under_a_run_loses_nothing(lab, page):
    """Two devices by hand, so that the server ends in the middle of a round."""
    page.allow("ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY|Failed to fetch|network error|503")
    devices = [Device(lab, k, dataset="restarted") for k in range(2)]
    run = lab.run(lab.submit(small_spec(2, name="restarted", dataset="restarted", num_rounds=12, evaluation={"on": "selected"})))
    stage.sign_in(lab, page, place_of(run))

    def deliver(device, task):
        reply = device.update(task, eval_train_loss=1 / (2 + task["round"]), eval_train_examples=4, train_loss_start=1, train_loss_end=1)
        assert reply.status == 200, reply

    def play(rounds):
        for device in devices * rounds:
            deliver(device, stage.task_of(device))

    play(3)
    page.until_text("Round 3: ")
    page.js("globalThis.fedlaneMark = 1")
    deliver(devices[0], stage.task_of(devices[0]))
    task = stage.task_of(devices[1])
    assert lab.server.stop() == 0
    page.until_text("Offline")
    lab.start_server()
    deliver(devices[1], task)
    play(8)
    page.until_text("12 of 12 rounds")
    for device in devices:
        task = stage.task_of(device)
        assert device.http.request("PUT", "/api/v1/tasks/%s/update" % task["task_id"],
                                   {"attempt": task["attempt"], "eval_train_loss": 0.05, "eval_train_examples": 4}).status == 200
    page.until_text("all 12 rounds are done")
    wanted = {str(item["round"]): counts(item) for item in work_of(lab, run)[-10:]}
    page.until(lambda: shown_counts(page) == wanted, "every cell of the last rounds")
    page.until(lambda: plotted(page).get("Loss", [[]])[0] == [list(p) for p in curve(lab, run, "train_loss")], "every loss, once")
    page.until(lambda: plotted(page)["Bytes"][0] == [[r["round"], r["bytes_in"]] for r in lab.rounds(run["id"])], "every round's bytes")
    assert page.js("return globalThis.fedlaneMark") == 1, "the page was loaded again"


def test_stopping_asks_first(lab, page):
    stage.workers(lab)
    run = lab.run(lab.submit(synthetic_run(name="to stop", autostart=False)))
    stage.sign_in(lab, page, place_of(run))
    page.click("button", "Stop")
    page.click("button", "Cancel", within=page.find("dialog"))
    assert lab.run(run["id"])["status"] == "pending"
    page.click("button", "Stop")
    page.find("dialog")
    page.js("location.hash = '#/runs'")
    page.until(lambda: not page.has("dialog"), "the question to go with its page")
    page.js("history.back()")
    page.click("button", "Stop")
    page.click("button", "Stop the run", within=page.find("dialog"))
    page.until_text("stopped")
    assert lab.run(run["id"])["outcome"] == "stopped"


def test_a_viewer_has_no_buttons_but_files(lab, page):
    stage.workers(lab)
    run = lab.run(lab.submit(synthetic_run(name="only to look at", autostart=False)))
    stage.sign_in(lab, page, place_of(run), role="viewer")
    page.find("heading", "only to look at")
    page.find("button", "Download spec")
    assert not page.has("button", "Start") and not page.has("button", "Stop") and not page.has("link", "Clone")


def test_downloads_are_those_of_the_api(lab, page):
    run = stage.runs(lab)[0]
    stage.sign_in(lab, page, place_of(run))
    versions = page.until(lambda: page.js("return [...document.querySelectorAll('#model-version option')].map((o) => o.text)"), "the versions")
    assert versions[0] == "latest" and re.match(r"\d+ \(", versions[1]), versions
    page.click("button", "Download weights")
    with open(browser.downloaded(page.browser, r"^without-term-model-latest\.safetensors$"), "rb") as f:
        assert f.read() == lab.admin.get("/api/v1/runs/%s/models/latest/weights" % run["id"]).body
    page.click("button", "Download metrics")
    with open(browser.downloaded(page.browser, r"^without-term-metrics\.csv$")) as f:
        rows = list(csv.DictReader(io.StringIO(f.read())))
    mean = [(int(r["round"]), float(r["value"])) for r in rows if r["name"] == "train_loss" and r["ordinal"] == ""]
    assert mean == curve(lab, run, "train_loss")
    page.click("button", "Download spec")
    with open(browser.downloaded(page.browser, r"^without-term-spec\.json$")) as f:
        assert json.load(f) == run["spec"]
    assert lab.admin.token not in page.js("return document.documentElement.outerHTML"), "a token on the page"


def show_fields(page):
    """They are asked for when they come into view; what is above them may still grow."""
    def look():
        page.js("arguments[0].scrollIntoView()", page.find("heading", "Spec"))
        return page.has("table", "Fields of the run spec")
    page.until(look, "the fields of the spec")


def test_what_was_chosen_is_told_from_defaults(lab, page):
    run = stage.runs(lab)[1]
    stage.sign_in(lab, page, place_of(run))
    show_fields(page)
    shown = {row[0]: row[1:] for row in page.rows("Fields of the run spec")}
    assert shown["training.learning_rate"] == ["0.01", "required"]
    assert shown["training.local_epochs"] == ["2", "1"]
    assert "training.batch_size" not in shown and "strategy.params.proximal_mu" not in shown
    page.check_tables()
    page.click("checkbox", re.compile("the defaults"))
    shown = {row[0]: row[1:] for row in page.rows("Fields of the run spec")}
    assert shown["training.batch_size"] == ["10", "10"]


def test_without_chartjs_the_values_stand_there(lab, page):
    run = stage.runs(lab)[0]
    page.cdp("Network.enable")
    page.cdp("Network.setBlockedURLs", {"urls": ["*/assets/chart.js"]})
    page.allow("chart.js")
    stage.sign_in(lab, page, place_of(run))
    page.until_text("Chart.js did not come from /assets/chart.js")
    assert len(values(page, "Loss")) == len(curve(lab, run, "train_loss"))
    page.cdp("Network.setBlockedURLs", {"urls": []})
    page.click("button", "Try again")
    page.until(lambda: plotted(page), "the chart at the second try")


def test_hostile_names_are_text(lab, page):
    stage.workers(lab)
    for name in (stage.HOSTILE, stage.RIGHT_TO_LEFT):
        run = lab.wait_run(lab.submit(synthetic_run(name=name, num_rounds=1, experiment=name)))
        stage.sign_in(lab, page, place_of(run)) if name == stage.HOSTILE else page.open(place_of(run))
        page.find("heading", name)
        assert page.js("return document.title").startswith(name.replace("\u202e", "")), "what turns a line stands in the title"
        assert not page.js("return document.querySelector('main img')"), "markup out of a name"
        page.open(place_of(run) + "/rounds/0")
        page.find("link", name)


def test_a_run_that_is_not_there(lab, page):
    page.allow("404")
    stage.sign_in(lab, page, "/#/runs/" + "0" * 32)
    page.until_text("There is no such run")
    page.open("/#/runs/not-an-id")
    page.until_text("There is no such run")
    page.click("link", "All runs")
    page.find("heading", "Runs")


def test_metrics_that_are_not_finite(lab, page):
    """Two devices by hand say NaN, infinity, then numbers."""
    devices = [Device(lab, k, dataset="astray") for k in range(2)]
    run = lab.run(lab.submit(small_spec(2, name="astray", dataset="astray", num_rounds=3, evaluation={"on": "selected"})))
    stage.sign_in(lab, page, place_of(run))
    page.until_text("The first value comes when a round has been evaluated.")
    for loss in ("NaN", "Infinity", 0.5):
        for device in devices:
            task = stage.task_of(device)
            reply = device.update(task, eval_train_loss=loss, eval_train_examples=4, train_loss_start=loss, train_loss_end=loss, gamma="Infinity")
            assert reply.status == 200, reply
            if loss == "NaN" and device is devices[-1]:
                page.until_text("None of the values is a finite number.")
    page.until_text(re.compile(r"Gaps: \d+ values? (is|are) NaN or infinite"))
    page.until(lambda: [row[1] for row in values(page, "Loss")][:3] == ["NaN", "Infinity", "0.5000"], "the values as they came")
    assert [v for _, v in curve(lab, run, "train_loss")][:3] == ["NaN", "Infinity", 0.5]
    page.until(lambda: plotted(page).get("Loss", [[]])[0][:3] == [[0, None], [1, None], [2, 0.5]], "gaps, not numbers")
    page.open(place_of(run) + "/rounds/0")
    measured = {"gamma": "\u221e", "train_loss": "NaN", "train_loss_start": "NaN", "train_loss_end": "NaN"}
    page.until(lambda: dict(page.rows("Measurements over all devices")) == measured, "what it measured")


def test_a_round_without_an_update(lab, page):
    page.hurry(10)
    devices = [Device(lab, k, dataset="tired") for k in range(2)]
    run = lab.run(lab.submit(small_spec(2, name="tired", dataset="tired", num_rounds=1, reporting={"on_too_few": "skip"})))
    stage.sign_in(lab, page, place_of(run))
    page.until_text(re.compile("Round 0: training; 2 open"))
    page.until_text(re.compile(r"The round closes in [45] min at the latest\."))
    for device in devices:
        task = stage.task_of(device)
        device.http.ok("POST", "/api/v1/tasks/%s/progress" % task["task_id"], {"steps_done": 3})
    page.until_text(re.compile(r"Round 0: training; 2 open; 75\.0 % of the steps"))
    for device in devices:
        task = device.claim()
        device.http.ok("POST", "/api/v1/tasks/%s/fail" % task["task_id"], {"code": "out_of_memory", "detail": stage.HOSTILE, "steps_done": 1})
    page.until(lambda: [row[2:7] for row in page.rows("Rounds") if row[0] == "0"] == [["0", "0", "0", "2", "0"]], "two that failed")
    page.until_text("2 of 2 tasks failed, in round 0: out_of_memory. In 1 of 1 round no update counted, so the model did not change.")
    page.until(lambda: "round skipped" in legend(page), "the dash in the legend")
    assert "round failed" not in legend(page)
    page.click("link", "round 0")
    page.until_text("No update came, so the weights stayed as they were.")
    assert all("out_of_memory" in row[1] and stage.HOSTILE in row[1] for row in page.rows("Training tasks")), page.rows("Training tasks")


def test_the_run_is_for_everybody(lab, page):
    run = stage.runs(lab)[1]
    stage.sign_in(lab, page, place_of(run))
    page.until(lambda: "Gamma" in plotted(page), "the charts")
    show_fields(page)
    page.check_view()
    page.resize(browser.PHONE)
    page.js("window.scrollTo(0, 0)")
    page.check_view(keyboard=False)

