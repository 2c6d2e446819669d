// What stands around the round strip: order, zoom, a way to a round by its number, the legend.
import { h, svgEl } from './dom.js';
import { markPath } from './strip_paint.js';
import { OUTCOME_WORDS, STATE_WORDS } from './strip_words.js';

const STRIP_MODES = [
    ['outcome', 'by outcome'],
    ['device', 'by device number'],
    ['lanes', 'a lane for each device'],
];

// A cell as the strip draws it, done for two thirds where a part is done.
function legendCell(state) {
    const part = { completed: 16, partial: 10, late: 5, failed: 4, dropped: 7, open: 5, cancelled: 0 }[state];
    const mark = markPath(state, 8, state === 'dropped' ? 4.5 : 7, 3.5);
    return svgEl('svg', { class: ['strip-swatch', `st-${state}`], width: 16, height: 16, viewBox: '0 0 16 16', 'aria-hidden': 'true' },
        svgEl('rect', { class: 'strip-swatch-box', x: 0.5, y: 0.5, width: 15, height: 15 }),
        svgEl('rect', { class: 'strip-swatch-fill', x: 0, y: 16 - part, width: 16, height: part }),
        mark ? svgEl('path', { class: 'strip-swatch-mark', d: mark }) : null);
}

// The stroke under the column of a round that ended so.
function legendStroke(colour) {
    return svgEl('svg', { class: ['strip-swatch', `st-${colour}`], width: 16, height: 16, viewBox: '0 0 16 16', 'aria-hidden': 'true' },
        svgEl('rect', { class: 'strip-swatch-fill', x: 0, y: 7, width: 16, height: 3 }));
}

// → {node, update(work)}: strokes are explained where there are any.
export function stripLegend() {
    const items = Object.entries(STATE_WORDS).filter(([state]) => state !== 'cancelled');
    const strokes = Object.entries(OUTCOME_WORDS).map(([outcome, [colour, words]]) => [outcome,
        h('li', { title: words, hidden: true }, legendStroke(colour), `round ${outcome}`)]);
    const node = h('ul', { class: 'legend', 'aria-label': 'Legend' },
        items.map(([state, words]) => h('li', { title: words }, legendCell(state), state)), strokes.map(([, item]) => item));
    return {
        node,
        update(work) {
            for (const [outcome, item] of strokes)
                item.hidden = !work.outcomes.has(outcome);
        },
    };
}

function jumpForm(onOpen) {
    const input = h('input', { class: 'input', id: 'strip-jump', type: 'number', min: 0, step: 1, inputmode: 'numeric', required: true });
    return h('form', { class: 'row strip-jump', on: { submit: (event) => {
        event.preventDefault();
        onOpen(Number(input.value));
    } } }, h('label', { for: 'strip-jump' }, 'Round'), input, h('button', { class: 'button', type: 'submit' }, 'Open'));
}

// actions: {onMode(mode), onZoom(-1, 1 or 0 for the whole run), onOpen(round)}. Answers {node, setZoom(canOut, canIn, isWhole)}.
export function stripControls(mode, actions) {
    const order = h('select', { class: 'input', id: 'strip-order', on: { change: () => actions.onMode(order.value) } },
        STRIP_MODES.map(([value, text]) => h('option', { value, selected: value === mode }, text)));
    const button = (text, label, by) => h('button', { class: 'button icon-only', type: 'button', 'aria-label': label,
        title: label, on: { click: () => actions.onZoom(by) } }, text);
    const less = button('−', 'Narrower columns', -1);
    const more = button('+', 'Wider columns', 1);
    const whole = h('button', { class: 'button', type: 'button', 'aria-pressed': 'false',
        on: { click: () => actions.onZoom(0) } }, 'Whole run');
    const node = h('div', { class: 'row strip-controls' },
        h('div', { class: 'row' }, h('label', { for: 'strip-order' }, 'Devices'), order),
        h('div', { class: 'row', role: 'group', 'aria-label': 'Width of a round' }, less, more, whole),
        jumpForm(actions.onOpen));
    return {
        node,
        setZoom(canOut, canIn, isWhole) {
            less.setAttribute('aria-disabled', String(!canOut));
            more.setAttribute('aria-disabled', String(!canIn));
            whole.setAttribute('aria-pressed', String(isWhole));
        },
    };
}
