#!/usr/bin/python3
"""Takes the pictures of docs/dashboard/: every view, light and dark, of a real server with real workers.

    screenshots.py FOLDER [NAME...]     writes FOLDER/NAME-light.png and FOLDER/NAME-dark.png, of all views or of these

Three machines of unequal speed are 30 devices of Synthetic(1,1); nine of ten devices of a round have time for a part of
their steps only. Specs, seeds and names are fixed: two sets of pictures differ in ids and times."""
import os
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "scenario")]

import browser  # noqa: E402
import harness  # noqa: E402
import specs  # noqa: E402
import stage  # noqa: E402

# Name, devices, options.
WORKERS = (
    ("workshop", "0-15", ()),
    ("office", "16-24", ("--slowdown", "3")),
    ("laptop", "25-29", ("--slowdown", "12")),
)
ROUNDS, LONG_ROUNDS = 80, 1500
ASLEEP = ((22, 24), (51, 52))  # rounds in which the laptop's lid is closed: it is late
DYNAMIC = {"dynamic": {"start": 0, "step": 0.1, "patience": 5}}

# Name, what its spec has of its own.
RUNS = (
    ("fedavg", {"strategy": {"name": "fedavg"}}),
    ("fedprox-mu-0", {"strategy": {"name": "fedprox", "params": {"proximal_mu": 0}}}),
    ("fedprox-mu-0.1", {"strategy": {"name": "fedprox", "params": {"proximal_mu": 0.1}}}),
    ("fedprox-mu-1", {"strategy": {"name": "fedprox", "params": {"proximal_mu": 1}}}),
)
MAIN, LIVE = "fedprox-dynamic", "fedprox-long"


def spec_of(name, changes):
    base = specs.synthetic_run(name=name, experiment="stragglers", num_rounds=ROUNDS, training={"local_epochs": 20}, strategy=None)
    return specs.merged(base, changes)


def watch_main_run(lab, laptop, run):
    """The laptop sleeps twice: its devices are late in these rounds."""
    for first, last in ASLEEP:
        harness.wait_for(lambda: lab.run(run)["round"] >= first, "round %d" % first)
        laptop.process.send_signal(signal.SIGSTOP)
        harness.wait_for(lambda: lab.run(run)["round"] > last, "round %d" % (last + 1))
        laptop.process.send_signal(signal.SIGCONT)
    lab.wait_run(run)


def prepare(lab):
    """What the pictures show: {name: id} of the runs. The last one is still under way."""
    lab.start_server()
    workers = [lab.start_worker(specs.SYNTHETIC, devices, name, options=("--name", name, *options)) for name, devices, options in WORKERS]
    harness.wait_for(lambda: len(stage.devices(lab)) == 30, "30 devices")
    runs = {}
    for name, changes in RUNS:
        runs[name] = lab.submit(spec_of(name, changes))
        lab.wait_run(runs[name])
    runs[MAIN] = lab.submit(spec_of(MAIN, {
        "strategy": {"name": "fedprox", "params": {"proximal_mu": DYNAMIC}}, "evaluation": {"gamma": True, "dissimilarity": True},
        "reporting": {"deadline_s": 1, "grace_s": 0.2}}))
    watch_main_run(lab, workers[-1], runs[MAIN])
    runs[LIVE] = lab.submit(spec_of(LIVE, {"num_rounds": LONG_ROUNDS, "evaluation": {"every": 10}}))
    return runs


def views(lab, runs):
    """(name, place, text that is there when it is complete, height or None for all of the page)."""
    devices = {d["name"]: d for d in stage.devices(lab)}
    slow = devices["laptop-27"]
    compared = ",".join(runs[name] for name, _ in RUNS)
    late = next(r["round"] for r in lab.rounds(runs[MAIN]) if r["late"])
    yield "runs", "#/runs", LIVE, 620
    yield "compare", "#/compare?runs=" + compared, "Last values", None
    yield "run", "#/runs/" + runs[MAIN], "Course", None
    yield "run-long", "#/runs/" + runs[LIVE], "Course", 1800
    yield "round", "#/runs/%s/rounds/%d" % (runs[MAIN], late), "Measured", None
    yield "new-run", "#/runs/new?clone=" + runs[MAIN], "Start the run", None
    yield "devices", "#/devices", "laptop-29", None
    yield "device", "#/devices/" + slow["id"], slow["name"], None
    yield "worker", "#/workers/" + slow["worker_id"], "laptop", None
    yield "server", "#/server", "Server", None


def sign_in(lab, page):
    done = subprocess.run([harness.program("fedlane-server"), "login-link", "--data-dir", lab.data_dir, "--role", "operator"],
                          capture_output=True, text=True, check=True, timeout=20)
    page.open(done.stdout.strip().removeprefix(lab.url))
    page.until(lambda: page.live_state() == "live", "the page to be live")


def still(page):
    page.settle()
    page.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(arguments[0], 300)))")


def take(page, folder, name, height, width=browser.WIDE):
    for scheme in ("light", "dark"):
        page.emulate(scheme, motion="reduce")
        page.resize(width, height or 900)
        if height is None:
            still(page)
            page.resize(width, page.js("return document.documentElement.scrollHeight"))
        still(page)
        page.screenshot(os.path.join(folder, "%s-%s.png" % (name, scheme)))


def main():
    folder, chosen = os.path.abspath(sys.argv[1]), sys.argv[2:]
    why = browser.missing()
    if why:
        sys.exit("screenshots: " + why)
    os.makedirs(folder, exist_ok=True)
    lab, chromium = harness.Lab(), None
    try:
        runs = prepare(lab)
        chromium = browser.Browser(lab.folder)
        page = chromium.page(lab.url)
        page.open("/")
        page.find("button", "Sign in")
        if not chosen or "sign-in" in chosen:
            take(page, folder, "sign-in", 560)
        sign_in(lab, page)
        for name, place, text, height in views(lab, runs):
            if chosen and name not in chosen:
                continue
            page.open("/" + place)
            page.until_text(text)
            take(page, folder, name, height)
        page.check()
    finally:
        if chromium:
            chromium.close()
        lab.close()


if __name__ == "__main__":
    main()
