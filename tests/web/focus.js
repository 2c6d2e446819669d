// Follows the focus through the page. For tests: injected into the page.
/* exported startFocusWalk */
function startFocusWalk() {
    const wanted = 'a[href], button, input, select, textarea, summary, [tabindex]';
    // What Tab must come to. Of radio buttons with one name, one stands for all.
    const isStop = (element) => element.tabIndex >= 0 && !element.disabled && !element.closest('[inert]') &&
        element.getClientRects().length > 0 && element.checkVisibility({checkVisibilityCSS: true}) &&
        !(element.type === 'radio' && !element.checked);
    const told = (element) => `${element.tagName.toLowerCase()} ${(element.getAttribute('aria-label') || element.innerText || element.name || '').trim().slice(0, 60)}`;
    const hasRing = (element) => {
        const style = getComputedStyle(element);
        return (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== 'none';
    };

    document.removeEventListener('focusin', globalThis.fedlaneFocus?.listener);
    document.activeElement?.blur();
    getSelection().removeAllRanges();
    document.body.setAttribute('tabindex', '-1');
    document.body.focus();
    document.body.removeAttribute('tabindex');
    const all = [...(document.querySelector('dialog[open]') ?? document).querySelectorAll(wanted)].filter(isStop);

    const reached = new Set();
    const walk = {
        stops: [],
        isRound: false,
        missed: () => all.filter((element) => element.isConnected && isStop(element) && !reached.has(element)).map(told),
        listener: ({target}) => {
            if (reached.has(target) || target === document.body) {
                walk.isRound = true;
                return;
            }
            reached.add(target);
            walk.stops.push({element: told(target), ring: hasRing(target)});
        },
    };
    globalThis.fedlaneFocus = walk;
    document.addEventListener('focusin', walk.listener);
}
