// The charts of a run: each a question that people have about it.
import { apiPath } from './api.js';
import { lineChart } from './charts.js';
import { clear, h } from './dom.js';
import { fmtBytes, fmtDuration, fmtLoss, fmtNumber, fmtPercent } from './format.js';
import { bandOf, hasFinite } from './series.js';

const KNOWN_CURVES = ['train_loss', 'test_loss', 'test_accuracy', 'test_accuracy_p10', 'test_accuracy_p50',
    'test_accuracy_p90', 'gamma'];

function accuracySeries(data) {
    const band = bandOf(data.curvePoints('test_accuracy_p10'), data.curvePoints('test_accuracy_p90'));
    return [
        { name: 'mean', ...data.curveSeries('test_accuracy'), band },
        { name: 'median device', ...data.curveSeries('test_accuracy_p50'), dash: true },
    ];
}

function lossSeries(data) {
    return [
        { name: 'training data', ...data.curveSeries('train_loss') },
        { name: 'test data', ...data.curveSeries('test_loss') },
    ];
}

const numberSeries = (names) => (data) => Object.entries(names).map(([name, title]) => ({ name: title, ...data.numberSeries(name) }));
const asks = (name) => (run) => Boolean(run.config?.evaluation?.[name] ?? run.spec.evaluation?.[name]);

const percentTick = (v) => `${fmtNumber(100 * v, 3)} %`;
const shortTick = (fmt) => (v) => fmt(v).replace('.0 ', ' ');

// ofRounds: numbers of the rounds, not metrics; isThere: whether the run asks for it, where there are no values yet.
const CHARTS = [
    { id: 'loss', title: 'Loss', about: 'Of the model at the start of each round, over all devices that evaluated it', fmt: fmtLoss,
        series: lossSeries, canLog: true },
    { id: 'accuracy', title: 'Accuracy', about: 'On test data; the band is from the 10th to the 90th percentile of the devices',
        fmt: fmtPercent, tick: percentTick, series: accuracySeries },
    { id: 'gamma', ofRounds: true, title: 'Gamma', about: 'How inexact the devices\' solutions are: 0 is exact', fmt: fmtNumber,
        series: numberSeries({ mean_gamma: 'mean' }), isThere: asks('gamma'), include: [0] },
    { id: 'dissimilarity', ofRounds: true, title: 'Dissimilarity B', about: 'Of the devices\' gradients: 1 where all are alike', fmt: fmtNumber,
        series: numberSeries({ dissimilarity_b: 'B' }), isThere: asks('dissimilarity') },
    { id: 'variance', ofRounds: true, title: 'Gradient variance', about: 'Of the devices\' gradients around their mean', fmt: fmtNumber, canLog: true,
        isThere: asks('grad_variance'),
        series: numberSeries({ grad_variance_weighted: 'weighted by examples', grad_variance_uniform: 'each device alike' }) },
    { id: 'mu', ofRounds: true, title: 'Proximal mu', about: 'How strongly devices are held to the model they started from', fmt: fmtNumber,
        series: numberSeries({ proximal_mu: 'mu' }), include: [0] },
    { id: 'duration', ofRounds: true, title: 'Duration', about: 'Of each round, from opening to closing', fmt: fmtDuration, tick: shortTick(fmtDuration),
        series: numberSeries({ duration_ms: 'duration' }), include: [0] },
    { id: 'bytes', ofRounds: true, title: 'Bytes', about: 'Of each round, models and updates', fmt: fmtBytes, tick: shortTick(fmtBytes), include: [0],
        series: numberSeries({ bytes_in: 'from devices', bytes_out: 'to devices' }) },
];

function curveChart(name) {
    const series = (data) => [{ name, ...data.curveSeries(name) }];
    return { id: `metric ${name}`, title: name, fmt: fmtNumber, canLog: true, series };
}

// Which to show: what has values, and what a run that is under way will have.
function wantedCharts(data, extra) {
    const chosen = CHARTS.filter((c) => (c.isThere ? c.isThere(data.run) : true) || c.series(data).some((s) => hasFinite(s.points)));
    return extra && data.curves.has(extra) ? [...chosen, curveChart(extra)] : chosen;
}

