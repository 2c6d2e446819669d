// What makes the page wider than the screen. For tests: injected into the page.
/* exported whatSticksOut */
function whatSticksOut() {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width && document.body.scrollWidth <= width) return [];
    // A box that scrolls by itself holds what is in it.
    const isHeld = (element) => {
        for (let at = element.parentElement; at && at !== document.documentElement; at = at.parentElement) {
            if (at !== document.body && getComputedStyle(at).overflowX !== 'visible') return true;
        }
        return false;
    };
    const out = [...document.body.querySelectorAll('*')].filter((element) =>
        element.getBoundingClientRect().right > width + 1 && !isHeld(element));
    return [{page: document.documentElement.scrollWidth, screen: width},
        ...out.map((e) => `${e.tagName.toLowerCase()}.${e.getAttribute('class') ?? ''} to ${Math.round(e.getBoundingClientRect().right)}`)];
}
