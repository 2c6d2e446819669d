"""Who may look: tokens that are wrong, right, expired, revoked or a viewer's, and links that sign in once."""
import re

import harness
import stage


def refusal(page, *words):
    alert = page.find("alert")
    page.until(lambda: all(word in alert.text for word in words), "the refusal to say %s" % (words,))
    return alert.text


def make_token(lab, role, **more):
    return lab.admin.ok("POST", "/api/v1/tokens", {"name": "made for a test", "role": role, **more})


def test_a_wrong_token_is_refused_in_words(lab, page):
    page.allow("401")
    page.open("/")
    for wrong in ("nonsense", "fl_" + "0" * 64):
        page.fill("Token", wrong)
        page.click("button", "Sign in")
        refusal(page, "The server does not know this token")
    assert not page.has("navigation"), "signed in with a wrong token"
    assert page.js("return sessionStorage.length") == 0


def test_a_token_of_a_device_is_not_for_people(lab, page):
    page.open("/")
    page.fill("Token", lab.token("enrollment.token"))
    page.click("button", "Sign in")
    refusal(page, "admin, operator or viewer")
    assert not page.has("navigation")


def test_signed_in_until_one_leaves(lab, page):
    stage.sign_in_by_hand(lab, page)
    page.find("heading", re.compile("^Runs$|No runs yet"))
    page.reload()
    page.find("navigation", "Main")
    assert lab.admin.token not in page.js("return document.documentElement.outerHTML"), "the token stands on the page"
    assert page.js("return localStorage.length === 0 || !JSON.stringify(localStorage).includes(arguments[0])", lab.admin.token)
    page.click("button", "Sign out")
    page.find("textbox", "Token")
    assert page.js("return sessionStorage.length") == 0
    page.reload()
    page.find("textbox", "Token")


def test_signing_in_leads_to_the_place_of_the_link(lab, page):
    stage.workers(lab)
    stage.sign_in_by_hand(lab, page, "/#/devices?status=online")
    page.find("heading", "Devices")
    assert page.place == "#/devices?status=online"


def test_a_link_signs_in_once(lab, page):
    printed = harness.subprocess.run([harness.program("fedlane-server"), "login-link", "--data-dir", lab.data_dir, "--role", "viewer"],
                                     capture_output=True, text=True, timeout=60, check=True).stdout
    link = re.search(r"http://\S+", printed).group()
    place = link[len(lab.url):]
    page.open(place)
    page.find("navigation", "Main")
    code = place.rsplit("/", 1)[1]
    assert code not in page.js("return location.href + JSON.stringify(history.state)"), page.place
    assert page.js("return JSON.parse(sessionStorage.getItem('fedlane.session')).role") == "viewer"
    page.click("button", "Sign out")
    page.allow("40[0-9]")
    page.open("/#/runs")
    page.open(place)
    refusal(page, "link")
    page.find("textbox", "Token")


def test_an_expired_token_ends_the_session(lab, page):
    page.allow("401")
    # Its end may come while the page is still being loaded, where the machine is busy: it says the same then.
    page.hurry(10)
    made = make_token(lab, "admin", expires_in_s=1)
    page.open("/", stage.kept_session(made))
    refusal(page, "expired")
    assert page.js("return sessionStorage.length") == 0
    stage.sign_in_by_hand(lab, page)  # in the same tab, at the same place


def test_a_token_revoked_in_mid_stream(lab, page):
    page.allow("401")
    made = make_token(lab, "operator")
    stage.sign_in_by_hand(lab, page, token=made["token"])
    page.until_text("Live")
    page.click("link", "Server")
    page.until(lambda: page.place == "#/server", "the page of the server")
    lab.admin.ok("DELETE", "/api/v1/tokens/" + made["id"])
    refusal(page, "revoked")
    assert page.place == "#/server", "signing in again leads back"


def test_a_viewer_sees_no_buttons_that_it_may_not_press(lab, page):
    run = stage.runs(lab)[0]
    device = stage.devices(lab)[0]
    forbidden = {"New run", "Start", "Pause", "Resume", "Stop", "Clone", "Revoke"}
    places = ("/#/runs", "/#/runs/" + run["id"], "/#/devices", "/#/devices/" + device["id"], "/#/workers/" + device["worker_id"], "/#/server")

    def buttons(places):
        found = set()
        for place in places:
            page.open(place)
            page.find("heading")
            page.until(lambda: not page.js("return document.querySelector('.loading')"), "the view")
            found |= forbidden & {stage.name_of(n) for kind in ("button", "link") for n in page.nodes(kind)}
        return found

    stage.sign_in_by_hand(lab, page, role="viewer")
    assert buttons(places) == set()
    page.open("/#/runs/new")
    page.until_text("Your token only reads")
    page.click("button", "Sign out")
    stage.sign_in_by_hand(lab, page)
    assert {"New run", "Revoke"} == buttons(["/#/runs", "/#/devices/" + device["id"]])
