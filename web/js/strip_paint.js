// Drawing the round strip on a canvas; where everything goes strip_layout.js says.
import { rgbOf, tokenColour, withAlpha } from './chart_theme.js';
import { fmtCount } from './format.js';
import {
    deviceColumn, laneColumn, placedCells, roundsOfPixel, roundTicks, rowTop, stackColumn, visibleRounds,
} from './strip_layout.js';
import { CELL_STATES, fractionOf } from './work.js';

export const AXIS_HEIGHT = 24;
const TINT = 0.2;
// Cells smaller than this show no mark: on many small ones that of dropped work would hide how much it was.
const MARK_LEAST = { late: 11, failed: 11, dropped: 16, cancelled: 16 };

export function stripColours() {
    const states = CELL_STATES.map((name) => tokenColour(`st-${name === 'cancelled' ? 'dropped' : name}`));
    return {
        states, text: tokenColour('text'), muted: tokenColour('muted'), line: tokenColour('line'),
        surface: tokenColour('surface'), sunken: tokenColour('sunken'), soft: tokenColour('accent-soft'),
        accent: tokenColour('accent'),
    };
}

// The shape that goes with a state, in the middle of a cell.
export function markPath(state, x, y, r) {
    if (state === 'failed')
        return `M${x - r} ${y - r}L${x + r} ${y + r}M${x + r} ${y - r}L${x - r} ${y + r}`;
    if (state === 'late')
        return `M${x - r * 0.5} ${y - r}L${x + r * 0.6} ${y}L${x - r * 0.5} ${y + r}`;
    return state === 'dropped' || state === 'cancelled' ? `M${x - r} ${y}H${x + r}` : '';
}

function drawMark(ctx, state, fraction, box, colour, surface) {
    const r = Math.min(4, Math.min(box.w, box.h) / 2 - 2.5);
    const path = new Path2D(markPath(state, box.x + box.w / 2, box.y + box.h / 2, r));
    ctx.lineWidth = 1.75;
    ctx.strokeStyle = fraction > 0.55 ? surface : colour;
    ctx.stroke(path);
}

// Filled from below by the share of the steps that are done.
function drawCell(ctx, code, fraction, box, colours, cellSize) {
    const state = CELL_STATES[code];
    const colour = colours.states[code];
    const filled = Math.round(box.h * fraction * 2) / 2;
    if (state === 'open') {
        ctx.strokeStyle = colour;
        ctx.lineWidth = 1;
        if (box.w >= 3 && box.h >= 3)
            ctx.strokeRect(box.x + 0.5, box.y + 0.5, box.w - 1, box.h - 1);
    } else {
        ctx.fillStyle = withAlpha(colour, TINT);
        ctx.fillRect(box.x, box.y, box.w, box.h);
    }
    ctx.fillStyle = state === 'open' ? withAlpha(colour, 0.55) : colour;
    ctx.fillRect(box.x, box.y + box.h - filled, box.w, filled);
    if (cellSize >= MARK_LEAST[state])
        drawMark(ctx, state, fraction, box, colour, colours.surface);
}

function paintCells(ctx, { layout, work, mode, colours, view }) {
    const { from, to } = visibleRounds(layout, view.x, view.w);
    // Of the layout: whole pixels make some columns one wider than others.
    const cellSize = Math.min(layout.cellW, layout.cellH);
    for (let n = from; n < to; n++) {
        const row = work.get(n);
        if (!row)
            continue;
        const left = Math.round(n * layout.pitch - view.x);
        const right = Math.max(left + 1, Math.round(n * layout.pitch + layout.cellW - view.x));
        for (const [at, i] of placedCells(row.cells, layout, mode)) {
            const top = rowTop(layout, at) - view.y;
            if (top + layout.rowPitch < 0 || top > view.h)
                continue;
            const y = Math.round(top);
            const bottom = Math.max(y + 1, Math.round(top + layout.cellH));
            drawCell(ctx, row.cells.states[i], fractionOf(row.cells, i),
                { x: left, y, w: right - left, h: bottom - y }, colours, cellSize);
        }
    }
}

// Towards the surface where less of the work was done, so that a pixel has the lightness of a cell filled as far.
function shadeOf(code, share, rgb, surface) {
    const alpha = TINT + (1 - TINT) * (share / 255);
    return rgb[code].map((c, i) => Math.round(c * alpha + surface[i] * (1 - alpha)));
}

function columnPixels({ layout, work, mode }, from, to, height, out) {
    const list = [];
    for (let n = from; n < to; n++) {
        if (work.get(n))
            list.push(work.get(n).cells);
    }
    if (layout.lanes)
        return laneColumn(list, height, layout.rows, out);
    if (mode === 'device' && list.length === 1)
        return deviceColumn(list[0], height, layout.rows, out);
    return stackColumn(list, height, layout.rows, out);
}

