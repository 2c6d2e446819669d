#!/usr/bin/python3
"""Takes the pictures of docs/dashboard/: every view, light and dark, of a real server with real workers.

    screenshots.py FOLDER [NAME...]     writes FOLDER/NAME-light.png and FOLDER/NAME-dark.png, of all views or of these

Three machines of unequal speed are 30 devices of Synthetic(1,1); nine of ten devices of a round have time for a part of
their steps only. Specs, seeds and names are fixed: two sets of pictures differ in ids and times."""
import base64
import os
import signal
import struct
import subprocess
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "scenario")]

import browser  # noqa: E402
import harness  # noqa: E402
import specs  # noqa: E402
import stage  # noqa: E402

# Name, devices, options.
WORKERS = (
    ("workshop", "0-15", ()),
    ("office", "16-24", ("--slowdown", "8")),
    ("laptop", "25-29", ("--slowdown", "100")),
)
SLOW = range(25, 30)
ROUNDS, LONG_ROUNDS, LONG_SHOWN = 80, 5000, 1000
ASLEEP = ((22, 24), (51, 52))  # rounds in which the laptop's lid is closed: its devices are late

# Name, strategy.
RUNS = (
    ("fedavg", {"name": "fedavg"}),
    ("fedprox-mu-0", {"name": "fedprox", "params": {"proximal_mu": 0}}),
    ("fedprox-mu-0.1", {"name": "fedprox", "params": {"proximal_mu": 0.1}}),
    ("fedprox-mu-1", {"name": "fedprox", "params": {"proximal_mu": 1}}),
)
MAIN, LIVE = "fedprox-dynamic", "fedprox-long"
DYNAMIC = {"name": "fedprox", "params": {"proximal_mu": {"dynamic": {"start": 0, "step": 0.1, "patience": 5}}}}


# -- what is to be seen ---------------------------------------------------------------------------------------------------

def spec_of(name, **changes):
    base = specs.synthetic_run(name=name, experiment="stragglers", num_rounds=ROUNDS, training={"local_epochs": 20}, strategy=None)
    return specs.merged(base, changes)


def sleep_twice(lab, laptop, run):
    for first, last in ASLEEP:
        harness.wait_for(lambda: lab.run(run)["round"] >= first, "round %d" % first)
        laptop.process.send_signal(signal.SIGSTOP)
        harness.wait_for(lambda: lab.run(run)["round"] > last, "round %d" % (last + 1))
        laptop.process.send_signal(signal.SIGCONT)


def prepare(lab):
    """{name: id} of the runs. The last one is still under way."""
    lab.start_server()
    workers = [lab.start_worker(specs.SYNTHETIC, devices, name, options=("--name", name, *options)) for name, devices, options in WORKERS]
    harness.wait_for(lambda: len(stage.devices(lab)) == 30, "30 devices")
    runs = {}
    for name, strategy in RUNS:
        runs[name] = lab.submit(spec_of(name, strategy=strategy))
        lab.wait_run(runs[name])
    runs[MAIN] = lab.submit(spec_of(MAIN, strategy=DYNAMIC, evaluation={"gamma": True, "dissimilarity": True},
                                    reporting={"deadline_s": 1, "grace_s": 0.2}))
    sleep_twice(lab, workers[-1], runs[MAIN])
    lab.wait_run(runs[MAIN])
    runs[LIVE] = lab.submit(spec_of(LIVE, num_rounds=LONG_ROUNDS, evaluation={"every": 10}))
    harness.wait_for(lambda: lab.run(runs[LIVE])["round"] >= 100, "a hundred rounds")
    return runs


def round_of_unequal_devices(lab, run):
    """The number of the round in which most of the slow devices took part, and answered."""
    items = lab.admin.ok("GET", "/api/v1/runs/%s/work?limit=1000" % run)["items"]
    late = {r["round"] for r in lab.rounds(run) if r["late"]}
    return max((i for i in items if i["round"] not in late), key=lambda i: sum(cell[0] in SLOW for cell in i["cells"]))["round"]


def drawn_charts(page, at_least):
    return lambda: page.js("return [...document.querySelectorAll('main canvas')].filter((c) => globalThis.Chart?.getChart(c)).length") >= at_least


def has_text(page, text):
    return lambda: text in page.text()


def has_course(page, looks):
    """The server has been looked at so often that its small curves are curves."""
    return lambda: page.js("return document.querySelector('main .spark polyline')?.points.length ?? 0") >= looks


def strip_is_full(page):
    """The whole history has come: the overview's first round is drawn."""
    return lambda: page.js("""const overview = document.querySelector('.strip-overview');
        return overview && overview.width > 0 && overview.getContext('2d').getImageData(2, overview.height - 4, 1, 1).data[3] > 0""")


