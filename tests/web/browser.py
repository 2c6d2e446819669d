"""A real browser for the tests of the dashboard: Debian's Chromium, headless, driven over WebDriver and its DevTools.

One process and one tab serve all tests; each begins on an empty page, with an empty session and local storage. What the page wrote
to the console and which addresses it asked is collected as it goes: Page.check() is called at the end of every test."""
import base64
import contextlib
import json
import os
import re
import time

import harness

with contextlib.suppress(ImportError):
    from selenium import webdriver
    from selenium.common.exceptions import (JavascriptException, StaleElementReferenceException, WebDriverException)
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
WIDE, PHONE = 1280, 360
HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE_S = 120  # only bounds a broken test: a machine may be busy

# What stands in the address bar or comes out of the page itself asks nobody.
OWN_SCHEMES = ("data:", "blob:", "about:", "chrome:", "chrome-error:")


def missing():
    """What the browser tests lack here, or None."""
    if "ASAN_OPTIONS" in os.environ or "TSAN_OPTIONS" in os.environ:
        return "the page is the same under sanitizers; the other build looks at it"
    for path in (CHROMIUM, DRIVER):
        if not os.path.exists(path):
            return "%s is not here; install Debian's chromium and chromium-driver" % path
    if "webdriver" not in globals():
        return "no selenium for %s; install Debian's python3-selenium" % os.path.realpath("/proc/self/exe")
    return None


def script(name):
    with open(os.path.join(HERE, name)) as f:
        return f.read()


class Browser:
    """The process. Its tabs are Pages."""

    def __init__(self, folder):
        options = Options()
        options.binary_location = CHROMIUM
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run",
                         "--disable-background-networking", "--disable-component-update", "--disable-sync",
                         "--disable-extensions", "--no-proxy-server", "--hide-scrollbars", "--lang=en-GB",
                         "--disable-features=Translate,MediaRouter,OptimizationHints",
                         "--user-data-dir=" + os.path.join(folder, "profile")):
            options.add_argument(argument)
        self.downloads = os.path.join(folder, "downloads")
        os.makedirs(self.downloads, exist_ok=True)
        options.add_experimental_option("prefs", {"download.default_directory": self.downloads,
                                                  "download.prompt_for_download": False})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service(DRIVER), options=options)
        self.driver.set_script_timeout(harness.TIMEOUT_S)
        self.driver.set_page_load_timeout(harness.TIMEOUT_S)
        self.former = None
        self.version = self.driver.capabilities["browserVersion"]

    def page(self, origin):
        """A page that knows nothing of those before it. It has the same tab: a new one would take as long as a short test."""
        if self.former:
            self.former.leave()
        for name in ("browser", "performance"):
            self.driver.get_log(name)
        self.former = Page(self, origin)
        return self.former

    def close(self):
        self.driver.quit()


