"""A thousand devices, and one of them."""
import harness
import stage
from specs import synthetic_run


def test_a_thousand_devices(lab, page):
    crowd = stage.crowd(lab)
    stage.sign_in(lab, page, "/#/devices?dataset=crowd")
    page.until(lambda: len(page.rows("Devices")) == 100, "the first page of the table")
    page.until_text("1–100 of 1,000")
    first = page.rows("Devices")[0][0]
    page.click("button", "Next page")
    page.until_text("101–200 of 1,000")
    assert page.rows("Devices")[0][0] != first
    page.click("button", "Examples")
    page.until(lambda: page.rows("Devices")[0][4] == "10,009", "the largest first")
    assert "sort=examples.desc" in page.place, page.place
    page.choose("Worker", "crowd (1,000)")
    page.fill("Name, id or label", "crowd-77", role="searchbox")
    page.until(lambda: len(page.rows("Devices")) == 11, "crowd-77 and crowd-770 to crowd-779")
    page.reload()
    page.until(lambda: len(page.rows("Devices")) == 11, "the same after a reload")
    page.click("link", "crowd-777")
    page.find("heading", "crowd-777")
    device = next(d for d in stage.devices(lab, "dataset=crowd") if d["name"] == "crowd-777")
    assert page.place == "#/devices/" + device["id"]
    assert device["worker_id"] == crowd["worker_id"]


def test_the_picture_leads_to_a_device(lab, page):
    stage.runs(lab)  # devices have a speed once they have trained
    stage.sign_in(lab, page, "/#/devices?dataset=synthetic")
    dots = page.until(lambda: page.js("""const plot = document.querySelector('svg.plot'), bounds = plot?.getBoundingClientRect();
        plot?.scrollIntoView({block: 'center'});
        return [...(plot?.querySelector('.dots.online')?.getAttribute('d') ?? '').matchAll(/M([\\d.]+) ([\\d.]+)/g)]
            .map(([, x, y]) => [bounds.left + Number(x), bounds.top + Number(y)])"""), "dots in the picture")
    assert len(dots) == sum(d["steps_per_second"] is not None for d in stage.devices(lab)), len(dots)
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        page.cdp("Input.dispatchMouseEvent", {"type": kind, "x": dots[0][0], "y": dots[0][1], "button": "left", "clickCount": 1})
    page.until(lambda: page.place.startswith("#/devices/0"), "the device under the pointer")
    page.find("heading", "History")


def test_the_focus_outlasts_an_update(lab, page):
    stage.crowd(lab)
    stage.sign_in(lab, page, "/#/devices?dataset=crowd")
    page.until_text("No device shown here has a measured speed yet")
    link = page.find("link", "crowd-3")
    page.js("arguments[0].focus()", link)
    enroll = harness.Client(lab.url, lab.token("enrollment.token"))
    newcomer = enroll.ok("POST", "/api/v1/devices", {"name": "crowd-0a", "dataset": "crowd", "num_examples": 5})
    page.until(lambda: stage.row_of(page, "Devices", "crowd-0a"), "the newcomer in the table")
    assert page.js("return document.activeElement.innerText") == "crowd-3"
    lab.admin.ok("DELETE", "/api/v1/devices/" + newcomer["device_id"])
    page.until(lambda: not stage.row_of(page, "Devices", "crowd-0a"), "it to leave")
    assert page.js("return document.activeElement.innerText") == "crowd-3"


def test_labels_narrow_the_fleet_down(lab, page):
    stage.crowd(lab)
    stage.sign_in(lab, page, "/#/devices?dataset=crowd")
    page.click("button", "region=south")
    page.until_text("1–100 of 500")
    assert "label=region%3Dsouth" in page.place or "label=region=south" in page.place, page.place
    assert all("region=south" in row[6] for row in page.rows("Devices"))
    page.click("button", "region=south")
    page.until_text("1–100 of 1,000")


def test_the_history_of_a_device(lab, page):
    run = stage.runs(lab)[1]
    device = next(d for d in stage.devices(lab) if tasks_of(lab, d, run))
    tasks = tasks_of(lab, device, run)
    stage.sign_in(lab, page, "/#/devices/%s?run=%s" % (device["id"], run["id"]))
    page.until(lambda: len(page.rows("History")) == len(tasks), "its tasks")
    for row, task in zip(page.rows("History"), tasks):
        assert row[0] == "%s, round %d" % (run["name"], task["round"]), row
        assert row[2].split("\n")[0] == ("partial" if task["partial"] else task["status"]), row
        assert row[3].startswith("%s / %s" % (format(task["steps_done"], ","), format(task["steps_assigned"], ","))), row
    page.find("figure")
    page.until(lambda: stage.drawn(page), "the course of its loss")
    own, everybody = stage.drawn(page)
    metrics = lab.admin.ok("GET", "/api/v1/runs/%s/metrics?name=train_loss&device=%d" % (run["id"], device["ordinal"]))["items"]
    assert own["label"] == "This device" and [p["y"] for p in own["data"]] == [m["value"] for m in metrics]
    assert everybody["label"] == "All devices" and len(everybody["data"]) == run["num_rounds"] + 1
    headers = {th.text.strip(): th.get_attribute("title") for th in page.find("table", "History").find_elements("css selector", "th")[:10]}
    assert "first step" in headers["Loss before"] and "last step" in headers["Loss after"], headers
    # Its worker told how many examples of each class it has.
    bars = page.js("return [...document.querySelectorAll('ul[aria-label=\"Examples by class\"] li')].map((li) => [...li.children].map((c) => c.textContent))")
    counts = device["capabilities"]["label_counts"]
    assert sum(counts.values()) == device["num_examples"] and len(counts) == device["classes"] == 10, device
    assert {bar[0]: bar[2].split()[0].replace(",", "") for bar in bars} == {k: str(n) for k, n in counts.items()}, bars


def test_the_course_says_which_devices_are_evaluated(lab, page):
    stage.workers(lab)
    run = lab.wait_run(lab.submit(synthetic_run(name="only selected", num_rounds=1, evaluation={"on": "selected"})))
    device = next(d for d in stage.devices(lab) if tasks_of(lab, d, run))
    stage.sign_in(lab, page, "/#/devices/%s?run=%s" % (device["id"], run["id"]))
    page.find("button", "Selected devices")


def tasks_of(lab, device, run):
    return lab.admin.ok("GET", "/api/v1/devices/%s/tasks?run=%s&type=train&limit=1000" % (device["id"], run["id"]))["items"]


def test_a_worker_and_its_devices(lab, page):
    stage.workers(lab)
    worker = next(w for w in lab.admin.ok("GET", "/api/v1/workers")["items"] if w["name"] == "beta")
    stage.sign_in(lab, page, "/#/workers/" + worker["id"])
    page.until(lambda: len(page.rows("Devices")) == 10, "its devices")
    text = page.text()
    assert "3 times" in text and worker["version"] in text and "Threads for training" in text, text
