"""What holds on every view: names, contrast in both themes, the width of a phone, the keyboard; and what a bad link shows."""
import re

import browser
import harness
import stage


GONE = "Not found|[Tt]here is no"


def views(lab):
    """(place, a text that shows that it is there)."""
    first, second = stage.runs(lab)
    device = stage.devices(lab)[0]
    stage.crowd(lab)
    return [
        ("/#/runs", "with-term"),
        ("/#/runs/new", "Run spec"),
        ("/#/runs/new?clone=" + first["id"], "without-term copy"),
        ("/#/runs/" + second["id"], "with-term"),
        ("/#/runs/%s/rounds/1" % second["id"], "Round 1"),
        ("/#/devices", "1–100 of 1,0"),
        ("/#/devices/" + device["id"], device["name"]),
        ("/#/workers/" + device["worker_id"], "Threads for training"),
        ("/#/compare", "Choose 2 to 10 runs"),
        ("/#/compare?runs=%s,%s" % (first["id"], second["id"]), "What differs between their specs"),
        ("/#/server", "waits on purpose"),
    ]


def visit(page, place, text):
    page.open(place)
    page.until(lambda: shows(page, text) and not page.js("return document.querySelector('.loading')"), "%s to show %r" % (place, text))


def shows(page, text):
    return page.js("""return document.body.innerText.includes(arguments[0])
                          || [...document.querySelectorAll('input, textarea')].some((f) => f.value.includes(arguments[0]))""", text)


def test_every_view_in_both_themes(lab, page):
    stage.sign_in(lab, page)
    for place, text in views(lab):
        visit(page, place, text)
        page.check_view(keyboard=False)


def test_every_view_on_a_phone(lab, page):
    page.resize(browser.PHONE, 740)
    stage.sign_in(lab, page)
    page.check_fits()
    for place, text in views(lab):
        visit(page, place, text)
        page.check_fits()
        page.check_touch()


def test_the_keyboard_reaches_everything(lab, page):
    stage.sign_in(lab, page)
    for place, text in views(lab):
        if place == "/#/devices":
            place, text = "/#/devices?dataset=synthetic", "alpha"  # thirty links in place of a hundred
        visit(page, place, text)
        page.check_keyboard()


def test_from_signing_in_to_a_stopped_run_by_keyboard_alone(lab, page):
    """A run that waits for devices that never come is stopped without a mouse."""
    run = lab.submit(stage.small_run("to be stopped"))
    page.open("/#/runs/" + run)
    page.find("textbox", "Token")
    page.keys(stage.tokens(lab)["operator"], browser.Keys.ENTER)
    page.find("button", re.compile("^Stop"))
    page.tab_to("Stop")
    page.keys(browser.Keys.ENTER)
    page.find("dialog")
    page.tab_to("Stop the run")
    page.keys(browser.Keys.ENTER)
    page.until(lambda: lab.run(run)["outcome"] == "stopped", "the run to be stopped")
    page.until_text("stopped")
    page.until(lambda: not page.has("button", "Stop"), "the button to go")
    assert page.js("return document.activeElement.closest('.run-actions') !== null"), "the focus is lost with the button"


def test_a_dark_system_makes_a_dark_page(lab, page):
    ground = lambda: page.js("return getComputedStyle(document.documentElement).backgroundColor")
    page.emulate("dark")
    stage.sign_in(lab, page)
    dark = ground()
    page.emulate("light")
    page.until(lambda: ground() != dark, "the page to turn light")


