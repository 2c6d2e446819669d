"""What open pages of each view of the dashboard cost a server on which runs go on."""
import datetime
import statistics
import time

import open_pages
from open_pages import browser, harness
from specs import synthetic_run

PAGES = 20
MOST_COST = 5.0  # % of a core, for all of them
WINDOW_S, SHORT_WINDOW_S, SETTLE_S = 10, 5, 1
DEVICES, SELECTED, SLOW_DEVICES = 100, 10, 30
PACE_S, FAST_S, SLOW_S = 2, 0.1, 120  # of a round
ENDLESS = 1_000_000
FOLLOWING = ("runs", "a run", "compare")  # what events keep busy
TABS_OF_VIEW = 2


def age_s(iso):
    return time.time() - datetime.datetime.fromisoformat(iso).timestamp()


class Live:
    """A server with long histories, on which two runs go on: one that closes rounds, and one whose rounds stay open for long."""

    def __init__(self, lab, others, window_s):
        self.lab, self.others, self.window_s = lab, others, window_s
        # Its devices mostly wait, so that the machine has time for the pages.
        for name, count in (("synthetic", DEVICES), ("slow", SLOW_DEVICES)):
            lab.start_worker({"source": "synthetic", "name": name, "devices": count, "seed": 6}, "0-%d" % (count - 1), name,
                             options=("--slowdown", "20", "--name", name))
        harness.wait_for(lambda: len(self.devices()) == DEVICES + SLOW_DEVICES, "the devices")
        self.run, self.slow = self.submit("synthetic", DEVICES, SELECTED), self.submit("slow", SLOW_DEVICES, SLOW_DEVICES)
        device = next(d for d in self.devices() if d["dataset"] == "synthetic")
        self.device, self.worker = device["id"], device["worker_id"]
        self.of_event = 0

    def devices(self):
        return self.lab.admin.ok("GET", "/api/v1/devices?limit=1000")["items"]

    def submit(self, name, population, selected):
        return self.lab.submit(synthetic_run(name=name, dataset=name, num_rounds=ENDLESS, data=None, evaluation={"on": "selected"},
                                             training={"local_epochs": None, "local_steps": 1},
                                             selection={"population": population, "devices_per_round": selected}))

    def train_for(self, run, steps):
        self.lab.admin.ok("PATCH", "/api/v1/runs/%s/config" % run, {"training": {"local_steps": steps}})

    def round_takes(self, rounds):
        first = self.lab.run(self.run)["round"] + 1  # the open one has its work already
        harness.wait_for(lambda: self.lab.run(self.run)["round"] >= first, "the next round")
        begin = time.monotonic()
        harness.wait_for(lambda: self.lab.run(self.run)["round"] >= first + rounds, "%d rounds" % rounds)
        return (time.monotonic() - begin) / rounds

    def set_pace(self, seconds):
        """Rounds of about so many seconds, as this machine goes now."""
        steps = 1000
        for rounds in (4, 3):
            self.train_for(self.run, steps)
            steps = max(1, int(steps * seconds / self.round_takes(rounds)))
        self.train_for(self.run, steps)
        self.train_for(self.slow, int(steps * SLOW_S / seconds * SELECTED / SLOW_DEVICES))
        self.watch(2 * seconds)

    def open_round(self):
        """A round of the slow run that has most of its time before it."""
        def young():
            n = self.lab.run(self.slow)["round"]
            return age_s(self.lab.admin.ok("GET", "/api/v1/runs/%s/rounds/%d" % (self.slow, n))["opened_at"]) < SLOW_S / 2 and str(n)
        return harness.wait_for(young, "a round to open")

    def place(self, view):
        if view == "an open round":
            return "#/runs/%s/rounds/%s" % (self.slow, self.open_round())
        return PLACES[view](self)

    def events(self):
        return sum(self.lab.run(run)["last_event"] for run in (self.run, self.slow))

    def watch(self, seconds, crowd=None):
        """(seconds, seconds of a core, events) of the server."""
        events, begin, before = self.events(), time.monotonic(), self.lab.server.cpu_s()
        if crowd:
            crowd.pass_time(seconds)
        else:
            time.sleep(seconds)
        return time.monotonic() - begin, self.lab.server.cpu_s() - before, self.events() - events

    def rest(self, what):
        """Nobody looks: what an event costs then."""
        took, cpu, events = self.watch(self.window_s)
        self.of_event = cpu / events
        print("\n%s: %.1f events a second. The server takes %.1f %% of a core for them while nobody looks." %
              (what, events / took, 100 * cpu / took))

    def cost(self, crowd):
        """(% of a core that the pages cost, what they asked a minute) over a window, once they are open."""
        crowd.settle(SETTLE_S + open_pages.SPREAD_S)
        crowd.asked.clear()
        took, cpu, events = self.watch(self.window_s, crowd)
        return 100 * (cpu - events * self.of_event) / took, crowd.asked_a_minute(took)


