"""What the tests of the dashboard share: one server, two workers of unequal speed, a few runs. Made when first asked for."""
import functools
import json

import browser
import harness
import specs
from device import Device, small_spec

HOSTILE = "<img src=x onerror=alert(1)>"
LONG, BLANK = "W" * 200, "\u00a0\u2003"
RIGHT_TO_LEFT = "\u05de\u05db\u05e9\u05d9\u05e8 \u202eabc"


def start(lab):
    lab.start_server()


def once(make):
    """make(lab), called once for a lab."""
    @functools.wraps(make)
    def made(lab):
        kept = lab.__dict__.setdefault("kept", {})
        if make.__name__ not in kept:
            kept[make.__name__] = make(lab)
        return kept[make.__name__]
    return made


@once
def workers(lab):
    """30 devices of Synthetic(1,1): 20 of one worker, 10 of one that is slower."""
    both = [lab.start_worker(specs.SYNTHETIC, "0-19", "alpha", options=("--name", "alpha")),
            lab.start_worker(specs.SYNTHETIC, "20-29", "beta", options=("--name", "beta", "--slowdown", "3"))]
    harness.wait_for(lambda: len(devices(lab)) == 30, "30 devices")
    return both


def devices(lab, query="dataset=synthetic"):
    return lab.admin.ok("GET", "/api/v1/devices?limit=1000&" + query)["items"]


@once
def runs(lab):
    """Two finished runs on the same devices, with stragglers: the first with mu 0, the second with mu 1."""
    workers(lab)
    ids = [lab.submit(specs.synthetic_run(name=name, num_rounds=8, strategy={"params": {"proximal_mu": mu}},
                                          evaluation={"gamma": True}))
           for name, mu in (("without-term", 0), ("with-term", 1))]
    return [lab.wait_run(run_id) for run_id in ids]


@once
def tokens(lab):
    """A token of each role that a person has."""
    made = {role: lab.admin.ok("POST", "/api/v1/tokens", {"name": role, "role": role})["token"]
            for role in ("operator", "viewer")}
    return {"admin": lab.admin.token, **made}


def sign_in_by_hand(lab, page, place="/", role="admin", token=None):
    """Opens a place and signs in there, as a person does."""
    page.open(place)
    page.fill("Token", token or tokens(lab)[role])
    page.click("button", "Sign in")
    page.find("navigation", "Main")


def sign_in(lab, page, place="/", role="admin", token=None):
    """Opens a place as somebody does who has signed in before, in this tab."""
    token = token or tokens(lab)[role]
    page.open(place, kept_session({**harness.Client(lab.url, token).ok("GET", "/api/v1/tokens/self"), "token": token}))
    page.find("navigation", "Main")


def kept_session(made):
    """What makes a page find somebody signed in with this token (as the API describes it)."""
    kept = {"token": made["token"], "role": made["role"], "tokenId": made["id"], "name": made["name"], "expiresAt": made["expires_at"]}
    return "sessionStorage.setItem('fedlane.session', %s)" % json.dumps(json.dumps(kept))


def name_of(node):
    return browser.name_of(node)


def row_of(page, table, name):
    """The texts of the row that has this name in it; None while there is none."""
    return next((row for row in page.rows(table) if any(name in cell for cell in row)), None)


@once
def crowd(lab):
    """A worker of a thousand devices that do nothing."""
    enroll = harness.Client(lab.url, lab.token("enrollment.token"))
    return enroll.ok("POST", "/api/v1/workers", {
        "name": "crowd", "instance_id": "crowd", "version": "1.2.3",
        "devices": [{"name": "crowd-%d" % k, "ordinal": k, "dataset": "crowd", "num_examples": 10 + k * 10 + (k == 999) * 9,
                     "labels": {"region": ("north", "south")[k % 2], "kind": "phone"}} for k in range(1000)]})


def drawn(page):
    """What the first chart of the page is made of: Chart.js' own sets, [{label, data: [{x, y}]}]; None while there is none."""
    return page.js("""const canvas = [...document.querySelectorAll('canvas')].find((c) => globalThis.Chart?.getChart(c));
                      const chart = canvas && globalThis.Chart.getChart(canvas);
                      return chart ? chart.data.datasets.filter((s) => s.label).map(({label, data}) => ({label, data})) : null;""")


def small_run(name, **changes):
    """A run on a data set that no device has: it waits."""
    return specs.synthetic_run(name=name, dataset="nobody-has-this", **changes)


def task_of(device):
    """Its next task; waits for it."""
    return harness.wait_for(lambda: device.claim(10), "a task for the device")


@once
def diverged(lab):
    """A run whose device says that its loss is beyond all numbers, then that it is none."""
    run = lab.submit(small_spec(1, name="diverged", dataset="unstable", num_rounds=2, evaluation={"on": "selected"}))
    device = Device(lab, 0, dataset="unstable")
    for loss in ("Infinity", "NaN"):
        task = task_of(device)
        reply = device.update(task, eval_train_loss=loss, eval_train_examples=4, train_loss_start=loss, train_loss_end=loss)
        assert reply.status == 200, reply
    final = task_of(device)
    reply = device.http.request("PUT", "/api/v1/tasks/%s/update" % final["task_id"],
                                {"attempt": final["attempt"], "eval_train_loss": "NaN", "eval_train_examples": 4})
    assert reply.status == 200, reply
    return lab.wait_run(run)


@once
def hostile(lab):
    """(run, device, worker) with names that are markup, and a device whose name runs from right to left."""
    enroll = harness.Client(lab.url, lab.token("enrollment.token"))
    made = enroll.ok("POST", "/api/v1/workers", {"name": HOSTILE, "instance_id": "hostile", "version": HOSTILE, "devices": [
        {"name": HOSTILE, "dataset": "hostile", "num_examples": 4, "input": [2], "classes": 2, "labels": {HOSTILE: HOSTILE, "<b>": RIGHT_TO_LEFT},
         "capabilities": {HOSTILE: HOSTILE, "label_counts": {HOSTILE: 3, "b": 1}}},
        {"name": RIGHT_TO_LEFT, "dataset": "hostile", "num_examples": 4, "input": [2], "classes": 2}]})
    harness.Client(lab.url, made["token"]).ok("POST", "/api/v1/workers/%s/heartbeat" % made["worker_id"], {
        "resources": {HOSTILE: HOSTILE, "constructor": 1, "__proto__": {"threads": 3}, "threads": {"a": [1]}}})
    run = lab.submit(small_spec(2, name=HOSTILE, dataset="hostile", experiment=HOSTILE))
    harness.wait_for(lambda: lab.run(run)["status"] == "running", "the hostile run to begin")
    return run, made["devices"][0]["device_id"], made["worker_id"]


@once
def unwieldy(lab):
    """(long, blank, turning, device, worker): runs with names that are hard to show, and a worker of such devices."""
    enroll = harness.Client(lab.url, lab.token("enrollment.token"))
    made = enroll.ok("POST", "/api/v1/workers", {"name": LONG, "instance_id": "unwieldy", "version": LONG, "devices": [
        {"name": LONG, "dataset": LONG, "num_examples": 4, "labels": {LONG[:60]: LONG}, "capabilities": {LONG: LONG, "label_counts": {LONG: 3}}},
        {"name": BLANK, "dataset": LONG, "num_examples": 4}]})
    runs = [lab.submit(small_run(name, experiment=name, autostart=False)) for name in (LONG, BLANK, RIGHT_TO_LEFT + " all at once")]
    return (*runs, made["devices"][0]["device_id"], made["worker_id"])
