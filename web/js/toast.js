// Short messages in a corner, read out by screen readers. Bad ones stay until they are closed.

import { h, icon } from './dom.js';

const STAY_MS = 5000;
const TOASTS_MOST = 4;
let toastRegion = null;

export function startToasts() {
    toastRegion = h('div', { class: 'toasts', role: 'log', 'aria-live': 'polite', 'aria-label': 'Messages' });
    return toastRegion;
}

export function toast(text, kind = 'good') {
    if (!toastRegion)
        return;
    const close = () => node.remove();
    const node = h('div', { class: ['toast', kind], role: kind === 'bad' ? 'alert' : null },
        icon(kind === 'bad' ? 'alert' : 'check'), h('span', null, text),
        h('button', { type: 'button', class: 'button quiet icon-only', 'aria-label': 'Close the message', on: { click: close } },
            icon('close')));
    toastRegion.append(node);
    while (toastRegion.childElementCount > TOASTS_MOST)
        toastRegion.firstElementChild.remove();
    if (kind !== 'bad')
        setTimeout(close, STAY_MS);
}