PLACES = {
    "runs": lambda live: "#/runs",
    "a run": lambda live: "#/runs/" + live.run,
    "an open round": None,
    "devices": lambda live: "#/devices",
    "a device": lambda live: "#/devices/" + live.device,
    "a worker": lambda live: "#/workers/" + live.worker,
    "compare": lambda live: "#/compare?runs=" + ",".join([live.run, *live.others[:9]]),
    "compare, by bytes": lambda live: "#/compare?metric=bytes_in&runs=" + ",".join([live.run, *live.others[:9]]),
    "compare, by steps": lambda live: "#/compare?x=steps&runs=" + ",".join([live.run, *live.others[:9]]),
    "choosing runs": lambda live: "#/compare",
    "server": lambda live: "#/server",
}


def told(cost):
    return "%.1f %%" % cost if cost <= MOST_COST else "**%.1f %%, MISSED**" % cost


def by_view(live, tabs, views):
    print("\n| 20 pages of | of a core | a page asks, a minute | opening one |\n|---|---|---|---|")
    costs = []
    for view in views:
        place, before = live.place(view), live.lab.server.cpu_s()
        with tabs.crowd(PAGES - 1) as crowd:
            tabs.open(place, is_new=tabs.count == 0)
            crowd.settle(open_pages.SPREAD_S)
            opening = (live.lab.server.cpu_s() - before) / PAGES
            cost, asked = live.cost(crowd)
        costs.append(cost)
        print("| %s | %s | %s | %.0f ms |" % (view, told(cost), asked, 1000 * opening), flush=True)
    print("| these views, as many of each | %s | | |" % told(statistics.mean(costs)), flush=True)


def real_tabs(live, tabs):
    places = list(PLACES) * TABS_OF_VIEW
    with tabs.crowd(0) as crowd:
        for view in sorted(places, key="an open round".__eq__):
            tabs.open(live.place(view))
        cost, _ = live.cost(crowd)
    print("\n%d real pages, %d of each view: %.1f %% of a core; 20 would take %s." %
          (len(places), TABS_OF_VIEW, cost, told(cost * PAGES / len(places))), flush=True)


def measure(lab, runs, parts, is_short):
    live = Live(lab, runs, SHORT_WINDOW_S if is_short else WINDOW_S)
    history = 100 if is_short else 500
    harness.wait_for(lambda: lab.run(live.run)["round"] >= history, "%d rounds" % history)
    chromium = browser.Browser(lab.folder)
    try:
        tabs = open_pages.Tabs(chromium, lab)
        if {"pages", "tabs"} & set(parts):
            live.set_pace(PACE_S)
            live.rest("A round every %g s" % PACE_S)
        if "pages" in parts:
            by_view(live, tabs, PLACES)
        if "tabs" in parts:
            real_tabs(live, tabs)
            tabs.close_all()
        if "fast" in parts:
            live.set_pace(FAST_S)
            live.rest("A round every %g s" % FAST_S)
            by_view(live, tabs, FOLLOWING)
    finally:
        chromium.close()