def test_links_that_lead_nowhere_say_so(lab, page):
    run, nobody = stage.runs(lab)[0]["id"], "0" * 32
    page.allow("4[01][0-9]")
    stage.sign_in(lab, page)
    for place, text in [
        ("#/nowhere", "no such page"), ("#/runs/%zz", "no such page"), ("#/runs/a/b/c/d", "no such page"), ("#//", "Runs"),
        ("#/runs/" + nobody, GONE), ("#/runs/nonsense", GONE), ("#/runs/%3Cimg%20src=x%3E", GONE),
        ("#/runs/%s/rounds/999" % run, GONE), ("#/runs/%s/rounds/x" % run, GONE),
        ("#/runs/new?clone=" + nobody, GONE), ("#/runs?status=__proto__&sort=constructor.asc", "Any status"),
        ("#/runs/..", GONE), ("#/devices/.", "is no id"), ("#/runs/" + 40000 * "a", "too long"),
        ("#/devices/" + nobody, GONE), ("#/devices/../runs", "no such page"), ("#/workers/" + nobody, GONE),
        ("#/devices?status=broken&sort=nothing.up", "Devices"),
        ("#/compare?runs=" + nobody, GONE), ("#/compare?runs=x", "is no id"),
        ("#/compare?runs=%s,%s" % (run, nobody), "is not shown"), ("#/compare?runs=%s&x=moon&smooth=7" % run, "There is no axis"),
        ("#/compare?runs=%s&metric=no_such" % run, "has this metric"),
    ]:
        page.open("/" + place)
        page.until(lambda: re.search(text, page.text()) and page.has("heading"), "%s to say %r" % (place, text))
        assert page.live_state() != "offline", "nothing is lost at " + place
        assert page.has("navigation"), "from %s no way leads on" % place


def test_hostile_names_are_text(lab, page):
    page.on_new_document("globalThis.alert = () => { globalThis.fedlaneAlert = true; };")
    run, device, worker = stage.hostile(lab)
    stage.sign_in(lab, page)
    name, right = stage.HOSTILE, stage.RIGHT_TO_LEFT
    other = stage.runs(lab)[0]["id"]
    for place in ("#/runs", "#/runs/" + run, "#/runs/%s/rounds/0" % run, "#/devices?dataset=hostile", "#/devices/" + device,
                  "#/workers/" + worker, "#/compare?runs=%s,%s" % (run, other), "#/runs/new?clone=" + run):
        page.open("/" + place)
        page.until(lambda: shows(page, name), "%s to show the name as it is" % place)
        page.until(lambda: not page.js("return document.querySelector('.loading')"), "the view")
        assert not page.js("return document.querySelector('main img, main script, main iframe')"), "markup out of a name at " + place
        assert not page.js("return globalThis.fedlaneAlert"), "a name was run at " + place
        page.check_names()
    page.open("/#/devices?dataset=hostile")
    page.until_text(right)
    turned = page.js("""return [...document.querySelectorAll('main *')].filter((e) => e.childNodes.length === 1 && e.firstChild.nodeType === 3
                            && e.textContent.includes(arguments[0]) && e.tagName !== 'OPTION'
                            && !e.closest('bdi') && !getComputedStyle(e).unicodeBidi.includes('isolate')).map((e) => e.outerHTML)""", right)
    assert not turned, "a right-to-left name turns what stands beside it: %s" % turned


def test_names_that_are_hard_to_show(lab, page):
    """As long as a name may be and nowhere to break it; nothing to see at all; signs that turn the rest of a command."""
    long, blank, turning, device, worker = stage.unwieldy(lab)
    page.resize(browser.PHONE, 740)
    stage.sign_in(lab, page)
    for place, text in (("#/devices?dataset=" + stage.LONG, stage.LONG), ("#/devices/" + device, stage.LONG), ("#/workers/" + worker, stage.LONG),
                        ("#/compare?runs=%s,%s,%s" % (long, blank, turning), "unnamed"), ("#/runs/" + long, stage.LONG), ("#/runs", blank[-8:])):
        visit(page, "/" + place, text)
        page.check_fits()
    link = page.find("link", "…" + blank[-8:])
    assert link.size["width"] > 40, "nothing to press"
    visit(page, "/#/runs/" + turning, "all at once")
    page.until(lambda: page.js("return document.querySelectorAll('main code').length") > 4, "the commands")
    page.until(lambda: "\\u202e" in page.js("return [...document.querySelectorAll('main code')].map((c) => c.textContent).join('')"), "the spec")
    assert "\u202e" not in page.js("return document.title + [...document.querySelectorAll('main code')].map((c) => c.textContent).join('')")


