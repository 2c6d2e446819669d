// Line charts: a figure whose plot the keyboard can walk through, that follows the theme, and has a table of its values.
import { chartColours, onThemeChange } from './chart_theme.js';
import { chartConfig } from './chart_config.js';
import { chartFiles } from './chart_files.js';
import { chartFigure, chartMissing, chartReadout, chartSummary, drawLegend } from './chart_figure.js';
import { loadChartLibrary } from './chart_lib.js';
import { chartSvg } from './chart_svg.js';
import { h, pointerWatch } from './dom.js';
import { chartAxes, gapNote } from './scales.js';
import { drawnText, hasFinite, toCsv, unionOfX } from './series.js';

const PNG_SCALE = 2;
const CHART_KEYS = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };

// The place of the number nearest to x in xs, which ascends and is not empty.
export function nearestIndex(xs, x) {
    let low = 0;
    let high = xs.length - 1;
    while (high - low > 1) {
        const mid = (low + high) >> 1;
        if (xs[mid] < x)
            low = mid;
        else
            high = mid;
    }
    return x - xs[low] > xs[high] - x ? high : low;
}

class LineChart {
    #parts;
    #options;
    #hidden = new Set();
    #library = null;
    #chart = null;
    #frame = 0;
    #look = '';
    #isGone = false;
    #cursor = null;
    #xs = null; // all x, once somebody asks
    #isWalking = false; // the keyboard shows the tooltip
    #endTheme;
    #hasMoved = pointerWatch();

