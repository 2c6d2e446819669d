// The round strip: one column for each round, one cell for each device, filled from below by the steps it did.
import { onThemeChange } from './chart_theme.js';
import { h, pointerWatch } from './dom.js';
import { layoutStrip, placeAt, placedCells, rowTop, ZOOMS } from './strip_layout.js';
import { AXIS_HEIGHT, paintCursor, paintFrame, paintOverview, paintStrip, stripColours } from './strip_paint.js';
import { STRIP_MODES, stripControls, stripLegend } from './strip_parts.js';
import { historyWords, placeWords } from './strip_words.js';

const STACK_HEIGHT = 200;
const LANES_HEIGHT = 320;
const OVERVIEW_HEIGHT = 40;
const WIDE_ENOUGH = 4; // pixels of a round below which the strip starts zoomed in

function stripParts(host, controls) {
    const parts = {
        canvas: h('canvas', { class: 'strip-canvas', 'aria-hidden': 'true' }),
        space: h('div', { class: 'strip-space' }),
        overview: h('canvas', { class: 'strip-overview', 'aria-hidden': 'true', hidden: true }),
        readout: h('p', { class: 'strip-readout' }),
        spoken: h('p', { class: 'unseen', 'aria-live': 'polite' }),
        legend: stripLegend(),
        top: h('span'),
        bottom: h('span'),
    };
    parts.scroll = h('div', { class: 'strip-scroll', tabindex: 0, role: 'application',
        'aria-label': 'Round strip: left and right arrows move by rounds, up and down by devices, plus and minus zoom, '
            + 'Enter opens the round' },
    parts.canvas, parts.space);
    parts.node = h('div', { class: 'strip' }, controls, parts.readout,
        h('div', { class: 'strip-frame' }, parts.overview,
            h('div', { class: 'strip-gutter', 'aria-hidden': 'true' }, parts.top, parts.bottom), parts.scroll),
        parts.legend.node, parts.spoken);
    host.append(parts.node);
    return parts;
}

// A canvas of so many CSS pixels, sharp on this screen; its context.
function sized(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    const [w, hh] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
    if (canvas.width !== w || canvas.height !== hh) {
        canvas.width = w;
        canvas.height = hh;
        if (canvas.style) {
            canvas.style.setProperty('width', `${width}px`);
            canvas.style.setProperty('height', `${height}px`);
        }
    }
    const ctx = canvas.getContext('2d');
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    return ctx;
}

class RoundStrip {
    #options;
    #parts;
    #controls;
    #mode;
    #zoom; // pixels of a round; 0: all fit; null: as it seems best
    #layout = null;
    #colours = stripColours();
    #cursor = null;
    #base = new OffscreenCanvas(1, 1);
    #small = new OffscreenCanvas(1, 1);
    #isStale = true;
    #isSmallStale = true;
    #follows = true;
    #placedAt = -1; // where it has scrolled to by itself
    #hasMoved = pointerWatch();
    #frame = 0;
    #history = { cells: -1, text: '' };
    #observer;
    #endTheme;