function otherCurves(data) {
    return [...data.curves.keys()].filter((name) => !KNOWN_CURVES.includes(name)).sort();
}

function metricPicker(onPick) {
    const select = h('select', { class: 'input', id: 'run-metric', on: { change: () => onPick(select.value || null) } });
    const node = h('div', { class: 'row', hidden: true }, h('label', { for: 'run-metric' }, 'Another metric'), select);
    return {
        node,
        update(names, chosen) {
            const key = JSON.stringify([names, chosen]);
            node.hidden = names.length === 0;
            if (select.dataset.key === key)
                return;
            select.dataset.key = key;
            clear(select).append(h('option', { value: '' }, 'none'), ...names.map((n) => h('option', { value: n, selected: n === chosen }, n)));
        },
    };
}

// callbacks: {onCursor(round or null), onPick(round), onSetting(changes of the link's query)}; settings: {log, metric}.
export function runCharts(data, settings, callbacks) {
    const charts = new Map();
    const grid = h('div', { class: 'chart-grid' });
    const problem = h('p', { class: 'error-text', hidden: true });
    const empty = h('p', { class: 'chart-empty muted', hidden: true });
    const log = h('input', { type: 'checkbox', id: 'run-log', prop: { checked: settings.log }, on: { change: () => {
        settings.log = log.checked;
        callbacks.onSetting({ log: log.checked ? 1 : null });
        update();
    } } });
    const picker = metricPicker((name) => {
        settings.metric = name;
        callbacks.onSetting({ metric: name });
        update();
    });
    const node = h('section', { class: 'panel', 'aria-labelledby': 'run-charts' },
        h('div', { class: 'row panel-head' }, h('h2', { id: 'run-charts' }, 'Course'),
            h('div', { class: 'row chart-choices' }, h('label', { class: 'check' }, log, 'Logarithmic losses'), picker.node)), problem, empty, grid);

    function optionsOf(chart) {
        return {
            title: chart.title, about: chart.about, series: chart.series(data),
            x: { title: 'round', include: [0, Math.max(1, data.run.round)] },
            y: { fmt: chart.fmt, tick: chart.tick, include: chart.include },
            log: Boolean(chart.canLog && settings.log), emptyText: emptyWords(data.run),
            file: { name: `${data.run.name || 'run'} ${chart.title.toLowerCase()}`, x: 'round',
                all: chart.ofRounds ? `GET ${apiPath('runs', data.id, 'rounds')}` : '“Metrics as CSV” under Downloads' },
            onCursor: callbacks.onCursor, onPick: callbacks.onPick,
        };
    }

    function update() {
        const all = wantedCharts(data, settings.metric);
        const isEmpty = !all.some((chart) => chart.series(data).some((one) => one.points.length > 0));
        const wanted = isEmpty ? [] : all;
        empty.hidden = !isEmpty;
        empty.textContent = emptyWords(data.run);
        for (const [id, chart] of charts) {
            if (!wanted.some((c) => c.id === id)) {
                chart.destroy();
                charts.delete(id);
            }
        }
        for (const chart of wanted) {
            if (charts.has(chart.id))
                charts.get(chart.id).update(optionsOf(chart));
            else
                charts.set(chart.id, lineChart(grid, optionsOf(chart)));
        }
        picker.update(otherCurves(data), settings.metric);
    }

    return {
        node,
        update,
        setCursor: (x) => charts.forEach((chart) => chart.setCursor(x)),
        setProblem(error) {
            problem.hidden = !error;
            problem.textContent = error ? `The metrics could not be read: ${error.message}` : '';
        },
        destroy: () => charts.forEach((chart) => chart.destroy()),
    };
}

function emptyWords(run) {
    if (run.status === 'finished')
        return 'The run ended without such values.';
    return run.status === 'running' ? 'The first value comes when a round has been evaluated.' : 'Nothing yet: no round has been opened.';
}
