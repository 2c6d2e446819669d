// Short messages in a corner, read out by screen readers. Bad ones stay until they are closed.

import { h, icon } from './dom.js';

const STAY_MS = 5000;
const MOST = 4;
let region = null;

export function startToasts() {
    region = h('div', { class: 'toasts', role: 'log', 'aria-live': 'polite', 'aria-label': 'Messages' });
    return region;
}

export function toast(text, kind = 'good') {
    if (!region)
        return;
    const close = () => node.remove();
    const node = h('div', { class: ['toast', kind], role: kind === 'bad' ? 'alert' : null },
        icon(kind === 'bad' ? 'alert' : 'check'), h('span', null, text),
        h('button', { type: 'button', class: 'button quiet icon-only', 'aria-label': 'Close the message', on: { click: close } },
            icon('close')));
    region.append(node);
    while (region.childElementCount > MOST)
        region.firstElementChild.remove();
    if (kind !== 'bad')
        setTimeout(close, STAY_MS);
}
