"""Open pages of the dashboard, many of them on a small machine: a real page in Chromium, and copies of it that send the requests
that it sends, when it sends them, follow the streams that it follows, and throw the replies away."""
import collections
import contextlib
import heapq
import http.client
import json
import os
import re
import socket
import sys
import threading
import time

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(TOP, "tests", "web"), os.path.join(TOP, "tests", "scenario")]
import browser  # noqa: E402
import harness  # noqa: E402

SPREAD_S = 1.0  # no two people's pages do the same at the same instant: copies are behind by up to this
LOOK_S = 0.05
MOST_S = 60


class Asker:
    """One connection, which is kept."""

    def __init__(self, port):
        self.port, self.connection, self.socket = port, None, None

    def get(self, path, headers):
        for is_last in (False, True):
            try:
                self.connection = self.connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
                self.connection.request("GET", path, headers=headers)
                self.socket = self.connection.sock
                return self.connection.getresponse()
            except (OSError, http.client.HTTPException):
                self.close()  # the server had closed it meanwhile
                if is_last:
                    raise

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None


class Copy:
    """One page more. A thread that asks, and one for each stream."""

    def __init__(self, port, delay_s):
        self.port, self.delay_s = port, delay_s
        self.due, self.count, self.is_closed = [], 0, False
        self.news = threading.Condition()
        self.is_busy, self.streams, self.failed = False, {}, []
        self.threads = []
        self.start(self.work)

    def start(self, function, *args):
        self.threads.append(threading.Thread(target=function, args=args, daemon=True))
        self.threads[-1].start()

    def do(self, function, *args):
        with self.news:
            self.count += 1
            heapq.heappush(self.due, (time.monotonic() + self.delay_s, self.count, function, args))
            self.news.notify()

    def work(self):
        asker = Asker(self.port)
        while True:
            with self.news:
                while not self.is_closed and not (self.due and self.due[0][0] <= time.monotonic()):
                    self.news.wait(self.due[0][0] - time.monotonic() if self.due else None)
                if self.is_closed:
                    break
                _, _, function, args = heapq.heappop(self.due)
                self.is_busy = True
            function(asker, *args)
            self.is_busy = False
        asker.close()

    def ask(self, asker, path, headers):
        reply = asker.get(path, headers)
        reply.read()
        if reply.status >= 400:
            self.failed.append("%d %s" % (reply.status, path))

    def follow(self, _, key, path, headers):
        stream = self.streams[key] = Asker(self.port)
        self.start(self.read_stream, stream, path, headers)

    def read_stream(self, stream, path, headers):
        try:
            reply = stream.get(path, headers)
            if reply.status >= 400:
                self.failed.append("%d %s" % (reply.status, path))
            while reply.read1(65536):
                pass
        except (OSError, http.client.HTTPException):
            pass  # it was ended
        stream.close()

    def end(self, _, key):
        stream = self.streams.pop(key, None)
        if stream and stream.socket:
            try:
                stream.socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # the server was quicker

    @property
    def is_idle(self):
        with self.news:
            return not self.due and not self.is_busy

    def close(self):
        with self.news:
            self.is_closed = True
            self.news.notify()
        self.threads[0].join()
        for key in list(self.streams):
            self.end(None, key)
        for thread in self.threads:
            thread.join()


def route_of(path):
    """Without what names a run or a device, and without what all of the API begins with."""
    return re.sub(r"^/api/v1/|(?<=/)[0-9a-f]{32}(?=/|$)|(?<=/)\d+(?=/|$)", lambda m: "" if m[0] == "/api/v1/" else "*", path.partition("?")[0])


class Crowd:
    """What the tabs of the driver do, and so many copies of each that do the same."""

    def __init__(self, driver, port, copies):
        self.driver, self.mark = driver, ":%d/" % port
        self.asked, self.streams = collections.Counter(), set()
        self.copies = [Copy(port, SPREAD_S * i / copies) for i in range(copies)]

    def look(self):
        """What the tabs did since the last look."""
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            data, what = message["params"], message["method"]
            if what == "Network.requestWillBeSent" and self.mark in data["request"]["url"]:
                self.sent(data["requestId"], data["request"])
            elif what in ("Network.loadingFinished", "Network.loadingFailed") and data["requestId"] in self.streams:
                self.streams.discard(data["requestId"])
                self.tell("end", data["requestId"])

    def sent(self, key, request):
        assert request["method"] == "GET", request  # a page that nobody touches changes nothing
        path = "/" + request["url"].partition(self.mark)[2].partition("#")[0]
        headers = {k: v for k, v in request["headers"].items() if k in ("Accept", "Authorization", "If-None-Match", "Last-Event-ID")}
        headers["Accept-Encoding"] = "gzip, deflate, br"
        is_stream = headers.get("Accept") == "text/event-stream"
        self.asked[("events of " if is_stream else "") + route_of(path)] += 1
        if is_stream:
            self.streams.add(key)
            self.tell("follow", key, path, headers)
        else:
            self.tell("ask", path, headers)

    def tell(self, what, *args):
        for copy in self.copies:
            copy.do(getattr(copy, what), *args)

    def pass_time(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.look()
            time.sleep(LOOK_S)

    def settle(self, seconds):
        """Until all are open, and so long."""
        self.pass_time(seconds)
        end = time.monotonic() + MOST_S
        while not all(copy.is_idle for copy in self.copies):
            assert time.monotonic() < end, "the pages ask more than the server answers"
            self.look()
            time.sleep(LOOK_S)

    def asked_a_minute(self, seconds):
        counts = sorted(((60 * n / seconds, route) for route, n in self.asked.items()), reverse=True)
        return ", ".join("%s %.0f" % (route, n) for n, route in counts) or "nothing"

    def close(self):
        for copy in self.copies:
            copy.close()
        failed = [text for copy in self.copies for text in copy.failed]
        assert not failed, "requests that failed: %s" % failed[:5]


class Tabs:
    """Real pages. Each has an origin of its own: a browser has six connections for all pages of one."""

    def __init__(self, chromium, lab):
        self.driver, self.lab, self.count = chromium.driver, lab, 0
        own = lab.admin.ok("GET", "/api/v1/tokens/self")
        kept = {"token": lab.admin.token, "role": own["role"], "tokenId": own["id"], "name": own["name"], "expiresAt": own["expires_at"]}
        self.script = "sessionStorage.setItem('fedlane.session', %s)" % json.dumps(json.dumps(kept))

    @contextlib.contextmanager
    def crowd(self, copies):
        """Before the pages are opened that are to be copied."""
        self.driver.get_log("performance")
        crowd = Crowd(self.driver, self.lab.port, copies)
        try:
            yield crowd
        finally:
            crowd.close()

    def open(self, place, is_new=True):
        """In a tab of its own, or in the one that was opened last."""
        if is_new:
            self.count += 1
            if self.count > 1:
                self.driver.switch_to.new_window("tab")
            self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": self.script})
            # One behind another is as one that is looked at.
            self.driver.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
        self.driver.get("http://page%d.localhost:%d/%s" % (self.count, self.lab.port, place))
        harness.wait_for(lambda: self.driver.execute_script("return Boolean(document.querySelector('main h1'))"), "the page " + place)
        state = self.driver.execute_script("return document.visibilityState")
        assert state == "visible", "the page %s is %s, so it asks for less" % (place, state)

    def close_all(self):
        """But one, which is empty."""
        for handle in self.driver.window_handles[1:]:
            self.driver.switch_to.window(handle)
            self.driver.close()
        self.driver.switch_to.window(self.driver.window_handles[0])
        self.driver.get("about:blank")
