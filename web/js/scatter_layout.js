// Where the points of a picture with two logarithmic axes stand. Pure.
import { logAxis } from './scales.js';

function rangeOf(values) {
    let [low, high] = [Infinity, -Infinity];
    for (const value of values) {
        low = Math.min(low, value);
        high = Math.max(high, value);
    }
    // A little air, so that no point lies on the frame, and room for a round number however near they are.
    const air = low <= high ? Math.max(1.25, 2 * Math.sqrt(low / high)) : 1;
    return low <= high ? [low / air, high * air] : [0.1, 10];
}

// 1200000 as '1.2 M': room at an axis is short.
function axisNumber(value) {
    const [unit, size] = [['G', 1e9], ['M', 1e6], ['k', 1e3]].find(([, s]) => value >= s) ?? ['', 1];
    const text = String(Number((value / size).toPrecision(3)));
    return unit ? `${text} ${unit}` : text;
}

// points: [{x, y}] above 0. box: {left, right, top, bottom} in pixels.
export function layoutScatter(points, box) {
    const x = logAxis(...rangeOf(points.map((p) => p.x)), { fmt: axisNumber });
    const y = logAxis(...rangeOf(points.map((p) => p.y)), { fmt: axisNumber });
    const share = (axis, value) => (Math.log(value) - Math.log(axis.min)) / (Math.log(axis.max) - Math.log(axis.min));
    const px = (value) => box.left + share(x, value) * (box.right - box.left);
    const py = (value) => box.bottom - share(y, value) * (box.bottom - box.top);
    const placed = points.map((point) => ({ point, left: px(point.x), top: py(point.y) }));
    return { x, y, px, py, placed };
}

// The point that lies nearest to a place, if it is within reach.
export function nearestPoint(placed, left, top, reach = 24) {
    let best = null;
    let bestSquare = reach * reach;
    for (const one of placed) {
        const square = (one.left - left) ** 2 + (one.top - top) ** 2;
        if (square <= bestSquare) {
            best = one;
            bestSquare = square;
        }
    }
    return best;
}

// One path for all points of a kind: each a line of no length, which a round cap makes a dot. So ten thousand cost little.
export function dotsPath(placed) {
    return placed.map(({ left, top }) => `M${left.toFixed(1)} ${top.toFixed(1)}h0`).join('');
}
