"""Two runs over each other: what is plotted is what the API has."""
import csv
import io
import re
import urllib.parse

import browser
import stage
from specs import synthetic_run


def place_of(runs, **query):
    return "/#/compare?" + urllib.parse.urlencode({"runs": ",".join(r["id"] for r in runs), **query}, safe=",")


def curve(lab, run, name):
    return lab.admin.ok("GET", "/api/v1/runs/%s/metrics?name=%s&device=aggregate" % (run["id"], name))["items"]


def plotted(page, count):
    sets = page.until(lambda: stage.drawn(page) if len(stage.drawn(page) or []) == count else None, "%d curves" % count)
    return {s["label"]: [(p["x"], p["y"]) for p in s["data"]] for s in sets}


def test_two_runs_are_chosen_and_plotted(lab, page):
    runs = stage.runs(lab)
    stage.sign_in(lab, page)
    page.click("checkbox", "Select " + runs[0]["name"])
    assert page.find("button", "Compare").get_property("disabled"), "one run is compared with nothing"
    page.click("checkbox", "Select " + runs[1]["name"])
    page.click("button", "Compare")
    page.find("heading", "Compare")
    assert "runs=" in page.place
    shown = plotted(page, 2)
    for run in runs:
        assert shown[run["name"]] == [(m["round"], m["value"]) for m in curve(lab, run, "train_loss")], run["name"]


def test_every_axis_and_metric_is_that_of_the_api(lab, page):
    runs = stage.runs(lab)
    stage.sign_in(lab, page, place_of(runs, metric="test_accuracy", x="steps"))
    shown = plotted(page, 2)
    for run in runs:
        done = {r["round"]: r["steps_done"] for r in lab.rounds(run["id"])}
        wanted = [(sum(n for r, n in done.items() if r < m["round"]), m["value"]) for m in curve(lab, run, "test_accuracy")]
        assert shown[run["name"]] == wanted, run["name"]
    page.choose("Over", "Time since the start")
    seconds = page.until(lambda: [s for s in stage.drawn(page) if s["data"][-1]["x"] != shown[s["label"]][-1][0]], "another axis")[0]["data"]
    assert all(a["x"] <= b["x"] for a, b in zip(seconds, seconds[1:])) and seconds[0]["x"] >= 0, seconds
    page.choose("Metric", "Gamma")
    page.choose("Over", "Round")
    wanted = [(m["round"], m["value"]) for m in curve(lab, runs[0], "gamma")]
    page.until(lambda: plotted(page, 2)[runs[0]["name"]] == wanted, "gamma by round")
    page.choose("Metric", "Duration of the round, ms")
    wanted = [(r["round"], r["duration_ms"]) for r in lab.rounds(runs[0]["id"])]
    page.until(lambda: plotted(page, 2)[runs[0]["name"]] == wanted, "the duration of each round")


def test_curves_grow_as_their_run_goes_on(lab, page):
    other = stage.runs(lab)[0]
    run = lab.run(lab.submit(synthetic_run(name="goes on", num_rounds=4, autostart=False)))
    page.hurry(10)
    stage.sign_in(lab, page, place_of([run, other], metric="bytes_in"))
    page.until(lambda: stage.drawn(page), "the other run")
    lab.admin.ok("POST", "/api/v1/runs/%s/start" % run["id"], {})
    lab.wait_run(run["id"])
    wanted = [(r["round"], r["bytes_in"]) for r in lab.rounds(run["id"])]
    page.until(lambda: plotted(page, 2).get(run["name"]) == wanted, "all its rounds")
    page.choose("Metric", "Train loss")
    wanted = [(m["round"], m["value"]) for m in curve(lab, run, "train_loss")]
    page.until(lambda: plotted(page, 2).get(run["name"]) == wanted, "its loss")