    constructor(host, options) {
        this.#options = options;
        this.#parts = chartFigure(host, chartFiles(this, () => this.#options.file.name), options.file.isShown);
        const { plot } = this.#parts;
        plot.addEventListener('pointermove', (event) => this.#onPointer(event));
        plot.addEventListener('pointerleave', () => this.#moveTo(null));
        plot.addEventListener('blur', () => this.#moveTo(null));
        plot.addEventListener('keydown', (event) => this.#onKey(event));
        plot.addEventListener('click', () => this.#pick());
        this.#endTheme = onThemeChange(() => this.#schedule());
        this.#showText();
        this.#load();
    }

    get node() {
        return this.#parts.figure;
    }

    update(options) {
        this.#options = { ...this.#options, ...options };
        this.#showText();
        this.#schedule();
    }

    destroy() {
        this.#isGone = true;
        cancelAnimationFrame(this.#frame);
        this.#endTheme();
        if (this.#chart)
            this.#chart.destroy();
        this.#parts.figure.remove();
    }

    // A line at x, as other charts of the page have it; null: none.
    setCursor(x) {
        if (x === this.#cursor)
            return;
        this.#cursor = x;
        this.#placeLine();
        if (x === null && this.#isWalking)
            this.#activate(null);
    }

    // Beside the canvas, so that the other charts of a page need not be drawn anew for it.
    #placeLine() {
        const { line } = this.#parts;
        const x = this.#chart && this.#cursor !== null ? this.#chart.scales.x.getPixelForValue(this.#cursor) : NaN;
        const area = this.#chart?.chartArea;
        line.hidden = !(area && x >= area.left - 1 && x <= area.right + 1);
        if (line.hidden)
            return;
        line.style.setProperty('--x', `${Math.round(x)}px`);
        line.style.setProperty('--top', `${area.top}px`);
        line.style.setProperty('--height', `${area.bottom - area.top}px`);
    }

    #allX() {
        this.#xs = this.#xs ?? unionOfX(this.#options.series);
        return this.#xs;
    }

    toCsv() {
        return toCsv(this.#options.series, this.#options.file.x, this.#options.y?.title);
    }

    toSvg(size) {
        return chartSvg(this.#shown(), chartColours(), size);
    }

    // A PNG of what toSvg gives, at twice its size. Throws where the browser cannot draw it.
    async toPng({ width = 900, height = 480 } = {}) {
        const url = URL.createObjectURL(new Blob([this.toSvg({ width, height })], { type: 'image/svg+xml' }));
        try {
            const image = new Image();
            image.src = url;
            await image.decode();
            const canvas = h('canvas', { width: width * PNG_SCALE, height: height * PNG_SCALE });
            canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
            return await new Promise((resolve, reject) => {
                canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('The browser could not make a PNG.'))), 'image/png');
            });
        } finally {
            URL.revokeObjectURL(url);
        }
    }

    #shown() {
        const series = this.#options.series.map((one) => (
            this.#hidden.has(String(one.name)) ? { ...one, points: [], band: [] } : one));
        return { ...this.#options, series };
    }

    #showText() {
        const { title, about, canvas, plot, note, drawn, empty, legend, table, files, figure } = this.#parts;
        const options = this.#options;
        const isEmpty = !options.series.some((one) => hasFinite(one.points));
        title.textContent = options.title;
        about.textContent = options.about ?? '';
        about.hidden = !options.about;
        plot.setAttribute('aria-label', `${options.title}: arrow keys move the cursor${options.onPick ? ', Enter opens' : ''}`);
        plot.style.setProperty('--chart-height', `${options.height ?? 220}px`);
        plot.classList.toggle('pick', Boolean(options.onPick));
        canvas.setAttribute('aria-label', chartSummary(options));
        note.textContent = gapNote(options.series, options.log);
        note.hidden = note.textContent === '';
        drawn.textContent = drawnText(options.series, options.file.all);
        drawn.hidden = isEmpty || drawn.textContent === '';
        empty.textContent = options.series.some((one) => one.points.length > 0) ? 'None of the values is a finite number.'
            : options.emptyText ?? 'There is nothing to draw yet.';
        empty.hidden = !isEmpty;
        plot.hidden = isEmpty || figure.classList.contains('no-chart');
        table.node.hidden = options.series.every((one) => one.points.length === 0);
        drawLegend(legend, options.series, this.#hidden, (name) => this.#toggle(name));
        this.#xs = null;
        table.update(options);
        files.update(options);
        files.node.hidden = isEmpty;
    }

    #toggle(name) {
        if (!this.#hidden.delete(name))
            this.#hidden.add(name);
        this.#schedule();
    }

    #load() {
        loadChartLibrary().then((found) => {
            this.#library = found;
            this.#schedule();
        }, () => this.#isGone || this.#showMissing());
    }

    #showMissing() {
        const { figure, plot, table } = this.#parts;
        figure.classList.add('no-chart');
        const missing = chartMissing(() => {
            missing.remove();
            figure.classList.remove('no-chart');
            this.#showText();
            this.#load();
        });
        plot.after(missing);
        this.#showText();
        table.open();
    }

    #schedule() {
        if (!this.#frame && !this.#isGone)
            this.#frame = requestAnimationFrame(() => this.#draw());
    }

    #draw() {
        this.#frame = 0;
        if (this.#isGone || !this.#library || this.#parts.plot.hidden)
            return;
        const axes = chartAxes(this.#shown());
        const config = chartConfig(this.#options, axes, chartColours(), this.#hidden, () => this.#options);
        if (this.#chart) {
            this.#renew(config, JSON.stringify(axes));
        } else {
            this.#chart = new this.#library(this.#parts.canvas, config);
        }
        this.#placeLine();
    }

    // Sets that stay the same objects and axes that stay as they are cost Chart.js much less.
    #renew({ data, options }, axes) {
        const chart = this.#chart;
        const { datasets } = chart.data;
        const fits = datasets.length === data.datasets.length && datasets.every((set, i) => set.isBand === data.datasets[i].isBand);
        if (fits)
            datasets.forEach((set, i) => Object.assign(set, data.datasets[i]));
        else
            chart.data.datasets = data.datasets;
        const look = axes + JSON.stringify([chartColours(), this.#options.x?.title, this.#options.y?.title]);
        if (look !== this.#look || !fits)
            chart.options = options;
        this.#look = look;
        chart.update('none');
    }

    #moveTo(x) {
        this.setCursor(x);
        if (this.#options.onCursor)
            this.#options.onCursor(x);
    }

    #pick() {
        if (this.#cursor !== null && this.#options.onPick)
            this.#options.onPick(this.#cursor);
    }

    #onPointer(event) {
        const xs = this.#allX();
        if (!this.#chart || xs.length === 0 || !this.#hasMoved(event))
            return;
        const at = this.#chart.scales.x.getValueForPixel(event.clientX - this.#parts.canvas.getBoundingClientRect().left);
        this.#moveTo(xs[nearestIndex(xs, at)]);
    }

    #onKey(event) {
        if (event.key === 'Enter')
            this.#pick();
        if (event.key === 'Escape')
            this.#moveTo(null);
        const step = CHART_KEYS[event.key];
        const xs = this.#allX();
        if (step === undefined || !this.#chart || xs.length === 0)
            return;
        event.preventDefault();
        const last = xs.length - 1;
        const from = this.#cursor !== null ? nearestIndex(xs, this.#cursor) : step > 0 ? -1 : last + 1;
        const x = xs[Math.max(0, Math.min(last, from + step))];
        this.#moveTo(x);
        this.#activate(x);
        this.#parts.spoken.textContent = chartReadout(this.#options, x);
    }

    // Shows the tooltip at x, as the pointer would; null: none.
    #activate(x) {
        this.#isWalking = x !== null;
        const active = this.#chart.data.datasets.flatMap((set, datasetIndex) => {
            const index = set.hidden ? -1 : set.data.findIndex((p) => p.x === x && !Number.isNaN(p.y));
            return index < 0 ? [] : [{ datasetIndex, index }];
        });
        const first = active[0];
        const point = first ? this.#chart.getDatasetMeta(first.datasetIndex).data[first.index] : { x: 0, y: 0 };
        this.#chart.setActiveElements(active);
        this.#chart.tooltip.setActiveElements(active, { x: point.x, y: point.y });
        this.#chart.update('none');
    }
}

// options: {title, about, x and y: {title, fmt, tick, include: [numbers that the axis shows]}, series: [{name,
// points: [[x, y]], band: [[x, low, high]], dash, there: how many points there are, where not all are drawn}], log, height, emptyText,
// file: {name: of what is saved, x: what a CSV calls x, isShown: its buttons stand below the chart, not with the values, all: where
// all values are}, onCursor(x or null), onPick(x)}. Points
// ascend by x; y may be NaN or infinite. fmt writes a value, tick (where the plain number is not good enough) a number
// beside an axis. Answers {node, update(options), setCursor(x), destroy()}.
export function lineChart(host, options) {
    return new LineChart(host, options);
}
