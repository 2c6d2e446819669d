// The colours of the page's tokens for what is drawn on a canvas, and when they change.

export function tokenColour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

export function chartColours() {
    const series = [];
    for (let i = 0; i < 8; i++)
        series.push(tokenColour(`c${i}`));
    return {
        surface: tokenColour('surface'), text: tokenColour('text'), muted: tokenColour('muted'),
        line: tokenColour('line'), edge: tokenColour('edge'), series,
    };
}

// css: as the tokens have it, #rrggbb.
export function rgbOf(css) {
    const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(css);
    return hex ? hex.slice(1).map((part) => parseInt(part, 16)) : [128, 128, 128];
}

// The same colour, see-through.
export function withAlpha(css, alpha) {
    const [r, g, b] = rgbOf(css);
    return `rgba(${r}, ${g}, ${b}, ${alpha})`;
}

// Calls f whenever the page turns light or dark; the answer ends that.
export function onThemeChange(f) {
    window.addEventListener('themechange', f);
    return () => window.removeEventListener('themechange', f);
}
