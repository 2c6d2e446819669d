// A scatter of many points on logarithmic axes, as an SVG that follows its box and the theme.
import { append, clear, h, isolated, svgEl } from './dom.js';
import { dotsPath, layoutScatter, nearestPoint } from './scatter_layout.js';

const HEIGHT = 280;

function axisNodes(layout, box, { xTitle, yTitle }) {
    const text = (props, ...children) => svgEl('text', { class: 'plot-text', ...props }, ...children);
    return [
        layout.y.ticks.map(({ value, label }) => [
            svgEl('path', { class: 'plot-grid', d: `M${box.left} ${layout.py(value).toFixed(1)}H${box.right}` }),
            text({ x: box.left - 8, y: layout.py(value) + 4, 'text-anchor': 'end' }, label),
        ]),
        layout.x.ticks.map(({ value, label }) => [
            svgEl('path', { class: 'plot-grid', d: `M${layout.px(value).toFixed(1)} ${box.top}V${box.bottom}` }),
            text({ x: layout.px(value), y: box.bottom + 18, 'text-anchor': 'middle' }, label),
        ]),
        text({ x: (box.left + box.right) / 2, y: box.bottom + 38, 'text-anchor': 'middle' }, xTitle),
        text({ x: box.left - 8, y: box.top - 12, 'text-anchor': 'end' }, yTitle),
    ];
}

class Scatter {
    // kinds: in drawing order, coloured by the class 'dots KIND'; label(points): for who does not see it.
    constructor(host, options) {
        Object.assign(this, { host, options, points: [], layout: null, width: 0 });
        this.svg = svgEl('svg', { role: 'img', class: 'plot' });
        this.told = h('p', { class: 'plot-told muted small' });
        append(host, h('div', { class: 'plot-box' }, this.svg), this.told);
        this.svg.addEventListener('pointermove', (event) => this.point(event));
        this.svg.addEventListener('pointerleave', () => this.tell(null));
        this.svg.addEventListener('click', (event) => this.open(event));
        this.observer = new ResizeObserver(([entry]) => this.resize(entry.contentRect.width));
        this.observer.observe(this.svg.parentElement);
    }

    resize(width) {
        if (Math.round(width) !== this.width && width > 0) {
            this.width = Math.round(width);
            this.draw();
        }
    }

    update(points) {
        this.points = points;
        this.draw();
    }

    draw() {
        if (this.width === 0) {
            return; // it comes once the box has a size
        }
        this.svg.parentElement.hidden = this.points.length === 0;
        const box = { left: 56, right: this.width - 12, top: 26, bottom: HEIGHT - 46 };
        this.layout = layoutScatter(this.points, box);
        this.mark = svgEl('circle', { class: 'plot-mark', r: 7, visibility: 'hidden' });
        this.svg.setAttribute('viewBox', `0 0 ${this.width} ${HEIGHT}`);
        this.svg.setAttribute('height', HEIGHT);
        this.svg.setAttribute('aria-label', this.options.label(this.points));
        append(clear(this.svg), axisNodes(this.layout, box, this.options), this.options.kinds.map((kind) => {
            const of = this.layout.placed.filter((one) => one.point.kind === kind);
            return of.length === 0 ? null : svgEl('path', { class: `dots ${kind}`, d: dotsPath(of) });
        }), this.mark);
        this.tell(null);
    }

    at(event) {
        const bounds = this.svg.getBoundingClientRect();
        return this.layout && nearestPoint(this.layout.placed, event.clientX - bounds.left, event.clientY - bounds.top);
    }

    point(event) {
        this.tell(this.at(event));
    }

    tell(one) {
        this.svg.classList.toggle('on-point', Boolean(one));
        this.mark.setAttribute('visibility', one ? 'visible' : 'hidden');
        if (one) {
            this.mark.setAttribute('cx', one.left);
            this.mark.setAttribute('cy', one.top);
        }
        const { tell, hint, empty } = this.options;
        append(clear(this.told), one ? [isolated(one.point.name), `: ${tell(one.point)}`] : this.points.length > 0 ? hint : empty);
    }

    open(event) {
        const one = this.at(event);
        if (one)
            this.options.open(one.point);
    }
}

// → {update(points), destroy()}. points: [{x, y, kind, key, name}].
export function scatter(host, options) {
    const plot = new Scatter(host, options);
    return { update: (points) => plot.update(points), destroy: () => plot.observer.disconnect() };
}
