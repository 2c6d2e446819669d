// A line of a few values without axes: the course of a run in a table's cell.

import { parseNumber } from './format.js';
import { svgEl } from './dom.js';

const SPARK_WIDTH = 80;
const SPARK_HEIGHT = 20;
const SPARK_PAD = 3;

// The points of each unbroken stretch; what is not a finite number is a gap. Pure.
export function sparkPoints(values, width = SPARK_WIDTH, height = SPARK_HEIGHT, pad = SPARK_PAD) {
    const numbers = values.map((v) => parseNumber(v));
    const finite = numbers.filter((x) => x !== null && Number.isFinite(x));
    if (!finite.length)
        return [];
    const low = Math.min(...finite);
    const span = Math.max(...finite) - low;
    const dx = numbers.length > 1 ? (width - 2 * pad) / (numbers.length - 1) : 0;
    const stretches = [[]];
    numbers.forEach((x, i) => {
        if (x === null || !Number.isFinite(x)) {
            stretches.push([]);
            return;
        }
        const level = span > 0 ? (x - low) / span : 0.5;
        stretches[stretches.length - 1].push([pad + i * dx, height - pad - level * (height - 2 * pad)]);
    });
    return stretches.filter((s) => s.length);
}

// label: what it shows, for those who do not see it; the figure itself stands beside it.
export function sparkline(values, { label, color = 'var(--c0)' } = {}) {
    const svg = svgEl('svg', { class: 'spark', viewBox: `0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}`, width: SPARK_WIDTH, height: SPARK_HEIGHT, vars: { ink: color },
        ...(label ? { role: 'img', 'aria-label': label } : { 'aria-hidden': 'true' }) });
    const stretches = sparkPoints(values || []);
    for (const points of stretches) {
        svg.append(svgEl('polyline', { points: points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' '), fill: 'none',
            stroke: 'var(--ink)', 'stroke-width': 1.5, 'stroke-linejoin': 'round', 'stroke-linecap': 'round' }));
    }
    const last = stretches.length ? stretches[stretches.length - 1].slice(-1)[0] : null;
    if (last)
        svg.append(svgEl('circle', { cx: last[0].toFixed(1), cy: last[1].toFixed(1), r: 2, fill: 'var(--ink)' }));
    return svg;
}