// Cells smaller than pixels: one image of the view's size, column by column.
function denseImage(scene, width, height) {
    const { layout, colours, view } = scene;
    const image = new ImageData(width, height);
    const rgb = colours.states.map(rgbOf);
    const surface = rgbOf(colours.surface);
    const column = new Uint8Array(2 * height);
    let shown = { from: -1, to: -1 };
    for (let x = 0; x < width; x++) {
        const { from, to } = roundsOfPixel(layout, view.x + x);
        const isGap = layout.pitch >= 3 && (view.x + x) % layout.pitch >= layout.cellW;
        if (from >= to || isGap)
            continue;
        if (from !== shown.from || to !== shown.to)
            columnPixels(scene, from, to, height, column);
        shown = { from, to };
        for (let p = 0; p < height; p++) {
            if (column[2 * p] === 255)
                continue;
            const [r, g, b] = shadeOf(column[2 * p], column[2 * p + 1], rgb, surface);
            const y = layout.lanes ? p : height - 1 - p;
            image.data.set([r, g, b, 255], 4 * (y * width + x));
        }
    }
    return image;
}

function paintDense(ctx, scene) {
    const width = Math.max(1, Math.ceil(scene.view.w));
    const height = Math.max(1, Math.round(Math.min(scene.view.h, scene.layout.contentHeight)));
    const canvas = new OffscreenCanvas(width, height);
    canvas.getContext('2d').putImageData(denseImage(scene, width, height), 0, 0);
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(canvas, 0, Math.max(0, scene.view.h - height) * (scene.layout.lanes ? 0 : 1));
}

// Below the columns: round numbers, and a stroke where a round was skipped or failed.
function paintAxis(ctx, { layout, work, colours, view }) {
    const { from, to } = visibleRounds(layout, view.x, view.w);
    const y = view.h + 0.5;
    ctx.strokeStyle = colours.line;
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.moveTo(0, y);
    ctx.lineTo(view.w, y);
    ctx.stroke();
    for (let n = from; n < to; n++) {
        const outcome = work.get(n)?.outcome;
        if (outcome === 'skipped' || outcome === 'failed') {
            ctx.fillStyle = colours.states[CELL_STATES.indexOf(outcome === 'failed' ? 'failed' : 'late')];
            ctx.fillRect(Math.round(n * layout.pitch - view.x), view.h + 1, Math.max(1, Math.round(layout.cellW)), 3);
        }
    }
    ctx.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    ctx.fillStyle = colours.muted;
    ctx.textBaseline = 'top';
    ctx.textAlign = 'center';
    for (const n of roundTicks(layout, from, to)) {
        const x = n * layout.pitch + layout.cellW / 2 - view.x;
        const text = fmtCount(n);
        const half = ctx.measureText(text).width / 2;
        if (x - half < view.w)
            ctx.fillText(text, Math.max(half, Math.min(view.w - half, x)), view.h + 8);
    }
}

// cursor: {round, row}; row null: the whole column.
export function paintCursor(ctx, { layout, colours, view }, cursor) {
    const x = Math.round(cursor.round * layout.pitch - view.x);
    const w = Math.max(1, Math.round(layout.cellW));
    ctx.strokeStyle = colours.text;
    ctx.lineWidth = 1;
    ctx.strokeRect(x - 0.5, 0.5, w + 1, view.h);
    if (cursor.row !== null && !layout.dense) {
        ctx.lineWidth = 2;
        ctx.strokeRect(x - 1, Math.round(rowTop(layout, cursor.row) - view.y) - 1, w + 2, Math.round(layout.cellH) + 2);
    }
}

// Everything but the cursor. scene: {layout, work, mode, colours, view: {x, y, w, h}}; the canvas is AXIS_HEIGHT higher.
export function paintStrip(ctx, scene) {
    ctx.clearRect(0, 0, scene.view.w, scene.view.h + AXIS_HEIGHT);
    if (scene.layout.shaded)
        paintDense(ctx, scene);
    else
        paintCells(ctx, scene);
    ctx.clearRect(0, scene.view.h, scene.view.w, AXIS_HEIGHT);
    paintAxis(ctx, scene);
}

// The whole run in small.
export function paintOverview(ctx, scene) {
    ctx.clearRect(0, 0, scene.view.w, scene.view.h);
    paintDense(ctx, scene);
}

// What the strip does not show is dimmed.
export function paintFrame(ctx, { view, colours }, { x, w }) {
    ctx.fillStyle = withAlpha(colours.surface, 0.4);
    ctx.fillRect(0, 0, x, view.h);
    ctx.fillRect(x + w, 0, view.w - x - w, view.h);
    ctx.strokeStyle = colours.text;
    ctx.lineWidth = 1.5;
    ctx.strokeRect(x + 0.75, 0.75, Math.max(2, w - 1.5), view.h - 1.5);
}
