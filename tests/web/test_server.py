"""The server's own figures."""
import stage


def figures(page):
    return page.js("return Object.fromEntries([...document.querySelectorAll('dl > div')]"
                   ".map((d) => [d.children[0].innerText, d.children[1].innerText]))")


def rounds(lab):
    return sum(r["model_version"] for r in lab.admin.ok("GET", "/api/v1/runs?limit=1000")["items"])


def route(page, name):
    return next((row for row in page.rows("Routes") if row[0].split()[0] == name), None)


def test_figures_of_the_server(lab, page):
    stage.runs(lab)
    page.hurry(10)
    stage.sign_in(lab, page, "/#/server")
    page.until_text("It answers and its database can be read.")
    # Each look is a request, too: the second one finds it.
    page.until(lambda: (route(page, "prometheus") or ["", "–"])[1] not in ("–", "0 /s"), "rates, after the second look")
    claims = page.until(lambda: route(page, "worker_claim"), "a claim of a worker that has waited")
    assert "waits on purpose" in claims[0] and claims[4].isdigit(), claims
    version = lab.admin.ok("GET", "/api/v1/version")["version"]
    text = page.text()
    assert "version " + version in text
    for title in ("Requests", "Half are answered within", "99 % within", "Memory", "Database", "Writer queue", "Waiters", "Connections"):
        assert title in text, title
    # Rounds may go on: the page shows those of its look, which are not fewer than before it and not more than after it.
    before = rounds(lab)
    assert before > 0
    shown = page.until(lambda: [n for n in [int(figures(page)["Rounds"].replace(",", ""))] if n >= before], "as many rounds as the API has")[0]
    assert shown <= rounds(lab), shown
    now = figures(page)
    assert now["Memory"].endswith("MB") and now["Writer queue"].isdigit(), now


def test_it_looks_only_while_somebody_looks(lab, page):
    page.hurry(20)
    page.on_new_document("""globalThis.fedlaneLooks = 0;
        const ask = globalThis.fetch;
        globalThis.fetch = (url, ...more) => { globalThis.fedlaneLooks += String(url).endsWith('/metrics'); return ask(url, ...more); };
        let hidden = false;
        Object.defineProperty(document, 'hidden', {get: () => hidden});
        globalThis.fedlaneHide = (is) => { hidden = is; document.dispatchEvent(new Event('visibilitychange')); };""")
    stage.sign_in(lab, page, "/#/server")
    page.until(lambda: page.js("return globalThis.fedlaneLooks") >= 3, "it to look again and again")
    # Timers of a page end in the order of their times: one that is longer than the pause ends after the next look would.
    before, after = page.driver.execute_async_script("""globalThis.fedlaneHide(true);
        const before = globalThis.fedlaneLooks;
        setTimeout(() => arguments[0]([before, globalThis.fedlaneLooks]), 500);""")
    assert after == before, "it asks on while nobody looks"
    page.js("globalThis.fedlaneHide(false)")
    page.until(lambda: page.js("return globalThis.fedlaneLooks") > before, "a look once somebody looks again")
