// Bars of a round's tasks over time, one small SVG for each row of a table. The phase is told by the bar's shape, its
// outcome by its colour.
import { clear, h, svgEl } from './dom.js';
import { fmtDuration } from './format.js';
import { timeTicks } from './gantt_layout.js';
import { taskState } from './task_cells.js';

const WIDE = 1000;
const HIGH = 20;
// Top and height of each phase's bar.
const SHAPES = {
    wait: [9, 2], download: [4.5, 11], queue: [9, 2], train: [2, 16], upload: [6, 8], busy: [4.5, 11],
};

const PHASE_WORDS = {
    wait: 'waited to be claimed',
    download: 'downloaded the model',
    queue: 'waited for a free thread of its worker',
    train: 'worked',
    upload: 'uploaded, until the server had it',
    busy: 'claimed; its times come with its answer',
};

function barSvg({ phase, from, to }, x) {
    const [y, height] = SHAPES[phase];
    const left = x(from);
    return svgEl('rect', { class: `bar-${phase}`, x: left, y, width: Math.max(x(to) - left, 1.5), height },
        svgEl('title', null, `${PHASE_WORDS[phase]}: ${fmtDuration(to - from)}`));
}

function wordsOf({ bars }) {
    return bars.map(({ phase, from, to }) => `${PHASE_WORDS[phase]} ${fmtDuration(to - from)}`).join(', ');
}

// row: of layoutGantt; span: {start, end, marks: [ms, ...]}, marks being vertical lines such as the deadline.
export function gantt(row, { start, end, marks = [] }) {
    const x = (t) => Number((((t - start) / (end - start)) * WIDE).toFixed(2));
    const lines = marks.filter((t) => t > start && t <= end)
        .map((t) => svgEl('path', { class: 'gantt-mark', d: `M${x(t)} 0V${HIGH}`, 'vector-effect': 'non-scaling-stroke' }));
    return svgEl('svg', { class: ['gantt', `st-${taskState(row.task)}`], viewBox: `0 0 ${WIDE} ${HIGH}`, role: 'img',
        preserveAspectRatio: 'none', 'aria-label': wordsOf(row) || 'no times' },
    row.bars.map((bar) => barSvg(bar, x)), lines);
}

// The numbers above the bars; update(span) moves them.
export function ganttAxis() {
    const node = h('span', { class: 'gantt-axis' });
    return {
        node,
        update({ start, end }) {
            const span = end - start;
            clear(node);
            for (const t of timeTicks(span, 4))
                node.append(h('span', { vars: { at: `${(100 * t) / span}%` } }, t === 0 ? '0' : fmtDuration(t)));
        },
    };
}

export function ganttLegend() {
    const item = (phase, text) => h('li', null,
        svgEl('svg', { class: 'gantt st-partial', viewBox: `0 0 28 ${HIGH}`, width: 28, height: HIGH, 'aria-hidden': 'true' },
            svgEl('rect', { class: `bar-${phase}`, x: 1, y: SHAPES[phase][0], width: 26, height: SHAPES[phase][1] })), text);
    const mark = h('li', null, svgEl('svg', { class: 'gantt', viewBox: `0 0 8 ${HIGH}`, width: 8, height: HIGH, 'aria-hidden': 'true' },
        svgEl('path', { class: 'gantt-mark', d: `M4 0V${HIGH}` })), 'deadline');
    return h('ul', { class: 'legend gantt-legend', 'aria-label': 'Legend of the times' },
        item('wait', 'waits'), item('download', 'downloads'), item('train', 'works'), item('upload', 'uploads'), mark);
}
