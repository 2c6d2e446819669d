// What Chart.js is told: pure, from lineChart's options, the axes and the colours.
import { withAlpha } from './chart_theme.js';
import { colourOf, dashOf } from './chart_svg.js';
import { isShown, valueText } from './scales.js';

const BAND_ALPHA = 0.16;
const FONT_SIZE = 12;
// Charts that stand below each other begin at one x, so that rounds do, too.
const AXIS_LEAST = 56;

function shownPoint(x, y, log) {
    return { x, y: isShown(y, log) ? y : NaN };
}

// A point between two gaps is no line: it is drawn as a dot. One radius for all where there is none: Chart.js then
// looks at the options of a line once instead of at each of its points.
function dotRadius(data) {
    const isGap = (i) => !(i >= 0 && i < data.length) || Number.isNaN(data[i].y);
    const isAlone = data.map((p, i) => !isGap(i) && isGap(i - 1) && isGap(i + 1));
    return isAlone.includes(true) ? isAlone.map((alone) => (alone ? 2.5 : 0)) : 0;
}

function lineSet(one, index, colours, log) {
    const colour = colourOf(index, colours);
    const data = one.points.map(([x, y]) => shownPoint(x, y, log));
    return {
        seriesIndex: index,
        label: String(one.name),
        data,
        borderColor: colour,
        backgroundColor: colour,
        borderWidth: 1.75,
        borderDash: dashOf(one, index),
        borderJoinStyle: 'round',
        pointRadius: dotRadius(data),
        pointHoverRadius: 3.5,
        pointBorderWidth: 0,
        pointHoverBorderWidth: 0,
        fill: false,
        tension: 0,
        spanGaps: false,
        clip: 4,
        order: 0,
    };
}

// Two edges without a line; the upper one fills down to the lower, which is the set before it.
function bandSets(one, index, colours, log) {
    const edge = (pick) => ({
        seriesIndex: index,
        isBand: true,
        label: '',
        data: one.band.map((p) => shownPoint(p[0], p.slice(1).every((v) => isShown(v, log)) ? pick(p) : NaN, log)),
        borderWidth: 0,
        pointRadius: 0,
        pointHoverRadius: 0,
        tension: 0,
        spanGaps: false,
        order: 1,
    });
    return [
        { ...edge((p) => p[1]), fill: false },
        { ...edge((p) => p[2]), fill: '-1', backgroundColor: withAlpha(colourOf(index, colours), BAND_ALPHA) },
    ];
}

export function chartSets({ series, log = false }, colours, hidden) {
    return series.flatMap((one, index) => {
        const sets = [lineSet(one, index, colours, log)];
        if (one.band && one.band.length > 0)
            sets.push(...bandSets(one, index, colours, log));
        return sets.map((set) => ({ ...set, hidden: hidden.has(String(one.name)) }));
    });
}

function scaleConfig(axis, colours, { grid, title }) {
    const labels = new Map(axis.ticks.map((t) => [t.value, t.label]));
    return {
        type: axis.log ? 'logarithmic' : 'linear',
        min: axis.min,
        max: axis.max,
        title: { display: Boolean(title), text: title, color: colours.muted, font: { size: FONT_SIZE }, padding: 2 },
        grid: { display: grid, color: colours.line, drawTicks: false, borderColor: grid ? 'transparent' : colours.edge },
        ticks: {
            color: colours.muted, padding: 6, autoSkip: !grid, maxRotation: 0, font: { size: FONT_SIZE },
            callback: (value) => labels.get(value) ?? '',
        },
        afterFit: (scale) => {
            scale.width = grid ? Math.max(scale.width, AXIS_LEAST) : scale.width;
        },
        afterBuildTicks: (scale) => {
            scale.ticks = axis.ticks.map(({ value }) => ({ value }));
        },
    };
}

// current(): the options as they then are.
function tooltipConfig(current, colours) {
    return {
        animation: false,
        displayColors: true,
        usePointStyle: true,
        boxWidth: 8,
        backgroundColor: colours.surface,
        borderColor: colours.edge,
        borderWidth: 1,
        cornerRadius: 4,
        titleColor: colours.text,
        bodyColor: colours.text,
        titleFont: { size: FONT_SIZE, weight: '600' },
        bodyFont: { size: FONT_SIZE },
        filter: (item) => !item.dataset.isBand,
        callbacks: {
            title: (items) => (items.length > 0 ? xText(current().x ?? {}, items[0].parsed.x) : ''),
            label: (item) => {
                const { series, y = {} } = current();
                const one = series[item.dataset.seriesIndex];
                const name = series.length > 1 ? `${one.name}: ` : '';
                return ` ${name}${valueText(item.parsed.y, y.fmt)}${bandText(one, item.parsed.x, y)}`;
            },
        },
    };
}

export function xText(x, value) {
    return `${x.title ? `${x.title} ` : ''}${(x.fmt ?? String)(value)}`;
}

export function bandText(one, x, y) {
    const at = one && one.band ? one.band.find((p) => p[0] === x) : null;
    return at ? ` (${valueText(at[1], y.fmt)} to ${valueText(at[2], y.fmt)})` : '';
}

export function chartConfig(options, axes, colours, hidden, current = () => options) {
    const { x = {}, y = {} } = options;
    return {
        type: 'line',
        data: { datasets: chartSets(options, colours, hidden) },
        options: {
            responsive: true,
            maintainAspectRatio: false,
            animation: false,
            parsing: false,
            normalized: true,
            layout: { padding: { top: 6, right: 8 } },
            interaction: { mode: 'nearest', axis: 'x', intersect: false },
            scales: {
                x: scaleConfig(axes.x, colours, { grid: false, title: x.title }),
                y: scaleConfig(axes.y, colours, { grid: true, title: y.title }),
            },
            plugins: {
                legend: { display: false },
                title: { display: false },
                tooltip: tooltipConfig(current, colours),
            },
        },
    };
}
