// Giving a chart away: as a picture for papers and slides, as numbers.
import { h, icon } from './dom.js';
import { pressButton } from './parts.js';
import { fileName, saveBlob } from './save.js';
import { toast } from './toast.js';

const FILE_KINDS = {
    SVG: (chart) => new Blob([chart.toSvg()], { type: 'image/svg+xml' }),
    PNG: (chart) => chart.toPng(),
    CSV: (chart) => new Blob([chart.toCsv()], { type: 'text/csv' }),
};

// chart: {toSvg(), toPng(), toCsv()}; name(): of the file, without its ending. → {node, update({title})}
export function chartFiles(chart, name) {
    const save = (kind, make) => async () => {
        try {
            saveBlob(await make(chart), fileName(name(), `.${kind.toLowerCase()}`));
        } catch (error) {
            toast(`The ${kind} could not be made: ${error.message}`, 'bad');
        }
    };
    const node = h('div', { class: 'row', role: 'group' },
        Object.entries(FILE_KINDS).map(([kind, make]) => pressButton(kind, save(kind, make), { icon: icon('download') })));
    return { node, update: ({ title }) => node.setAttribute('aria-label', `Save the chart: ${title}`) };
}
