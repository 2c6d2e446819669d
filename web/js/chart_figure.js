// The figure around a chart: title, legend, plot, notes, values, files.
import { dashOf } from './chart_svg.js';
import { chartTable } from './chart_table.js';
import { append, clear, h, isolated, svgEl } from './dom.js';
import { bandText, xText } from './chart_config.js';
import { valueText } from './scales.js';

// files: of chartFiles. areFilesShown: below the plot, else with the values.
export function chartFigure(host, files, areFilesShown) {
    const parts = {
        title: h('span', { class: 'chart-title' }),
        about: h('p', { class: 'chart-about muted small' }),
        legend: h('div', { class: 'chart-legend', role: 'group', 'aria-label': 'Series' }),
        canvas: h('canvas', { role: 'img' }),
        line: h('div', { class: 'chart-cursor', hidden: true }),
        empty: h('p', { class: 'chart-empty muted' }),
        note: h('p', { class: 'muted small' }),
        drawn: h('p', { class: 'muted small chart-drawn', hidden: true }),
        spoken: h('p', { class: 'unseen', 'aria-live': 'polite' }),
        files,
        table: chartTable(areFilesShown ? null : files.node),
    };
    parts.plot = h('div', { class: 'chart-plot', tabindex: 0, role: 'application' }, parts.canvas, parts.line);
    parts.figure = h('figure', { class: 'chart' },
        h('figcaption', null, parts.title, parts.legend, parts.about), parts.plot, parts.empty, parts.note, parts.spoken);
    append(parts.figure, parts.drawn, areFilesShown ? files.node : null, parts.table.node);
    host.append(parts.figure);
    return parts;
}

function seriesSwatch(one, index) {
    return svgEl('svg', { class: ['swatch', `series-${index % 8}`], width: 18, height: 8, viewBox: '0 0 18 8', 'aria-hidden': 'true' },
        svgEl('path', { d: 'M0 4h18', 'stroke-dasharray': dashOf(one, index).join(' ') || null }));
}

// Buttons that hide and show a series; made anew only where the names change, so that they keep the focus.
export function drawLegend(legend, series, hidden, onToggle) {
    const known = JSON.stringify(series.map((one) => [String(one.name), Boolean(one.dash)]));
    if (legend.dataset.names === known)
        return;
    legend.dataset.names = known;
    clear(legend);
    legend.hidden = series.length < 2;
    series.forEach((one, index) => {
        const name = String(one.name);
        const button = h('button', { type: 'button', class: 'chart-key', 'aria-pressed': String(!hidden.has(name)),
            on: { click: () => {
                onToggle(name);
                button.setAttribute('aria-pressed', String(!hidden.has(name)));
            } } }, seriesSwatch(one, index), isolated(name));
        legend.append(button);
    });
}

export function chartSummary({ title, series, x = {}, y = {} }) {
    const parts = series.slice(0, 10).map((one) => {
        const finite = one.points.filter(([, v]) => Number.isFinite(v));
        const last = finite[finite.length - 1];
        return last ? `${one.name}: ${one.points.length} points, last ${valueText(last[1], y.fmt)} at ${xText(x, last[0])}`
            : `${one.name}: nothing to show`;
    });
    return `${title}. Line chart. ${parts.join('; ')}.`;
}

// What stands at x, in words.
export function chartReadout({ series, x: xAxis = {}, y = {} }, x) {
    const parts = series.map((one) => {
        const point = one.points.find((p) => p[0] === x);
        return point ? `${one.name} ${valueText(point[1], y.fmt)}${bandText(one, x, y)}` : null;
    });
    return `${xText(xAxis, x)}: ${parts.filter(Boolean).join(', ')}`;
}

// Where no chart can be drawn: why, and the values in its place.
export function chartMissing(onAgain) {
    return h('div', { class: 'chart-missing' },
        h('p', null, 'The chart cannot be drawn: Chart.js did not come from /assets/chart.js. Either the server was built '
            + 'without it (configure finds it in libjs-chart.js) or the connection failed. Its values stand below.'),
        h('button', { type: 'button', class: 'button', on: { click: onAgain } }, 'Try again'));
}
