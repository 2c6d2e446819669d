"""The server's own figures."""
import stage


def test_figures_of_the_server(lab, page):
    stage.runs(lab)
    stage.sign_in(lab, page, "/#/server")
    page.until_text("It answers and its database can be read.")
    page.until(lambda: [r for r in page.rows("Routes") if r[0] == "prometheus" and r[1] not in ("–", "0 /s")], "rates, after the second look")
    asked = {row[0].split()[0]: row for row in page.rows("Routes")}
    assert "waits on purpose" in asked["worker_claim"][0] and asked["worker_claim"][4] == "0", asked["worker_claim"]
    version = lab.admin.ok("GET", "/api/v1/version")["version"]
    text = page.text()
    assert "version " + version in text
    for title in ("Requests", "Half are answered within", "99 % within", "Memory", "Database", "Writer queue", "Waiters", "Connections"):
        assert title in text, title
    rounds = lambda: format(sum(r["model_version"] for r in lab.admin.ok("GET", "/api/v1/runs?limit=1000")["items"]), ",")
    figures = lambda: page.js("return Object.fromEntries([...document.querySelectorAll('dl > div')].map((d) => [d.children[0].innerText, d.children[1].innerText]))")
    page.until(lambda: figures()["Rounds"] == rounds(), "as many rounds as the API has")
    now = figures()
    assert now["Memory"].endswith("MB") and now["Writer queue"].isdigit(), now


def test_it_looks_only_while_somebody_looks(lab, page):
    page.on_new_document("""const wait = globalThis.setTimeout;
        globalThis.setTimeout = (f, ms, ...more) => wait(f, ms / 10, ...more);  // minutes pass in seconds
        globalThis.fedlaneLooks = 0;
        const ask = globalThis.fetch;
        globalThis.fetch = (url, ...more) => { globalThis.fedlaneLooks += String(url).endsWith('/metrics'); return ask(url, ...more); };
        let hidden = false;
        Object.defineProperty(document, 'hidden', {get: () => hidden});
        globalThis.fedlaneHide = (is) => { hidden = is; document.dispatchEvent(new Event('visibilitychange')); };""")
    stage.sign_in(lab, page, "/#/server")
    page.until(lambda: page.js("return globalThis.fedlaneLooks") >= 3, "it to look again and again")
    page.js("globalThis.fedlaneHide(true)")
    # Timers of a page end in the order of their times: one that is longer than the pause ends after the next look.
    passed = "setTimeout(() => arguments[0](globalThis.fedlaneLooks), 6000)"
    before = page.driver.execute_async_script(passed)  # a look that had begun
    assert page.driver.execute_async_script(passed) == before, "it asks on while nobody looks"
    page.js("globalThis.fedlaneHide(false)")
    page.until(lambda: page.js("return globalThis.fedlaneLooks") > before, "a look once somebody looks again")
