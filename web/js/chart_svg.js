// A line chart as the text of an SVG file, from lineChart's options: for papers and slides.
import { chartAxes, gapNote, isShown } from './scales.js';

const FONT = 'system-ui, -apple-system, &quot;Segoe UI&quot;, Roboto, &quot;Helvetica Neue&quot;, Arial, sans-serif';
const DASHES = [[], [6, 4], [2, 3]];

function xmlText(text) {
    const named = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
    // Characters that XML 1.0 does not allow would make the whole file unreadable.
    return String(text).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
        .replace(/[&<>"]/g, (c) => named[c]);
}

function placer(axis, from, to) {
    const f = axis.log ? Math.log : (v) => v;
    const span = f(axis.max) - f(axis.min);
    return (v) => Number((from + ((f(v) - f(axis.min)) / span) * (to - from)).toFixed(2));
}

// Runs of neighbours that can be shown; a single one becomes a dot.
export function piecesOf(points, log) {
    const pieces = [];
    let piece = [];
    for (const point of points) {
        if (point.slice(1).every((v) => isShown(v, log))) {
            piece.push(point);
        } else if (piece.length > 0) {
            pieces.push(piece);
            piece = [];
        }
    }
    if (piece.length > 0)
        pieces.push(piece);
    return pieces;
}

function lineSvg(one, colour, dash, px, py, log) {
    const dashes = dash.length > 0 ? ` stroke-dasharray="${dash.join(' ')}"` : '';
    return piecesOf(one.points, log).map((piece) => {
        if (piece.length === 1)
            return `<circle cx="${px(piece[0][0])}" cy="${py(piece[0][1])}" r="2.5" fill="${colour}"/>`;
        const d = piece.map(([x, y], i) => `${i === 0 ? 'M' : 'L'}${px(x)} ${py(y)}`).join('');
        return `<path d="${d}" fill="none" stroke="${colour}" stroke-width="1.75" stroke-linejoin="round"${dashes}/>`;
    }).join('\n');
}

function bandSvg(one, colour, px, py, log) {
    return piecesOf(one.band ?? [], log).map((piece) => {
        const there = piece.map(([x, , hi]) => `${px(x)} ${py(hi)}`);
        const back = piece.map(([x, lo]) => `${px(x)} ${py(lo)}`).reverse();
        return `<path d="M${[...there, ...back].join('L')}Z" fill="${colour}" fill-opacity="0.16"/>`;
    }).join('\n');
}

function textSvg(x, y, text, { anchor = 'start', size = 12, fill, weight = 400, turn = '' }) {
    return `<text x="${x}" y="${y}" text-anchor="${anchor}" font-size="${size}" font-weight="${weight}" `
        + `fill="${fill}"${turn}>${xmlText(text)}</text>`;
}

function frameSvg(axes, box, px, py, colours) {
    const parts = [];
    for (const { value, label } of axes.y.ticks) {
        const y = py(value);
        parts.push(`<path d="M${box.left} ${y}H${box.right}" stroke="${colours.line}"/>`);
        parts.push(textSvg(box.left - 8, y + 4, label, { anchor: 'end', fill: colours.muted }));
    }
    for (const { value, label } of axes.x.ticks)
        parts.push(textSvg(px(value), box.bottom + 18, label, { anchor: 'middle', fill: colours.muted }));
    parts.push(`<path d="M${box.left} ${box.bottom}H${box.right}" stroke="${colours.muted}"/>`);
    return parts.join('\n');
}

// Rows of the legend, broken where the width ends. A letter is about 7 wide at this size.
function legendRows(series, width) {
    const rows = [[]];
    let used = 0;
    series.forEach((one, index) => {
        const need = 36 + 7 * String(one.name).length;
        if (used > 0 && used + need > width) {
            rows.push([]);
            used = 0;
        }
        rows[rows.length - 1].push({ one, index, at: used });
        used += need;
    });
    return rows;
}

function legendSvg(rows, box, top, colours) {
    return rows.map((row, r) => row.map(({ one, index, at }) => {
        const y = top + r * 18;
        const dash = dashOf(one, index);
        const dashes = dash.length > 0 ? ` stroke-dasharray="${dash.join(' ')}"` : '';
        return `<path d="M${box.left + at} ${y - 4}h18" stroke="${colourOf(index, colours)}" stroke-width="2"${dashes}/>`
            + textSvg(box.left + at + 24, y, one.name, { fill: colours.text });
    }).join('\n')).join('\n');
}

export function colourOf(index, colours) {
    return colours.series[index % colours.series.length];
}

// From the ninth series on the colours come again, dashed.
export function dashOf(one, index) {
    return one.dash ? DASHES[1] : DASHES[Math.min(Math.floor(index / 8), DASHES.length - 1)];
}

// colours: {surface, text, muted, line, series: [...]}.
export function chartSvg(options, colours, { width = 900, height = 480 } = {}) {
    const { title, x = {}, y = {}, series, log = false } = options;
    const axes = chartAxes(options);
    const widest = Math.max(...axes.y.ticks.map((t) => t.label.length), 3);
    const box = { left: 34 + 7 * widest, right: width - 24, bottom: height - 52 };
    const rows = series.length > 1 ? legendRows(series, box.right - box.left) : [];
    box.top = 48 + rows.length * 18;
    const px = placer(axes.x, box.left, box.right);
    const py = placer(axes.y, box.bottom, box.top);
    const note = gapNote(series, log);
    const parts = [
        `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" `
        + `viewBox="0 0 ${width} ${height}" font-family="${FONT}">`,
        `<title>${xmlText(title)}</title>`,
        `<rect width="${width}" height="${height}" fill="${colours.surface}"/>`,
        textSvg(box.left, 26, title, { size: 15, weight: 600, fill: colours.text }),
        legendSvg(rows, box, 48, colours),
        frameSvg(axes, box, px, py, colours),
        ...series.map((one, i) => bandSvg(one, colourOf(i, colours), px, py, log)),
        ...series.map((one, i) => lineSvg(one, colourOf(i, colours), dashOf(one, i), px, py, log)),
        textSvg((box.left + box.right) / 2, height - 14, x.title ?? '', { anchor: 'middle', fill: colours.muted }),
        textSvg(16, (box.top + box.bottom) / 2, y.title ?? '', {
            anchor: 'middle', fill: colours.muted, turn: ` transform="rotate(-90 16 ${(box.top + box.bottom) / 2})"`,
        }),
        note ? textSvg(box.right, 26, note, { anchor: 'end', fill: colours.muted }) : '',
        '</svg>',
    ];
    return `${parts.filter((p) => p !== '').join('\n')}\n`;
}
