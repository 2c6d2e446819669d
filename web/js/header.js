// The bar on top: where one is, whether the page is live, who is signed in.

import { clear, h, icon } from './dom.js';
import { session, signOut } from './session.js';
import { themeButton } from './theme.js';

const LIVE_TEXTS = {
    live: ['Live', 'What you see is what the server knows.'],
    behind: ['Behind', 'Events arrive late or are being caught up with: the page shows an earlier state.'],
    offline: ['Offline', 'The connection is lost. The page tries again by itself and misses nothing.'],
    connecting: ['Connecting', 'The page is not live yet.'],
};

function liveBadge() {
    const node = h('span', { class: 'live', role: 'status', hidden: true });
    return {
        node,
        set(state) {
            const [text, title] = LIVE_TEXTS[state] || ['', ''];
            node.hidden = !text;
            node.dataset.state = state || '';
            node.title = title;
            node.textContent = text;
        },
    };
}

// items: [{title, place, name}] → {node, showPlace(name), showSession(), live}
export function makeHeader(items) {
    const live = liveBadge();
    const links = items.map((item) => h('a', { href: item.place, 'data-name': item.name, 'data-title': item.title }, item.title));
    const nav = h('nav', { 'aria-label': 'Main' }, h('ul', null, links.map((link) => h('li', null, link))));
    const who = h('span', { class: 'who' });
    const leave = h('button', { type: 'button', class: 'button quiet icon-only', title: 'Sign out', 'aria-label': 'Sign out',
        on: { click: signOut } }, icon('exit'));
    const node = h('header', { class: 'bar' }, h('a', { class: 'mark', href: '#/runs' }, icon('lanes'), 'Fedlane'), nav,
        h('div', { class: 'bar-end' }, live.node, who, themeButton(), leave));
    return {
        node,
        live,
        showPlace(name) {
            for (const link of links) {
                if (link.dataset.name === name)
                    link.setAttribute('aria-current', 'page');
                else
                    link.removeAttribute('aria-current');
            }
        },
        showSession() {
            const isIn = Boolean(session.token);
            nav.hidden = !isIn;
            leave.hidden = !isIn;
            who.hidden = !isIn;
            clear(who).append(session.role || '');
            who.title = session.name ? `Token "${session.name}"` : '';
        },
    };
}