def views(lab, page, runs):
    """(name, place, whether it is complete, the most of its height or the part that is shown), in the order in which they are taken."""
    devices = {d["name"]: d for d in stage.devices(lab)}
    slow = devices["laptop-28"]
    compared = ",".join(runs[name] for name, _ in RUNS)
    yield "runs", "#/runs", has_text(page, LIVE), 650
    yield "compare", "#/compare?runs=" + compared, drawn_charts(page, 1), 1648
    yield "run", "#/runs/" + runs[MAIN], drawn_charts(page, 6), 1180
    yield "run-course", "#/runs/" + runs[MAIN], drawn_charts(page, 6), "[aria-labelledby=run-charts]"
    for name in ("fedavg", "fedprox-mu-1"):
        yield "strip-" + name, "#/runs/" + runs[name], drawn_charts(page, 4), ".strip"
    yield "round", "#/runs/%s/rounds/%d" % (runs[MAIN], round_of_unequal_devices(lab, runs[MAIN])), has_text(page, "Measured"), 1060
    yield "new-run", "#/runs/new?clone=" + runs[MAIN], has_text(page, "Start the run"), 1240
    yield "devices", "#/devices", has_text(page, "laptop-29"), 1130
    yield "device", "#/devices/%s?run=%s" % (slow["id"], runs[MAIN]), drawn_charts(page, 1), 1380
    yield "worker", "#/workers/" + slow["worker_id"], has_text(page, "laptop-29"), 720
    yield "server", "#/server", has_course(page, 4), 880

    def is_long():
        return lab.run(runs[LIVE])["round"] >= LONG_SHOWN and strip_is_full(page)()
    yield "run-long", "#/runs/" + runs[LIVE], is_long, 880


# -- pictures -------------------------------------------------------------------------------------------------------------

def png_of(image):
    """The bytes of a PNG file from what palette.js answers."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    width, height, pixels = image["width"], image["height"], base64.b64decode(image["pixels"])
    lines = b"".join(b"\0" + pixels[y * width:(y + 1) * width] for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0))
            + chunk(b"PLTE", bytes(c for rgb in image["palette"] for c in rgb)) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b""))


def shoot(page, path, part=None):
    """Of what the window shows, or of the element that the selector `part` finds; answers what it was made of."""
    clip = {} if part is None else {"captureBeyondViewport": True, "clip": page.js("""
        const {x, y, width, height} = document.querySelector(arguments[0]).getBoundingClientRect();
        return {x: x + scrollX - 12, y: y + scrollY - 12, width: width + 24, height: height + 24, scale: 1}""", part)}
    shot = page.cdp("Page.captureScreenshot", {"format": "png", **clip})["data"]
    image = page.driver.execute_async_script(browser.script("palette.js") + "toPalette(arguments[0]).then(arguments[1]);", shot)
    with open(path, "wb") as f:
        f.write(png_of(image))
    return shot


def still(page):
    page.settle()
    page.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(arguments[0], 300)))")


def take(page, folder, name, shown, width=browser.WIDE):
    """shown: the most of the page's height, or a selector."""
    most, part = (shown, None) if isinstance(shown, int) else (900, shown)
    for scheme in ("light", "dark"):
        page.emulate(scheme, motion="reduce")
        page.resize(width, most)
        still(page)
        page.resize(width, min(most, page.js("return Math.ceil(document.querySelector('main').getBoundingClientRect().bottom + scrollY)")))
        still(page)
        shoot(page, os.path.join(folder, "%s-%s.png" % (name, scheme)), part)


def sign_in(lab, page):
    done = subprocess.run([harness.program("fedlane-server"), "login-link", "--data-dir", lab.data_dir, "--role", "operator"],
                          capture_output=True, text=True, check=True, timeout=20)
    page.open(done.stdout.strip().removeprefix(lab.url))
    page.until(lambda: page.live_state() == "live", "the page to be live")


def take_all(lab, page, runs, folder, chosen):
    wanted = lambda name: not chosen or name in chosen
    page.open("/")
    page.find("button", "Sign in")
    if wanted("sign-in"):
        take(page, folder, "sign-in", 680)
    sign_in(lab, page)
    for name, place, is_complete, shown in views(lab, page, runs):
        if wanted(name):
            page.open("/" + place)
            page.until(is_complete, "all of " + name, timeout_s=240)
            take(page, folder, name, shown)
    if wanted("phone"):
        page.resize(browser.PHONE, 760)
        page.open("/#/runs/" + runs[MAIN])
        page.until(drawn_charts(page, 6), "the run on a phone")
        take(page, folder, "phone", 1260, browser.PHONE)
    page.check()


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: screenshots.py FOLDER [NAME...]")
    why = browser.missing()
    if why:
        sys.exit("screenshots: " + why)
    folder = os.path.abspath(sys.argv[1])
    os.makedirs(folder, exist_ok=True)
    lab, chromium = harness.Lab(), None
    try:
        runs = prepare(lab)
        chromium = browser.Browser(lab.folder)
        take_all(lab, chromium.page(lab.url), runs, folder, sys.argv[2:])
    finally:
        if chromium:
            chromium.close()
        lab.close()


if __name__ == "__main__":
    main()