def test_settings_stand_in_the_link(lab, page):
    runs = stage.runs(lab)
    stage.sign_in(lab, page, place_of(runs, smooth="0.6", log="1"))
    smooth = plotted(page, 2)
    raw = [m["value"] for m in curve(lab, runs[0], "train_loss")]
    assert smooth[runs[0]["name"]][0][1] == raw[0]
    assert smooth[runs[0]["name"]][2][1] != raw[2], "it is not smoothed"
    page.click("checkbox", "Logarithmic scale")
    page.until(lambda: "log" not in page.place, "the link to follow")
    page.choose("Metric", "Test loss")
    page.until(lambda: "metric=test_loss" in page.place, "the link to follow")
    page.reload()
    page.until(lambda: stage.drawn(page), "the chart again")
    assert page.find("combobox", "Metric").get_attribute("value") == "test_loss"
    assert page.find("slider", re.compile("Smoothing")).get_attribute("value") == "0.6"
    assert not page.find("checkbox", "Logarithmic scale").is_selected()


def test_what_differs_and_how_they_ended(lab, page):
    runs = stage.runs(lab)
    stage.sign_in(lab, page, place_of(runs))
    page.find("table", "What differs between their specs")
    assert page.rows("What differs between their specs") == [["strategy.params.proximal_mu", "0", "1"]]
    last = {row[0]: row[1:] for row in page.rows("Last values")}
    values = [r["metrics"]["values"] for r in runs]
    assert [float(re.match(r"[\d.]+", cell).group()) for cell in last["Train loss"]] == [round(v["train_loss"], 4) for v in values], last
    assert [cell.split(" %")[0] for cell in last["Test accuracy"]] == ["%.1f" % (100 * v["test_accuracy"]) for v in values], last
    assert last["Rounds done"] == ["8", "8"], last


def test_other_runs_are_chosen(lab, page):
    runs = stage.runs(lab)
    stage.sign_in(lab, page, place_of(runs, smooth="0.3"))
    plotted(page, 2)
    page.click("button", "Leave out " + runs[0]["name"])
    assert set(plotted(page, 1)) == {runs[1]["name"]}
    assert page.place.count(runs[0]["id"]) == 0 and "smooth=0.3" in page.place, page.place
    page.click("button", "Other runs")
    page.until(lambda: page.find("checkbox", "Select " + runs[1]["name"]).is_selected(), "the choice so far")
    page.click("checkbox", "Select " + runs[0]["name"])
    page.click("button", "Compare")
    assert set(plotted(page, 2)) == {run["name"] for run in runs}
    assert "smooth=0.3" in page.place and "choose" not in page.place, page.place


def test_one_run_has_nothing_to_be_compared_with(lab, page):
    page.on_new_document("""const ask = globalThis.fetch;
        globalThis.fetch = (url, options) => (String(url).includes('/api/v1/runs?limit=200')
            ? Promise.resolve(new Response('{"items": [{}], "next_cursor": null}')) : ask(url, options));""")
    stage.sign_in(lab, page, "/#/compare")
    page.until_text("there is one. Make another here")
    page.click("link", "New run", within=page.find("main"))
    page.until(lambda: page.place.endswith("#/runs/new"), "the form of a new run")


def test_export(lab, page):
    runs = stage.runs(lab)
    stage.sign_in(lab, page, place_of(runs))
    plotted(page, 2)
    page.click("button", "CSV")
    with open(browser.downloaded(page.browser, r"compare.*\.csv$"), newline="") as f:
        rows = list(csv.reader(io.StringIO(f.read())))
    assert rows[0] == ["series", "round", "Train loss"], rows[0]
    assert [(name, int(n), float(v)) for name, n, v in rows[1:]] == \
        [(run["name"], m["round"], m["value"]) for run in runs for m in curve(lab, run, "train_loss")]
    page.click("button", "SVG")
    with open(browser.downloaded(page.browser, r"compare.*\.svg$")) as f:
        text = f.read()
    assert text.startswith("<svg") and all(r["name"] in text for r in runs), text[:300]
    page.click("button", "PNG")
    with open(browser.downloaded(page.browser, r"compare.*\.png$"), "rb") as f:
        assert f.read(8) == b"\x89PNG\r\n\x1a\n"
