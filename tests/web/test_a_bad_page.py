"""The rules that every view is held to, on a page that breaks each of them: they must notice."""
import urllib.parse

GOOD = """<!doctype html><html lang=en><title>x</title><style>a:focus, button:focus {outline: 2px solid} body {margin: 0}</style>
<main><p>Text <a href="#x">link</a> <button>Do</button></p></main>"""


def show(page, html):
    page.driver.get("data:text/html;charset=utf-8," + urllib.parse.quote(html))


def complains(check, *words):
    try:
        check()
    except AssertionError as error:
        for word in words:
            assert word in str(error), error
        return
    raise AssertionError("%s took it" % check.__name__)


def test_a_good_page_passes(lab, page):
    show(page, GOOD)
    page.check_view()
    assert page.find("button", "Do").tag_name == "button"
    assert [s["element"] for s in page.tab_stops()[0]] == ["a link", "button Do"]


def test_names_are_missed(lab, page):
    show(page, GOOD + "<input><button></button>")
    complains(page.check_names, "<input>", "<button>")
    show(page, GOOD + "<svg role=img width=9 height=9><circle r=9 /></svg>")
    complains(page.check_names, "svg")


def test_weak_text_is_seen(lab, page):
    show(page, GOOD + "<p style='color: #949494'>pale text</p>")
    complains(page.check_contrast, "pale text")
    show(page, GOOD + "<div style='background: #888'><p style='opacity: .5'>half of it</p></div>")
    complains(page.check_contrast, "half of it")
    show(page, GOOD + "<svg width=99 height=20><text y=15 fill='#ccc'>in a picture</text></svg>")
    complains(page.check_contrast, "in a picture")
    show(page, GOOD + "<p style='color: #949494; font-size: 24px'>large</p><button disabled style='color: #ccc'>off</button>")
    page.check_contrast()
    show(page, GOOD + "<style>@media (prefers-color-scheme: dark) {p {color: #333; background: #222}}</style>")
    complains(page.check_view, "Text")


def test_what_sticks_out_is_found(lab, page):
    page.resize(360)
    show(page, GOOD + "<div class=wide style='width: 500px'>wide</div>")
    complains(page.check_fits, "div.wide")
    show(page, GOOD + "<div style='overflow: auto'><div style='width: 500px'>wide</div></div>")
    page.check_fits()


def test_the_keyboard_is_followed(lab, page):
    show(page, GOOD + "<style>.bare:focus {outline: none}</style><button class=bare>Bare</button>")
    complains(page.check_keyboard, "button Bare")
    show(page, GOOD + "<button id=a>Trap</button><button>Behind</button><script>a.onkeydown = (e) => e.preventDefault()</script>")
    complains(page.check_keyboard, "button Behind")


def test_the_console_and_other_origins_are_heard(lab, page):
    show(page, "<script>console.error('went wrong')</script>")
    complains(page.check, "went wrong")
    page.allow("went wrong")
    page.check()
    show(page, "<img src='http://127.0.0.1:9/foreign.png' alt='x'>")
    page.until(lambda: (page.collect(), page.requests and page.requests[-1].endswith("foreign.png"))[1], "the request")
    page.allow("foreign.png")
    complains(page.check, "http://127.0.0.1:9/foreign.png")
    page.requests.clear()
