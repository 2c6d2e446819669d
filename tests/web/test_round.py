"""The page of one round: its tasks as the API has them, its neighbours, rounds that are open or still to come."""
import re

import browser
import stage
from specs import synthetic_run


def place_of(run, n):
    return "/#/runs/%s/rounds/%d" % (run["id"], n)


def tasks_of(lab, run, n, kind="train"):
    return lab.admin.ok("GET", "/api/v1/runs/%s/rounds/%d/tasks?limit=1000&type=%s" % (run["id"], n, kind))["items"]


def loss(value):
    return "%.4f" % value if value < 1 else "%.3f" % value


def test_a_round_shows_its_tasks(lab, page):
    run = stage.runs(lab)[1]
    stage.sign_in(lab, page, place_of(run, 3))
    page.find("heading", "Round 3")
    tasks = tasks_of(lab, run, 3)
    rows = page.until(lambda: page.rows("Training tasks") if len(page.rows("Training tasks")) == len(tasks) else None, "the tasks")
    page.until_text("those of the first and the last batch")
    for row, task in zip(rows, tasks):
        state = "partial" if task["partial"] else task["status"]
        assert row[0] == "device %d" % task["ordinal"] and row[1].startswith(state), (row, task)
        assert row[3] == "{:,} / {:,}".format(task["steps_done"], task["steps_assigned"]), (row, task)
        assert loss(task["report"]["train_loss_start"]) in row[6] and loss(task["report"]["train_loss_end"]) in row[7], (row, task)
        assert abs(float(re.search(r"[\d.]+(e.\d+)?$", row[8])[0].replace("\u2212", "-")) - task["report"]["gamma"]) < 1e-3, (row, task)
    page.check_tables()
    marks = page.js("""return ['completed', 'partial'].map((state) => [state, document.querySelector(`.of-train [data-status=${state}] path`)])
        .filter(([, mark]) => mark).map(([state, mark]) => [state, ...[3, 8].map((x) => mark.isPointInFill(new DOMPoint(x, 6)))])""")
    assert ["partial", True, False] in marks, marks
    bars = page.js("return [...document.querySelectorAll('.of-train tbody svg.gantt')].map((svg) => [...svg.querySelectorAll('rect')]"
                   ".map((r) => [r.getAttribute('class'), Number(r.getAttribute('x')), Number(r.getAttribute('width'))]))")
    assert len(bars) == len(tasks)
    for row in bars:
        assert all(a[1] <= b[1] for a, b in zip(row, row[1:])), row
        assert all(0 <= x and x + width <= 1002 for _, x, width in row), row
    received = lab.rounds(run["id"])[3]["received"]
    assert "%d partial" % sum(t["partial"] for t in tasks) in page.text() and received == len(tasks)


def test_the_evaluation_is_there_too(lab, page):
    run = stage.runs(lab)[1]
    stage.sign_in(lab, page, place_of(run, 3))
    page.find("heading", "Round 3")
    page.js("""const real = globalThis.fetch;
               globalThis.fetch = (url, options) => {
                   if (!url.includes('type=evaluate'))
                       return real(url, options);
                   globalThis.fetch = real;
                   return Promise.resolve(new Response('{"code": "io", "detail": "No such luck."}', {status: 500}));
               };""")
    page.click("button", re.compile(r"^Evaluation \(20\)"))
    page.until_text("No such luck.")
    assert "No device was asked" not in page.text(), "what is not known is not none"
    page.click("button", "Try again")
    tasks = tasks_of(lab, run, 3, "evaluate")
    rows = page.until(lambda: page.rows("Evaluation tasks") if len(page.rows("Evaluation tasks")) == 20 else None, "the tasks")
    for row, task in zip(rows, tasks):
        assert loss(task["report"]["eval_train_loss"]) in row[4], (row, task)
    assert "tasks=evaluate" in page.place
    page.reload()
    page.until(lambda: len(page.rows("Evaluation tasks")) == 20, "the same after a reload")


def test_neighbours_and_the_final_round(lab, page):
    run = stage.runs(lab)[1]
    stage.sign_in(lab, page, place_of(run, 0))
    page.find("heading", "Round 0")
    assert not page.has("link", "Previous round")
    page.click("link", "Next round")
    page.find("heading", "Round 1")
    page.open(place_of(run, 7))
    page.find("heading", "Round 7")
    page.click("link", "Next round")
    page.find("heading", "Final evaluation")
    page.until(lambda: len(page.rows("Evaluation tasks")) == 30, "all devices")
    assert not page.has("link", "Next round") and not page.has("button", re.compile(r"^Training \("))


def test_a_round_that_is_not_there(lab, page):
    page.allow("404|400")
    run = stage.runs(lab)[1]
    stage.sign_in(lab, page, place_of(run, 99))
    page.until_text("There is no such round")
    page.until_text("The newest round of this run is 8; 8 are planned.")
    page.open("/#/runs/%s/rounds/x" % run["id"])
    page.until_text("There is no such round")
    page.open("/#/runs/%s/rounds/1" % ("0" * 32))
    page.until_text("There is no such run")


def test_a_round_to_come_comes(lab, page):
    stage.workers(lab)
    page.allow("404")
    run = lab.run(lab.submit(synthetic_run(name="to come", num_rounds=3, autostart=False)))
    stage.sign_in(lab, page, place_of(run, 1))
    page.until_text("Round 1 is still to come")
    lab.admin.ok("POST", "/api/v1/runs/%s/start" % run["id"])
    page.find("heading", "Round 1")
    page.until(lambda: len(page.rows("Training tasks")) == 10, "its tasks")
    page.until(lambda: page.has("link", "Next round"), "the round after it")
    page.until_text(re.compile(r"10 selected:\s*\d+ completed"))


def test_the_round_is_for_everybody(lab, page):
    run = stage.runs(lab)[1]
    stage.sign_in(lab, page, place_of(run, 3))
    page.until(lambda: len(page.rows("Training tasks")) == 10, "the tasks")
    page.check_view()
    page.resize(browser.PHONE)
    page.check_view(keyboard=False)