    constructor(host, options) {
        this.#options = options;
        // Both may come out of a link that anybody has written.
        this.#mode = STRIP_MODES.some(([mode]) => mode === options.mode) ? options.mode : 'outcome';
        this.#zoom = ZOOMS.includes(options.zoom) ? options.zoom : null;
        this.#controls = stripControls(this.#mode, {
            onMode: (mode) => this.#setMode(mode),
            onZoom: (by) => this.#zoomBy(by),
            onOpen: (round) => options.onOpen(round),
        });
        this.#parts = stripParts(host, this.#controls.node);
        this.#listen();
        this.#observer = new ResizeObserver(() => this.update());
        this.#observer.observe(this.#parts.scroll);
        this.#endTheme = onThemeChange(() => {
            this.#colours = stripColours();
            this.update();
        });
        this.update();
    }

    get node() {
        return this.#parts.node;
    }

    // After the work, or {rounds, population, selected}, changed.
    update(options) {
        this.#options = { ...this.#options, ...options };
        this.#isStale = true;
        this.#isSmallStale = true;
        this.#schedule();
    }

    setCursor(round) {
        const same = this.#cursor ? this.#cursor.round === round : round === null;
        if (same)
            return;
        this.#cursor = round === null ? null : { round, row: null };
        this.#schedule();
    }

    destroy() {
        cancelAnimationFrame(this.#frame);
        this.#observer.disconnect();
        this.#endTheme();
        this.#parts.node.remove();
    }

    #listen() {
        const { scroll, overview } = this.#parts;
        scroll.addEventListener('scroll', () => this.#onScroll());
        scroll.addEventListener('pointermove', (event) => this.#onPointer(event));
        scroll.addEventListener('pointerleave', () => this.#moveTo(null));
        scroll.addEventListener('blur', () => this.#moveTo(null));
        scroll.addEventListener('click', (event) => this.#onClick(event));
        scroll.addEventListener('keydown', (event) => this.#onKey(event));
        const drag = (event) => event.buttons > 0 && this.#showAt(event.offsetX);
        overview.addEventListener('pointerdown', (event) => {
            overview.setPointerCapture(event.pointerId);
            this.#showAt(event.offsetX);
        });
        overview.addEventListener('pointermove', drag);
    }

    // ---- what is where ----

    #measure() {
        const { work, rounds, population, selected } = this.#options;
        const lanes = this.#mode === 'lanes';
        const width = Math.max(1, this.#parts.scroll.clientWidth);
        const total = Math.max(work.last + 1, rounds ?? 0, 1);
        const rows = lanes ? Math.max(1, population ?? 0, work.highest + 1) : Math.max(1, work.most, selected ?? 0);
        const height = lanes ? LANES_HEIGHT : STACK_HEIGHT;
        const best = width / total >= WIDE_ENOUGH ? 0 : 8;
        const zoom = this.#zoom ?? best;
        this.#layout = layoutStrip({ rounds: total, rows, width, height: Math.min(height, rows * 24), zoom, lanes });
        const viewHeight = Math.round(Math.min(height, this.#layout.contentHeight));
        this.#place(width, viewHeight);
        this.#controls.setZoom(!this.#layout.fits, this.#layout.pitch < ZOOMS[ZOOMS.length - 1], this.#layout.fits);
        return { width, viewHeight };
    }

    #place(width, viewHeight) {
        const { space, scroll, top, bottom, overview } = this.#parts;
        const { contentWidth, contentHeight, lanes, rows, fits } = this.#layout;
        scroll.style.setProperty('--strip-view', `${viewHeight + AXIS_HEIGHT}px`);
        space.style.setProperty('--strip-w', `${fits ? 0 : Math.ceil(contentWidth)}px`);
        space.style.setProperty('--strip-h', `${Math.ceil(Math.max(contentHeight, viewHeight)) + AXIS_HEIGHT}px`);
        top.textContent = lanes ? '0' : String(rows);
        bottom.textContent = lanes ? String(rows - 1) : '0';
        this.#parts.node.style.setProperty('--strip-axis', `${AXIS_HEIGHT}px`);
        overview.hidden = fits;
        if (this.#follows) {
            const end = (this.#options.work.last + 2) * this.#layout.pitch;
            scroll.scrollLeft = Math.max(0, end - width);
            this.#placedAt = scroll.scrollLeft;
        }
    }

    #scene(view, layout = this.#layout) {
        return { layout, work: this.#options.work, mode: this.#mode, colours: this.#colours, view };
    }

    // ---- drawing ----

    #schedule() {
        if (!this.#frame)
            this.#frame = requestAnimationFrame(() => this.#draw());
    }

    #draw() {
        this.#frame = 0;
        if (!this.#parts.node.isConnected)
            return;
        const { width, viewHeight } = this.#measure();
        const { scroll, canvas } = this.#parts;
        const scene = this.#scene({ x: scroll.scrollLeft, y: scroll.scrollTop, w: width, h: viewHeight });
        if (this.#isStale)
            paintStrip(sized(this.#base, width, viewHeight + AXIS_HEIGHT), scene);
        this.#isStale = false;
        const ctx = sized(canvas, width, viewHeight + AXIS_HEIGHT);
        ctx.clearRect(0, 0, width, viewHeight + AXIS_HEIGHT);
        ctx.drawImage(this.#base, 0, 0, width, viewHeight + AXIS_HEIGHT);
        if (this.#cursor)
            paintCursor(ctx, scene, this.#cursor);
        this.#drawOverview(scene);
        this.#parts.legend.update(this.#options.work);
        this.#showReadout();
    }

    #drawOverview(scene) {
        const { overview } = this.#parts;
        if (overview.hidden)
            return;
        const width = this.#parts.scroll.clientWidth;
        const { rounds, rows, lanes } = this.#layout;
        const layout = layoutStrip({ rounds, rows, width, height: OVERVIEW_HEIGHT, lanes });
        const small = this.#scene({ x: 0, y: 0, w: width, h: OVERVIEW_HEIGHT }, { ...layout, contentHeight: OVERVIEW_HEIGHT });
        if (this.#isSmallStale)
            paintOverview(sized(this.#small, width, OVERVIEW_HEIGHT), small);
        this.#isSmallStale = false;
        const ctx = sized(overview, width, OVERVIEW_HEIGHT);
        ctx.clearRect(0, 0, width, OVERVIEW_HEIGHT);
        ctx.drawImage(this.#small, 0, 0, width, OVERVIEW_HEIGHT);
        const scale = layout.pitch / this.#layout.pitch;
        paintFrame(ctx, small, { x: scene.view.x * scale, w: scene.view.w * scale });
    }

    #words() {
        const { work } = this.#options;
        if (!this.#cursor && work.get(work.last)?.type === 'final')
            return this.#historyWords();
        const cursor = this.#cursor ?? { round: work.last, row: null };
        return cursor.round < 0 ? 'No round has been opened yet.' : placeWords(work, this.#layout, this.#mode, cursor);
    }

    // Of a run that is done; it may have a million cells.
    #historyWords() {
        const { work } = this.#options;
        if (this.#history.cells !== work.cells)
            this.#history = { cells: work.cells, text: historyWords(work) };
        return this.#history.text;
    }

    #showReadout() {
        this.#parts.readout.textContent = this.#words();
    }

    // ---- moving ----

    #setMode(mode) {
        this.#mode = mode;
        this.#cursor = null;
        this.update();
        if (this.#options.onSetting)
            this.#options.onSetting({ mode, zoom: this.#zoom });
    }

    #zoomBy(by) {
        const at = ZOOMS.findLastIndex((z) => z <= this.#layout.pitch);
        const next = by === 0 ? 0 : by > 0 ? ZOOMS.find((z) => z > this.#layout.pitch) : ZOOMS[Math.max(0, at - 1)];
        if (next === undefined)
            return;
        this.#zoom = next;
        this.update();
        if (this.#options.onSetting)
            this.#options.onSetting({ mode: this.#mode, zoom: next });
    }

    #onScroll() {
        const { scroll } = this.#parts;
        const end = (this.#options.work.last + 1) * this.#layout.pitch;
        // Of what it did itself it hears late: a quick run has got further meanwhile.
        if (scroll.scrollLeft !== this.#placedAt) {
            this.#follows = scroll.scrollLeft + scroll.clientWidth >= end - this.#layout.pitch;
            this.#placedAt = -1;
        }
        this.#isStale = true;
        this.#schedule();
    }

    // The overview's pixel x in the middle.
    #showAt(x) {
        const { scroll, overview } = this.#parts;
        this.#follows = false;
        scroll.scrollLeft = (x / overview.clientWidth) * this.#layout.contentWidth - scroll.clientWidth / 2;
    }

    #placeOf(event) {
        const { scroll, canvas } = this.#parts;
        const box = canvas.getBoundingClientRect();
        const y = event.clientY - box.top;
        if (y > box.height - AXIS_HEIGHT)
            return null;
        return placeAt(this.#layout, event.clientX - box.left + scroll.scrollLeft, y + scroll.scrollTop);
    }

    #moveTo(cursor) {
        this.#cursor = cursor;
        this.#schedule();
        if (this.#options.onCursor)
            this.#options.onCursor(cursor ? cursor.round : null);
    }

    #onPointer(event) {
        if (event.pointerType !== 'touch' && this.#hasMoved(event))
            this.#moveTo(this.#placeOf(event));
    }

    // A finger cannot hover: its first tap shows, its second one opens.
    #onClick(event) {
        const place = this.#placeOf(event);
        const isShown = place && this.#cursor && this.#cursor.round === place.round;
        const opens = event.pointerType !== 'touch' || isShown;
        if (place && opens && this.#options.work.has(place.round))
            this.#options.onOpen(place.round);
        else
            this.#moveTo(place);
    }

    #onKey(event) {
        if (event.key === 'Enter' && this.#cursor && this.#options.work.has(this.#cursor.round))
            this.#options.onOpen(this.#cursor.round);
        else if (event.key === 'Escape')
            this.#moveTo(null);
        else if (event.key === '+' || event.key === '-')
            this.#zoomBy(event.key === '+' ? 1 : -1);
        else if (!this.#walk(event.key))
            return;
        event.preventDefault();
    }

    #walk(key) {
        const { last } = this.#options.work;
        const across = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[key];
        const up = { ArrowUp: 1, ArrowDown: -1 }[key];
        if ((across === undefined && up === undefined) || last < 0)
            return false;
        // The first key brings the cursor to the newest round, Home to the first.
        const from = this.#cursor ?? { round: across === -Infinity ? 0 : last, row: null };
        const round = this.#cursor === null ? from.round : Math.max(0, Math.min(last, from.round + (across ?? 0)));
        const row = up === undefined || this.#layout.dense ? from.row : this.#nextRow(round, from.row, this.#layout.lanes ? -up : up);
        this.#moveTo({ round, row });
        this.#scrollTo(round, row);
        this.#parts.spoken.textContent = this.#words();
        return true;
    }

    // Only rows in which the round has a cell.
    #nextRow(round, row, by) {
        const cells = this.#options.work.get(round)?.cells;
        const rows = cells ? placedCells(cells, this.#layout, this.#mode).map(([at]) => at).sort((a, b) => a - b) : [];
        if (rows.length === 0)
            return null;
        if (row === null)
            return by > 0 ? rows[0] : rows[rows.length - 1];
        const next = by > 0 ? rows.find((r) => r > row) : rows.findLast((r) => r < row);
        return next ?? row;
    }

    #scrollTo(round, row) {
        const { scroll } = this.#parts;
        const x = round * this.#layout.pitch;
        const room = this.#layout.pitch * 2;
        if (x < scroll.scrollLeft + room)
            scroll.scrollLeft = x - room;
        else if (x + room > scroll.scrollLeft + scroll.clientWidth)
            scroll.scrollLeft = x + room - scroll.clientWidth;
        if (row === null)
            return;
        const y = rowTop(this.#layout, row);
        const viewHeight = scroll.clientHeight - AXIS_HEIGHT;
        if (y < scroll.scrollTop)
            scroll.scrollTop = y;
        else if (y + this.#layout.rowPitch > scroll.scrollTop + viewHeight)
            scroll.scrollTop = y + this.#layout.rowPitch - viewHeight;
    }
}

// options: {work (createWork), rounds: planned in all, population, selected: devices of a round, mode, zoom, onOpen(round),
// onCursor(round or null), onSetting({mode, zoom})}. Answers {node, update(options), setCursor(round or null), destroy()}.
export function roundStrip(host, options) {
    return new RoundStrip(host, options);
}
