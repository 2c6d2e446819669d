// Where the cells of the round strip are, and what a column shows when its cells are smaller than pixels.
import { CELL_STATES, fractionOf, orderCells } from './work.js';

export const ZOOMS = [0, 4, 8, 16, 24];
const MOST_PITCH = 24;
const LANE_PITCH = 10;

function gapOf(pitch) {
    return pitch >= 6 ? 2 : pitch >= 3 ? 1 : 0;
}

// rounds: columns there are; rows: cells of the fullest column (stacked), or devices (lanes). zoom: pixels of a
// round, 0 to fit all into the width. Of pitches under 2 pixels the cells can no longer be told apart: dense. Cells too low
// to show how far they are filled are shaded instead.
export function layoutStrip({ rounds, rows, width, height, zoom = 0, lanes = false }) {
    const fit = width / Math.max(1, rounds);
    const pitch = Math.max(Math.min(fit, MOST_PITCH), zoom);
    const fitRow = height / Math.max(1, rows);
    const rowPitch = lanes && zoom >= 16 ? Math.max(Math.min(fitRow, MOST_PITCH), LANE_PITCH)
        : Math.min(fitRow, MOST_PITCH);
    const contentHeight = Math.max(rowPitch * Math.max(1, rows), 1);
    return {
        rounds, rows, lanes, pitch, rowPitch,
        cellW: pitch - gapOf(pitch),
        cellH: rowPitch - gapOf(rowPitch),
        contentWidth: Math.max(pitch * rounds, 1),
        contentHeight,
        dense: pitch < 2 || rowPitch < 2,
        shaded: pitch < 2 || rowPitch < 4,
        fits: pitch * rounds <= width + 0.5,
    };
}

// The rounds that stand in [x, x + width); at least one pixel stands for one round or more.
export function visibleRounds(layout, x, width) {
    const from = Math.max(0, Math.floor(x / layout.pitch));
    const to = Math.min(layout.rounds, Math.ceil((x + width) / layout.pitch));
    return { from, to: Math.max(from, to) };
}

// Which round and which row are under a point of the content; null beside the columns. Row 0 is the lowest of a
// stack and the highest of lanes.
export function placeAt(layout, x, y) {
    const round = Math.floor(x / layout.pitch);
    if (round < 0 || round >= layout.rounds)
        return null;
    const down = Math.floor(y / layout.rowPitch);
    const up = Math.floor((layout.contentHeight - y) / layout.rowPitch);
    const row = Math.max(0, Math.min(layout.rows - 1, layout.lanes ? down : up));
    return { round, row };
}

export function rowTop(layout, row) {
    return layout.lanes ? row * layout.rowPitch : layout.contentHeight - (row + 1) * layout.rowPitch;
}

// The rounds that share the pixel column x of a dense strip.
export function roundsOfPixel(layout, x) {
    const from = Math.floor(x / layout.pitch + 1e-9);
    const to = Math.max(from + 1, Math.floor((x + 1) / layout.pitch + 1e-9));
    return { from: Math.min(from, layout.rounds), to: Math.min(to, layout.rounds) };
}

const SHARES = 256;

// Cells of some rounds, sorted by state and by share of the work done, most work first; each as one number.
function sortedCells(list) {
    let count = 0;
    for (const cells of list)
        count += cells.count;
    const keys = new Uint16Array(count);
    let at = 0;
    for (const cells of list) {
        for (let i = 0; i < cells.count; i++)
            keys[at++] = cells.states[i] * SHARES + (SHARES - 1 - Math.round(fractionOf(cells, i) * (SHARES - 1)));
    }
    return keys.sort();
}

// One column of pixels for a stack: out[2p] is the state (255: nothing), out[2p + 1] the share of the work done
// times 255, p from below. full: how many cells a full column has. The cells of several rounds are sorted
// together, by outcome and work, so that heights are shares.
export function stackColumn(list, pixels, full, out) {
    const keys = sortedCells(list);
    const perPixel = (full * list.length) / pixels;
    out.fill(255);
    for (let p = 0; p < pixels; p++) {
        const key = keys[Math.floor((p + 0.5) * perPixel)];
        if (key === undefined)
            break;
        out[2 * p] = Math.floor(key / SHARES);
        out[2 * p + 1] = SHARES - 1 - (key % SHARES);
    }
    return out;
}

// The same of one round in the order of its devices.
export function deviceColumn(cells, pixels, full, out) {
    const order = orderCells(cells, 'device');
    out.fill(255);
    for (let p = 0; p < pixels; p++) {
        const i = order[Math.floor(((p + 0.5) * full) / pixels)];
        if (i !== undefined) {
            out[2 * p] = cells.states[i];
            out[2 * p + 1] = Math.round(fractionOf(cells, i) * 255);
        }
    }
    return out;
}

// How many cells of each lane have which state, and how much of their work is done in all.
function laneSums(list, lanes, devices) {
    const kinds = CELL_STATES.length;
    const counts = new Uint32Array(lanes * kinds);
    const work = new Float64Array(lanes * kinds);
    for (const cells of list) {
        for (let i = 0; i < cells.count; i++) {
            const lane = Math.min(lanes - 1, Math.floor((cells.ordinals[i] * lanes) / devices));
            const at = lane * kinds + cells.states[i];
            counts[at] += 1;
            work[at] += fractionOf(cells, i);
        }
    }
    return { counts, work };
}

function mostOf(counts, from) {
    let best = -1;
    for (let k = from; k < from + CELL_STATES.length; k++) {
        if (counts[k] > 0 && (best < 0 || counts[k] > counts[best]))
            best = k;
    }
    return best;
}

// The same for lanes, p from above: where there are more devices than pixels, each pixel stands for several and shows
// the outcome that most of them had; else a lane is some pixels high, with a gap to the next from 3 on.
export function laneColumn(list, pixels, devices, out) {
    const kinds = CELL_STATES.length;
    const lanes = Math.min(pixels, Math.max(1, devices));
    const { counts, work } = laneSums(list, lanes, devices);
    const laneOf = (p) => Math.floor((p * lanes) / pixels);
    const hasGaps = pixels >= 3 * lanes;
    out.fill(255);
    for (let p = 0; p < pixels; p++) {
        const best = mostOf(counts, laneOf(p) * kinds);
        const isGap = hasGaps && laneOf(p + 1) !== laneOf(p);
        if (best >= 0 && !isGap) {
            out[2 * p] = best % kinds;
            out[2 * p + 1] = Math.round((255 * work[best]) / counts[best]);
        }
    }
    return out;
}

// The row in which each cell of a round stands, as [row, index of the cell].
export function placedCells(cells, layout, mode) {
    if (layout.lanes)
        return Array.from({ length: cells.count }, (_, i) => [cells.ordinals[i], i]);
    return orderCells(cells, mode).map((i, row) => [row, i]);
}

// Round numbers for the axis below, far enough apart not to touch.
export function roundTicks(layout, from, to, apart = 64) {
    const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000];
    const step = steps.find((s) => s * layout.pitch >= apart) ?? 200000;
    const ticks = [];
    for (let n = Math.ceil(from / step) * step; n < to; n += step)
        ticks.push(n);
    return ticks;
}
