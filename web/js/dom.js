// Making nodes. Whatever comes from data passes here and becomes a text node or an attribute, never markup.

const SVG_NS = 'http://www.w3.org/2000/svg';

// What can have the focus.
export const FOCUSABLE = 'a[href], button, input, select, textarea, summary, [tabindex]';

const ICONS = {
    plus: 'M8 3v10M3 8h10',
    play: 'M5 3.2v9.6L12.8 8z',
    pause: 'M5.5 3.5v9M10.5 3.5v9',
    stop: 'M4 4h8v8H4z',
    copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
    check: 'M3 8.5l3.2 3.2L13 4.8',
    close: 'M4 4l8 8M12 4l-8 8',
    alert: 'M8 2.5l6.2 11H1.8zM8 6.5v3.2M8 11.6v.2',
    info: 'M8 1.8a6.2 6.2 0 100 12.4A6.2 6.2 0 008 1.8zM8 7.2v4M8 4.8v.2',
    sun: 'M8 5.2a2.8 2.8 0 100 5.6 2.8 2.8 0 000-5.6zM8 1v1.6M8 13.4V15M1 8h1.6M13.4 8H15M3.1 3.1l1.1 1.1M11.8 11.8l1.1 1.1M3.1 12.9l1.1-1.1M11.8 4.2l1.1-1.1',
    moon: 'M13.2 9.6A5.8 5.8 0 016.4 2.8a5.8 5.8 0 106.8 6.8z',
    auto: 'M8 2a6 6 0 100 12A6 6 0 008 2zM8 2v12M8 4.5h4.8M8 8h6M8 11.5h4.8',
    down: 'M3.5 6l4.5 4.5L12.5 6',
    left: 'M10 3.5L5.5 8l4.5 4.5',
    right: 'M6 3.5L10.5 8 6 12.5',
    download: 'M8 2v8.2M4.5 7L8 10.5 11.5 7M2.5 13.5h11',
    search: 'M7 2.5a4.5 4.5 0 100 9 4.5 4.5 0 000-9zM10.3 10.3L14 14',
    compare: 'M2 13V8M6 13V3M10 13V6M14 13v-3',
    exit: 'M6.5 2.5h-4v11h4M6 8h8M11 5l3 3-3 3',
    offline: 'M2 2l12 12M4.5 9.5a5 5 0 013-1.5M11.5 9.5l-.6-.5M2 6.8a8.6 8.6 0 012.6-1.7M14 6.8A8.7 8.7 0 007.6 4.4M8 12.6v.2',
    lanes: 'M1.5 4.2h5.2c3 0 3 3.8 6 3.8h1.8M1.5 8h13M1.5 11.8h5.2c3 0 3-3.8 6-3.8',
};

function setProperties(node, props) {
    for (const [key, value] of Object.entries(props)) {
        if (key === 'style')
            throw new Error('A style attribute is blocked by the page\'s policy; use class or vars.');
        if (key === 'on') {
            for (const [type, listener] of Object.entries(value))
                node.addEventListener(type, listener);
        } else if (key === 'vars') {
            for (const [name, text] of Object.entries(value))
                node.style.setProperty(`--${name}`, String(text));
        } else if (key === 'prop') {
            Object.assign(node, value);
        } else if (value !== null && value !== undefined && value !== false) {
            const text = Array.isArray(value) ? value.filter(Boolean).join(' ') : value;
            node.setAttribute(key, text === true ? '' : String(text));
        }
    }
}

// Nodes as they are, arrays one by one, null and booleans as nothing, all else as text.
export function append(node, ...children) {
    for (const child of children) {
        if (Array.isArray(child))
            append(node, ...child);
        else if (child instanceof Node)
            node.append(child);
        else if (child !== null && child !== undefined && typeof child !== 'boolean')
            node.append(document.createTextNode(String(child)));
    }
    return node;
}

export function h(tag, props, ...children) {
    const node = document.createElement(tag);
    setProperties(node, props || {});
    return append(node, ...children);
}

export function svgEl(tag, props, ...children) {
    const node = document.createElementNS(SVG_NS, tag);
    setProperties(node, props || {});
    return append(node, ...children);
}

export function icon(name) {
    return svgEl('svg', { viewBox: '0 0 16 16', width: 16, height: 16, 'aria-hidden': 'true', focusable: 'false' },
        svgEl('path', { d: ICONS[name] || ICONS.info, fill: 'none', stroke: 'currentColor', 'stroke-width': 1.5,
            'stroke-linecap': 'round', 'stroke-linejoin': 'round' }));
}

export function clear(node) {
    node.replaceChildren();
    return node;
}

// A name out of data: its own writing direction does not reach beyond it.
export function isolated(text) {
    return h('bdi', null, text);
}

// '12.3 kB', '2 min 5 s': numbers, and their units muted.
export function quantity(text) {
    const parts = text.split(' ').map((word, i) => {
        const spaced = i ? ` ${word}` : word;
        return /[\d∞–]|^NaN$/.test(word) ? spaced : h('span', { class: 'unit' }, spaced);
    });
    return h('span', { class: 'num' }, parts);
}

// Whether the pointer moved by itself: where the page moves under a pointer at rest, browsers say that it moved, too.
export function pointerWatch() {
    let last = '';
    return ({ screenX, screenY }) => {
        const place = `${screenX} ${screenY}`;
        const isMove = place !== last;
        last = place;
        return isMove;
    };
}

// [button, whether it can be pressed] each: a focus that stood on one that cannot any more goes to the next that can.
export function enable(buttons) {
    const focused = buttons.find(([button]) => button === document.activeElement);
    for (const [button, isOn] of buttons)
        button.disabled = !isOn;
    const next = buttons.find(([, isOn]) => isOn);
    if (focused && !focused[1] && next)
        next[0].focus();
}

// f, not again while it is at work: a second press of a button does nothing.
export function oneAtATime(f) {
    let isBusy = false;
    return async (...values) => {
        if (isBusy)
            return;
        isBusy = true;
        try {
            await f(...values);
        } finally {
            isBusy = false;
        }
    };
}

// f, at most once in `ms`, a number or a function, and not again before what it promised has come; the last call is never lost.
// After the signal's end it is not called any more.
export function coalesce(f, ms, signal) {
    let timer = 0;
    let last = -Infinity;
    let isBusy = false;
    let isWanted = false;
    const isOver = () => Boolean(signal && signal.aborted);
    const arm = () => {
        const wait = typeof ms === 'function' ? ms() : ms;
        timer = setTimeout(run, Math.max(0, last + wait - performance.now()));
    };
    const run = async () => {
        timer = 0;
        last = performance.now();
        isBusy = true;
        try {
            if (!isOver())
                await f();
        } finally {
            isBusy = false;
            if (isWanted && !isOver())
                arm();
            isWanted = false;
        }
    };
    if (signal)
        signal.addEventListener('abort', () => clearTimeout(timer));
    return () => {
        if (isBusy)
            isWanted = true;
        else if (!timer && !isOver())
            arm();
    };
}