ANSWERS = """
    const ask = globalThis.fetch;
    const text = (body, status, type) => new Response(body, {status, headers: {'Content-Type': type}});
    const answers = {page: () => text('<h1>Welcome</h1>', 200, 'text/html'), cut: () => text('{"items":[{"id":"a', 200, 'application/json'),
        gateway: () => text('<h1>Bad gateway</h1>', 502, 'text/html'), none: () => text('null', 500, 'application/json'),
        list: () => text('{"items":[{}],"next_cursor":null}', 200, 'application/json'), bare: () => text('{}', 200, 'application/json'),
        elsewhere: () => ({type: 'opaqueredirect'})};
    globalThis.fetch = (url, options) => (globalThis.fedlaneAnswer && !String(url).includes('/events')
        ? Promise.resolve(answers[globalThis.fedlaneAnswer]()) : ask(url, options));"""


def test_answers_that_are_none(lab, page):
    """Of something in between, or of a server of another version: each view says so, and comes back."""
    page.allow("")
    page.on_new_document(ANSWERS)
    run, other = (r["id"] for r in stage.runs(lab))
    device = stage.devices(lab)[0]
    stage.sign_in(lab, page, "/#/nowhere")
    places = ("#/runs", "#/runs/new", "#/runs/" + run, "#/runs/%s/rounds/1" % run, "#/devices", "#/devices/" + device["id"],
              "#/workers/" + device["worker_id"], "#/compare?runs=%s,%s" % (run, other), "#/server")
    wrong = "does not understand what the server sent|is no list|not what (it|they) should be"
    for answer, words, some in (("bare", wrong, places), ("list", wrong, places[2:4]), ("page", "between this page", places[:1]), ("cut", "between this page", places[:1]),
                                ("gateway", "502.*tries again", places[3:4]), ("none", "500.*without saying why", places[4:5]), ("elsewhere", "sent elsewhere", places[5:6])):
        for place in some:
            page.js("globalThis.fedlaneAnswer = arguments[0]; location.hash = arguments[1]", answer, place)
            page.until(lambda: re.search(words, page.text()), "%s to tell of %s" % (place, answer))
            assert not page.js("return document.querySelector('.loading')") and page.has("navigation"), place
    page.js("globalThis.fedlaneAnswer = null")
    page.click("button", "Try again")
    page.until_text(device["name"])


def test_paper_is_light(lab, page):
    run = stage.runs(lab)[0]
    page.emulate("dark")
    stage.sign_in(lab, page, "/#/runs/" + run["id"])
    theme = lambda: page.js("return document.documentElement.dataset.theme")
    assert theme() == "dark"
    page.js("globalThis.fedlaneThemes = []; addEventListener('themechange', () => fedlaneThemes.push(document.documentElement.dataset.theme))")
    page.cdp("Page.printToPDF")
    page.until(lambda: page.js("return globalThis.fedlaneThemes") == ["light", "dark"], "a light page for the printer alone")


def test_metrics_that_are_no_numbers(lab, page):
    """A run that diverged: NaN and infinities are told, the page stands."""
    run = stage.diverged(lab)
    stage.sign_in(lab, page, "/#/runs/" + run["id"])
    page.until_text(re.compile("NaN|∞"))
    page.open("/#/compare?runs=%s,%s" % (run["id"], stage.runs(lab)[0]["id"]))
    page.until_text("Gaps")
    last = next(row for row in page.rows("Last values") if row[0] == "Train loss")
    assert re.search("NaN|∞", last[1]), last
    page.open("/#/runs")
    row = page.until(lambda: stage.row_of(page, "Runs", run["name"]), "the run in the table")
    assert any(re.search("NaN|∞", cell) for cell in row), row


def test_a_run_without_rounds(lab, page):
    run = lab.submit(stage.small_run("still waiting"))
    stage.sign_in(lab, page, "/#/runs/" + run)
    reason = harness.wait_for(lambda: lab.run(run)["status_reason"], "the reason why it waits")
    page.until_text(reason)
    page.open("/#/compare?runs=%s,%s" % (run, stage.runs(lab)[0]["id"]))
    page.until_text("still waiting")
    page.allow("404")
    page.open("/#/runs/%s/rounds/0" % run)
    page.until_text("is still to come")
