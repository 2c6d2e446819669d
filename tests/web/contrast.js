// The contrast of every visible text with what is behind it, by the formula of WCAG 2. For tests: injected into the page.
/* exported lookAtContrast */
function lookAtContrast() {
    const canvas = new OffscreenCanvas(1, 1);
    const paint = canvas.getContext('2d', {willReadFrequently: true});
    const known = new Map();

    // Any CSS colour as [red, green, blue, alpha], 0 to 1.
    function rgba(colour) {
        if (!known.has(colour)) {
            paint.clearRect(0, 0, 1, 1);
            paint.fillStyle = colour;
            paint.fillRect(0, 0, 1, 1);
            const [r, g, b, a] = paint.getImageData(0, 0, 1, 1).data;
            known.set(colour, [r / 255, g / 255, b / 255, a / 255]);
        }
        return known.get(colour);
    }

    function over(top, below) {
        const a = top[3] + below[3] * (1 - top[3]);
        const mix = (i) => (a === 0 ? 0 : (top[i] * top[3] + below[i] * below[3] * (1 - top[3])) / a);
        return [mix(0), mix(1), mix(2), a];
    }

    function luminance(colour) {
        const [r, g, b] = colour.map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    }

    // What lies behind an element; null where a picture does, which no formula can tell.
    function behind(element) {
        let colour = [0, 0, 0, 0];
        for (let at = element; at; at = at.parentElement) {
            const style = getComputedStyle(at);
            if (style.backgroundImage !== 'none') return null;
            colour = over(colour, rgba(style.backgroundColor));
            if (colour[3] > 0.999) return colour;
        }
        return over(colour, rgba(getComputedStyle(document.documentElement).colorScheme.includes('dark') ? '#121212' : '#fff'));
    }

    function opacityOf(element) {
        let opacity = 1;
        for (let at = element; at; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
        return opacity;
    }

    const isOff = (element) => element.closest('[disabled], [aria-disabled="true"], [inert]');

    function isShown(element) {
        const box = element.getBoundingClientRect();
        return box.width > 1 && box.height > 1 && element.checkVisibility({checkOpacity: true, checkVisibilityCSS: true});
    }

    const weak = [];
    let texts = 0;

    function look(element, text, colour) {
        const back = behind(element);
        if (!back) return;
        texts += 1;
        const style = getComputedStyle(element);
        const front = rgba(colour);
        const seen = over([front[0], front[1], front[2], front[3] * opacityOf(element)], back);
        const [light, dark] = [luminance(seen), luminance(back)].sort((a, b) => b - a);
        const size = parseFloat(style.fontSize);
        // A mark such as ▲ is a picture: 3 to 1, as for large text.
        const isLarge = !/[\p{L}\p{N}]/u.test(text) || size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
        const ratio = (light + 0.05) / (dark + 0.05);
        if (ratio < (isLarge ? 3 : 4.5) - 0.005) {
            weak.push({text: text.trim().slice(0, 60), ratio: Number(ratio.toFixed(2)), colour, size,
                element: `${element.tagName.toLowerCase()}.${element.getAttribute('class') ?? ''}`});
        }
    }

    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const element = walk.currentNode.parentElement;
        if (!walk.currentNode.data.trim() || ['SCRIPT', 'STYLE', 'OPTION', 'TITLE', 'DESC'].includes(element.tagName.toUpperCase())) continue;
        if (!isShown(element) || isOff(element)) continue;
        const style = getComputedStyle(element);
        look(element, walk.currentNode.data, element instanceof SVGElement ? style.fill : style.color);
    }
    for (const field of document.querySelectorAll('input, textarea, select')) {
        if (!isShown(field) || isOff(field)) continue;
        if (field.placeholder && !field.value) look(field, field.placeholder, getComputedStyle(field, '::placeholder').color);
        else look(field, field.value || 'x', getComputedStyle(field).color);
    }
    return {texts, weak};
}
