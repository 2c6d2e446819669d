// What happened in a run, newest first, a page at a time: it holds one page, however long the run.
import { api, apiPath } from './api.js';
import { commandBox, curlLine } from './command.js';
import { clear, coalesce, enable, h, isolated } from './dom.js';
import { eventTone, eventWords } from './event_words.js';
import { fmtCount } from './format.js';
import { reportBug } from './http.js';
import { placeUrl } from './router.js';
import { stateMark } from './states.js';
import { timeNode } from './time.js';

const PAGE = 50;

function eventItem(event, runId, numRounds) {
    const tone = eventTone(event);
    const text = isolated(eventWords(event, numRounds));
    const round = event.data && Number.isInteger(event.data.round) ? event.data.round : null;
    return h('li', { 'data-type': event.type },
        h('span', { class: 'num muted log-seq' }, fmtCount(event.seq)), timeNode(event.at), tone ? stateMark(tone) : h('span'),
        round === null ? h('span', null, text) : h('a', { href: placeUrl(['runs', runId, 'rounds', round]) }, text));
}

export class RunLog {
    constructor(runId, numRounds, signal) {
        this.runId = runId;
        this.numRounds = numRounds;
        this.signal = signal;
        this.last = 0;
        this.top = null; // the newest seq of the page that is shown; null: follows the newest
        this.events = [];
        this.list = h('ol', { class: 'log', reversed: true });
        this.range = h('span', { class: 'num', role: 'status' });
        this.problem = h('p', { class: 'error-text', hidden: true });
        this.newest = this.button('Newest', () => this.show(null));
        this.newer = this.button('Newer', () => this.show(this.top + PAGE >= this.last ? null : this.top + PAGE));
        this.older = this.button('Older', () => this.show(Math.max(PAGE, (this.top ?? this.last) - PAGE)));
        this.draw = coalesce(() => this.paint(), 250, signal);
        this.node = h('section', { class: 'panel stack', 'aria-labelledby': 'run-log' },
            h('div', { class: 'row panel-head' }, h('h2', { id: 'run-log' }, 'Events'),
                h('div', { class: 'row log-pager' }, this.range, this.newest, this.newer, this.older)),
            this.problem, h('div', { class: 'log-box', tabindex: 0, role: 'region', 'aria-label': 'Events, newest first' }, this.list),
            h('details', null, h('summary', null, 'Follow with curl'),
                commandBox(curlLine('GET', apiPath('runs', runId, 'events'), undefined, { accept: 'text/event-stream' }))));
    }

    button(text, f) {
        return h('button', { type: 'button', class: 'button', on: { click: f } }, text);
    }

    // last: the seq of the newest event there is.
    start(last) {
        this.last = Math.max(this.last, last);
        return this.show(this.top);
    }

    async show(top) {
        this.top = top;
        const end = top ?? this.last;
        try {
            const { items } = await api.get(apiPath('runs', this.runId, 'events'),
                { query: { since: Math.max(0, end - PAGE), limit: PAGE }, signal: this.signal });
            if (top !== this.top)
                return; // another page has been asked for meanwhile
            const page = items.filter((e) => e.seq <= end).reverse();
            // Following the newest, more may have come than was asked for.
            const newer = top === null ? this.events.filter((e) => e.seq > end) : [];
            this.events = [...newer, ...page].slice(0, PAGE);
            this.problem.hidden = true;
        } catch (error) {
            if (this.signal.aborted || top !== this.top)
                return;
            reportBug(error);
            this.problem.hidden = false;
            this.problem.textContent = `The events could not be read: ${error.message}`;
        }
        this.draw();
    }

    // An event of the stream.
    add(event) {
        this.last = Math.max(this.last, event.seq);
        if (this.top === null && (this.events.length === 0 || event.seq > this.events[0].seq))
            this.events = [event, ...this.events].slice(0, PAGE);
        this.draw();
    }

    paint() {
        const first = this.events[0];
        const lowest = this.events[this.events.length - 1];
        this.range.textContent = first ? `${fmtCount(lowest.seq)} to ${fmtCount(first.seq)} of ${fmtCount(this.last)}` : 'none yet';
        enable([[this.newest, this.top !== null], [this.newer, this.top !== null], [this.older, (this.top ?? this.last) > PAGE]]);
        this.placeItems();
    }

    // Lines that stay are left where they are: what a person reads or has focused does not jump.
    placeItems() {
        const former = new Map([...this.list.children].map((li) => [Number(li.dataset.seq), li]));
        const items = this.events.map((event) => {
            const li = former.get(event.seq) ?? eventItem(event, this.runId, this.numRounds);
            li.dataset.seq = event.seq;
            former.delete(event.seq);
            return li;
        });
        former.forEach((li) => li.remove());
        items.forEach((li, i) => {
            if (this.list.children[i] !== li)
                this.list.insertBefore(li, this.list.children[i] ?? null);
        });
        if (items.length === 0)
            clear(this.list).append(h('li', { class: 'muted', 'data-seq': 0 }, 'Nothing has happened yet.'));
    }
}
