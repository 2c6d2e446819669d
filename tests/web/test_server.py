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
    rounds = sum(r["model_version"] for r in lab.admin.ok("GET", "/api/v1/runs?limit=1000")["items"])
    figures = page.js("return Object.fromEntries([...document.querySelectorAll('dl > div')].map((d) => [d.children[0].innerText, d.children[1].innerText]))")
    assert figures["Rounds"] == format(rounds, ","), (figures, rounds)
    assert figures["Memory"].endswith("MB") and figures["Writer queue"].isdigit(), figures


def test_it_looks_only_while_somebody_looks(lab, page):
    stage.sign_in(lab, page, "/#/server")
    page.until_text("It answers and its database can be read.")
    page.js("""globalThis.fedlaneLooks = 0;
               const ask = globalThis.fetch;
               globalThis.fetch = (url, ...more) => { globalThis.fedlaneLooks += String(url).endsWith('/metrics'); return ask(url, ...more); };
               let hidden = true;
               Object.defineProperty(document, 'hidden', {get: () => hidden, configurable: true});
               globalThis.fedlaneHide = (is) => { hidden = is; document.dispatchEvent(new Event('visibilitychange')); };
               globalThis.fedlaneHide(true);""")
    # Timers of the page run in order: one that is set now, and is longer than its pause, ends after its next look.
    looks = page.driver.execute_async_script("setTimeout(() => arguments[0](globalThis.fedlaneLooks), 5500)")
    assert looks <= 1, "it asks on while nobody looks"  # one may have begun before
    page.js("globalThis.fedlaneHide(false)")
    page.until(lambda: page.js("return globalThis.fedlaneLooks") > looks, "a look once somebody looks again")
