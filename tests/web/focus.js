// Follows the focus through the page. For tests: injected into the page.
/* exported startFocusWalk */
function startFocusWalk() {
    const wanted = 'a[href], button, input, select, textarea, summary, [tabindex]';
    // What Tab must come to. Of radio buttons with one name, and of a group with roving focus, one stands for all.
    const isStop = (element) => element.tabIndex >= 0 && !element.disabled && !element.closest('[inert]') &&
        element.getClientRects().length > 0 && element.checkVisibility({checkVisibilityCSS: true}) &&
        !(element.type === 'radio' && !element.checked);
    const told = (element) => `${element.tagName.toLowerCase()} ${(element.getAttribute('aria-label') || element.innerText || element.name || '').trim().slice(0, 60)}`;
    const reached = new Set();
    document.activeElement?.blur();
    getSelection().removeAllRanges();
    document.body.setAttribute('tabindex', '-1');
    document.body.focus();
    document.body.removeAttribute('tabindex');
    const modal = document.querySelector('dialog[open]');
    const all = [...(modal ?? document).querySelectorAll(wanted)].filter(isStop);

    globalThis.fedlaneFocusStep = () => {
        const at = document.activeElement;
        if (!at || at === document.body || at === document.documentElement || reached.has(at)) return null;
        reached.add(at);
        const style = getComputedStyle(at);
        const hasOutline = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
        return {element: told(at), ring: hasOutline || style.boxShadow !== 'none'};
    };
    globalThis.fedlaneFocusMissed = () => all.filter((element) => element.isConnected && isStop(element) && !reached.has(element)).map(told);
}