class Page:
    def __init__(self, browser, origin):
        self.browser, self.driver, self.origin = browser, browser.driver, origin
        self.requests, self.replies, self.console, self.allowed = [], {}, [], []
        self.bytes, self.names = {}, {}  # by address: what came over the wire
        self.scripts, self.is_new = [], True
        self.resize(WIDE)
        self.emulate()

    # -- where it is ------------------------------------------------------------------------------------------------------

    def open(self, place="/", before=None):
        """A place is what follows the origin: "/#/runs". Another fragment alone is a click on a link, not a new page.
        before: a script that runs before those of the page, this once."""
        if self.is_new:
            before = "sessionStorage.clear(); localStorage.clear(); " + (before or "")
            self.is_new = False
        script_id = self.add_script(before) if before else None
        self.driver.get(self.origin + place)
        if script_id:
            self.remove_script(script_id)

    def leave(self):
        self.driver.get("about:blank")
        for script_id in self.scripts:
            self.remove_script(script_id)

    def add_script(self, text):
        return self.cdp("Page.addScriptToEvaluateOnNewDocument", {"source": text})["identifier"]

    def remove_script(self, script_id):
        self.cdp("Page.removeScriptToEvaluateOnNewDocument", {"identifier": script_id})

    def reload(self):
        self.driver.refresh()

    @property
    def place(self):
        """The fragment."""
        return self.js("return location.hash")

    def resize(self, width, height=900):
        self.cdp("Emulation.setDeviceMetricsOverride",
                 {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def emulate(self, scheme="light", motion="no-preference"):
        """Light or dark; motion "reduce" asks for none."""
        self.cdp("Emulation.setEmulatedMedia",
                 {"features": [{"name": "prefers-color-scheme", "value": scheme},
                               {"name": "prefers-reduced-motion", "value": motion}]})

    # -- asking the page --------------------------------------------------------------------------------------------------

    def cdp(self, command, arguments=None):
        return self.driver.execute_cdp_cmd(command, arguments or {})

    def js(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def text(self):
        return self.js("return document.body.innerText")

    def until(self, condition, what, timeout_s=PATIENCE_S):
        """Waits until condition() is true and returns it. An element that is renewed meanwhile is asked for again."""
        deadline, pause = time.monotonic() + timeout_s, 0.01
        while True:
            with contextlib.suppress(StaleElementReferenceException):
                value = condition()
                if value:
                    return value
            if time.monotonic() > deadline:
                break
            time.sleep(pause)
            pause = min(0.04, pause * 1.4)  # asking is work for the page, too
        self.collect()
        raise AssertionError("waited too long for %s\nat %s\nconsole: %s\non the page:\n%s" % (
            what, self.driver.current_url, self.console[-5:], self.text()[:3000]))

    def until_text(self, text, timeout_s=PATIENCE_S):
        """Text, or a pattern, that the page comes to show."""
        matches = text.search if isinstance(text, re.Pattern) else lambda page: text in page
        self.until(lambda: matches(self.text()), "the text %r" % (text,), timeout_s)

    # -- elements, as a screen reader names them ----------------------------------------------------------------------------

    def nodes(self, role=None, name=None, within=None):
        """What the browser's accessibility tree has of that role and name (text, or a pattern)."""
        root = {"expression": "document"}
        if within is not None:
            self.js("globalThis.fedlaneWithin = arguments[0]", within)
            root = {"expression": "globalThis.fedlaneWithin"}
        query = {"objectId": self.cdp("Runtime.evaluate", root)["result"]["objectId"]}
        if role:
            query["role"] = role
        if isinstance(name, str):
            query["accessibleName"] = name
        try:
            nodes = self.cdp("Accessibility.queryAXTree", query)["nodes"]
        except WebDriverException:
            return []  # the document went away in between
        nodes = [n for n in nodes if not n.get("ignored")]
        if isinstance(name, re.Pattern):
            nodes = [n for n in nodes if name.search(name_of(n))]
        return nodes

    def element(self, node):
        """The WebElement of a node; None when it is gone."""
        try:
            found = self.cdp("DOM.resolveNode", {"backendNodeId": node["backendDOMNodeId"]})["object"]["objectId"]
            self.cdp("Runtime.callFunctionOn", {"objectId": found,
                                                "functionDeclaration": "function () { globalThis.fedlaneFound = this; }"})
            return self.js("return globalThis.fedlaneFound")
        except (WebDriverException, KeyError):
            return None

    def find(self, role, name=None, within=None, timeout_s=PATIENCE_S):
        """The first such element; waits for it."""
        def look():
            for node in self.nodes(role, name, within):
                element = self.element(node)
                if element is not None:
                    return element
            return None
        return self.until(look, "a %s named %r" % (role, name), timeout_s)

    def has(self, role, name=None, within=None):
        return bool(self.nodes(role, name, within))

    def click(self, role, name=None, within=None):
        def pressed():
            found = self.find(role, name, within)
            self.js("arguments[0].scrollIntoView({block: 'center'})", found)  # what sticks to the top does not cover it
            found.click()
            return True
        self.until(pressed, "a click on the %s %r" % (role, name))

    def fill(self, name, text, role="textbox"):
        """Types into the field that has this label."""
        field = self.find(role, name)
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(Keys.DELETE)
        field.send_keys(text)
        return field

    def choose(self, name, value):
        """Chooses an option, by its text, of the select that has this label."""
        field = self.find("combobox", name)
        self.js("""const [field, text] = arguments;
                   const option = [...field.options].find((one) => one.text.trim() === text);
                   if (!option) throw new Error(`no option ${text} but ${[...field.options].map((o) => o.text)}`);
                   field.value = option.value;
                   field.dispatchEvent(new Event('input', {bubbles: true}));
                   field.dispatchEvent(new Event('change', {bubbles: true}));""", field, value)

    def keys(self, *keys):
        """Types at whatever has the focus."""
        ActionChains(self.driver).send_keys(*keys).perform()

    def live_state(self):
        """What the badge says: 'live', 'behind', 'offline', 'connecting'; None while there is no badge."""
        return self.js("return document.querySelector('.live:not([hidden])')?.dataset.state ?? null")

    def rows(self, name):
        """The body of a table: a list of lists of texts. Waits for the table."""
        found = self.until(lambda: self.js("""
            const table = [...document.querySelectorAll('table')].find((t) => (t.ariaLabel ?? t.caption?.innerText) === arguments[0]);
            return table && [[...table.querySelectorAll('tbody tr')].map((row) => [...row.cells].map((cell) => cell.innerText.trim()))];
            """, name), "a table named %r" % name)
        return found[0]

    # -- what it asked and what went wrong ----------------------------------------------------------------------------------

    def collect(self):
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            data = message["params"]
            if message["method"] == "Network.requestWillBeSent":
                self.requests.append(data["request"]["url"])
                self.names[data["requestId"]] = data["request"]["url"]
            elif message["method"] == "Network.responseReceived":
                self.replies[data["response"]["url"]] = data["response"]
            elif message["method"] == "Network.loadingFinished" and data["requestId"] in self.names:
                self.bytes[self.names[data["requestId"]]] = data["encodedDataLength"]
        self.console += [e for e in self.driver.get_log("browser") if e["level"] == "SEVERE"]

    def allow(self, pattern):
        """A console error that this test brings about."""
        self.allowed.append(re.compile(pattern))

    def check(self):
        """No error on the console but those that were brought about, and nobody else was asked."""
        self.collect()
        errors = [e["message"] for e in self.console if not any(p.search(e["message"]) for p in self.allowed)]
        assert not errors, "on the console: %s" % errors
        foreign = [u for u in self.requests if not u.startswith((self.origin + "/", *OWN_SCHEMES))]
        assert not foreign, "requests to another origin: %s" % foreign

    def screenshot(self, path, whole=False):
        shot = self.cdp("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": whole, **(
            {"clip": {"x": 0, "y": 0, "scale": 1, **self.js(
                "const e = document.documentElement; return {width: e.scrollWidth, height: e.scrollHeight}")}}
            if whole else {})})
        with open(path, "wb") as f:
            f.write(base64.b64decode(shot["data"]))

    def heap_bytes(self):
        self.cdp("HeapProfiler.collectGarbage")
        return self.cdp("Runtime.getHeapUsage")["usedSize"]

    # -- rules that hold on every view --------------------------------------------------------------------------------------

    def check_names(self):
        """Whatever can be used or is a picture has a name."""
        wanted = {"button", "link", "textbox", "searchbox", "combobox", "listbox", "checkbox", "radio", "slider", "spinbutton",
                  "switch", "tab", "menuitem", "option", "image", "img", "meter", "progressbar", "dialog", "table", "region"}
        nameless = [n for n in self.cdp("Accessibility.getFullAXTree")["nodes"]
                    if not n.get("ignored") and n.get("role", {}).get("value") in wanted and not name_of(n).strip()]
        nameless = [n for n in nameless if not self.js("return arguments[0]?.hidden", self.element(n))]
        assert not nameless, "without a name at %s: %s" % (self.place, [self.describe(n) for n in nameless[:8]])

    def describe(self, node):
        element = self.element(node)
        return "%s %s" % (node["role"]["value"], self.js("return arguments[0].outerHTML", element)[:200] if element else "?")

    def check_contrast(self):
        """Every visible text against what is behind it: 4.5 to 1, large text 3 to 1 (WCAG AA)."""
        found = self.js(script("contrast.js") + "return lookAtContrast();")
        assert found["texts"] > 0, "no text at %s" % self.place
        weak = found["weak"]
        assert not weak, "too little contrast at %s: %s" % (self.place, weak[:6])

    def check_fits(self):
        """Nothing makes the page itself wider than the screen: what is wide scrolls in a box of its own."""
        wide = self.js(script("fits.js") + "return whatSticksOut();")
        assert not wide, "wider than the screen at %s: %s" % (self.place, wide[:5])

    def check_tables(self):
        """At this width no table is cut off."""
        cut = self.js("""return [...document.querySelectorAll('.table-box')].filter((box) => box.scrollWidth > box.clientWidth + 1)
            .map((box) => `${box.getAttribute('aria-label')}: ${box.scrollWidth} in ${box.clientWidth}`)""")
        assert not cut, "tables wider than their box at %s: %s" % (self.place, cut)

    def check_touch(self):
        """What is pressed with a finger is at least 24 pixels high (WCAG 2.2 AA), a field together with its label."""
        small = self.js("""const high = (e) => Math.max(...[e, ...(e.labels ?? [])].map((one) => one.getBoundingClientRect().height));
            return [...document.querySelectorAll('button, select, input:not([type=range]), summary')]
                .filter((e) => e.checkVisibility({checkVisibilityCSS: true}) && high(e) > 0 && high(e) < 23.5)
                .map((e) => `${e.tagName} ${(e.getAttribute('aria-label') ?? e.innerText).slice(0, 40)} ${high(e)}`)""")
        assert not small, "too small for a finger at %s: %s" % (self.place, small[:6])

    def on_new_document(self, text):
        """A script that runs before those of every document, as long as the test lasts."""
        self.scripts.append(self.add_script(text))

    def hurry(self, factor):
        """Pauses of the page between its looks pass so much quicker; its patience with others stays."""
        self.on_new_document("""for (const name of ['setTimeout', 'setInterval']) {
            const wait = globalThis[name];
            globalThis[name] = (f, ms, ...more) => wait(f, ms > 1000 && ms <= 5000 ? ms / %d : ms, ...more);
        }""" % factor)

    def tab_to(self, name, most=150):
        """Presses Tab until the focus is on what has this name."""
        for _ in range(most):
            self.keys(Keys.TAB)
            if self.js("return (document.activeElement.getAttribute('aria-label') ?? document.activeElement.innerText ?? '').trim()") == name:
                return
        raise AssertionError("Tab does not come to %r at %s" % (name, self.place))

    def tab_stops(self, most=400):
        """Presses Tab through the page, from its top; a list of {element, ring} and the controls that were not reached."""
        self.js(script("focus.js") + "startFocusWalk();")
        for _ in range(0, most, 25):
            self.keys(Keys.TAB * 25)
            if self.js("return globalThis.fedlaneFocus.isRound"):
                break
        return self.js("return globalThis.fedlaneFocus.stops"), self.js("return globalThis.fedlaneFocus.missed()")

    def check_keyboard(self):
        """Tab reaches every control, and shows where it is."""
        stops, missed = self.tab_stops()
        assert stops and not missed, "Tab does not reach at %s: %s" % (self.place, missed[:6])
        hidden = [s for s in stops if not s["ring"]]
        assert not hidden, "the focus is not to be seen at %s: %s" % (self.place, hidden[:6])

    def settle(self):
        """Waits for what fades in or out; what moves for ever is left out."""
        self.driver.execute_async_script("""
            const ending = document.getAnimations().filter((a) => Number.isFinite(a.effect.getComputedTiming().endTime));
            Promise.allSettled(ending.map((a) => a.finished)).then(() => requestAnimationFrame(() => arguments[0]()));""")

    def check_view(self, keyboard=True):
        """All of it, in both themes."""
        self.check_names()
        for scheme in ("light", "dark"):
            self.emulate(scheme, motion="reduce")
            self.settle()
            self.check_contrast()
        self.emulate("light")
        self.check_fits()
        if keyboard:
            self.check_keyboard()


def name_of(node):
    return str(node.get("name", {}).get("value", ""))


def downloaded(browser, pattern, timeout_s=PATIENCE_S):
    """Waits for a file whose name matches; its path."""
    def done():
        names = sorted(os.listdir(browser.downloads))
        if any(name.endswith(".crdownload") for name in names):
            return None  # one is still being written
        paths = [os.path.join(browser.downloads, name) for name in names if re.search(pattern, name)]
        return next((path for path in paths if os.path.getsize(path) > 0), None)
    return harness.wait_for(done, "a download like " + pattern, timeout_s)
