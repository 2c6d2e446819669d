// What of a run can be taken away: weights, metrics, spec; each by a button or by curl.
import { api, apiPath } from './api.js';
import { commandBox, curlLine } from './command.js';
import { clear, h, icon } from './dom.js';
import { fmtBytes } from './format.js';
import { renewal } from './renewal.js';
import { fileName, saveBlob, saveButton } from './save.js';

const MODELS_MS = 5000; // a version may come each round
const SAFETENSORS = 'application/vnd.safetensors';

function fileRow(title, text, ...children) {
    return h('div', { class: 'file' }, h('h3', null, title), h('p', { class: 'muted small' }, text), children);
}

// The versions whose weights the server still keeps, in a list.
function versionPicker(onChange) {
    const select = h('select', { class: 'input', id: 'model-version', on: { change: onChange } });
    const note = h('span', { class: 'muted small', role: 'status' });
    let known = '';
    return {
        node: h('div', { class: 'row' }, h('label', { for: 'model-version' }, 'Version'), select, note),
        get version() {
            return select.value || 'latest';
        },
        update(models) {
            const kept = models.filter((m) => m.available);
            const key = JSON.stringify(kept.map((m) => m.version));
            note.textContent = models.length === 0 ? 'There are no weights yet: they come when the run starts.'
                : models.isMore || kept.length < models.length ? 'Older ones are not kept (retention.keep_models).' : '';
            // A list that is open under somebody's hand is not changed.
            if (key === known || (known && document.activeElement === select))
                return;
            known = key;
            const chosen = select.value;
            // Which one is the latest changes while the list stands here.
            clear(select).append(kept.length > 0 ? h('option', { value: 'latest' }, 'latest') : '',
                ...kept.map((m) => h('option', { value: String(m.version) }, `${m.version} (${fmtBytes(m.size_bytes)})`)));
            if ([...select.options].some((o) => o.value === chosen))
                select.value = chosen;
            select.disabled = kept.length === 0;
            onChange();
        },
    };
}

export function runFiles(runId, signal) {
    let run = null;
    const model = commandBox('');
    const spec = commandBox('');
    const name = (ending) => fileName(run.name || runId, ending);
    const weightsPath = () => apiPath('runs', runId, 'models', picker.version, 'weights');
    const weightsName = () => name(`-model-${picker.version}.safetensors`);
    const picker = versionPicker(() => run && model.update(curlLine('GET', weightsPath(), undefined, { output: weightsName() })));
    const metricsPath = apiPath('runs', runId, 'metrics');
    const metrics = commandBox('');
    const node = h('section', { class: 'panel stack', 'aria-labelledby': 'run-files' }, h('h2', { id: 'run-files' }, 'Downloads'),
        fileRow('Model weights', 'The weights as a safetensors file.', picker.node,
            saveButton('Download weights', () => ({ path: weightsPath(), accept: SAFETENSORS, name: weightsName() }), signal), model),
        fileRow('Metrics as CSV', 'Every value of every device and over all devices, as CSV.',
            saveButton('Download metrics', () => ({ path: metricsPath, accept: 'text/csv', name: name('-metrics.csv') }), signal), metrics),
        fileRow('Spec as a file', 'As submitted, with its defaults filled in: what POST /api/v1/runs and fedlane run submit take.',
            h('button', { type: 'button', class: 'button', on: { click: () => saveBlob(
                new Blob([`${JSON.stringify(run.spec, null, 2)}\n`], { type: 'application/json' }), name('-spec.json')) } },
            icon('download'), 'Download spec'), spec));

    // Where it does not come the list stays as it was; "latest" always works, and what does not is told when it is pressed.
    const askModels = renewal(async () => picker.update(await api.all(apiPath('runs', runId, 'models'), { max: 100, signal })), MODELS_MS, signal);

    return {
        node,
        update(next) {
            const isNew = !run || run.model_version !== next.model_version || run.status !== next.status;
            run = next;
            spec.update(curlLine('GET', apiPath('runs', runId, 'spec'), undefined, { output: name('-spec.json') }));
            metrics.update(curlLine('GET', metricsPath, undefined, { accept: 'text/csv', output: name('-metrics.csv') }));
            model.update(curlLine('GET', weightsPath(), undefined, { output: weightsName() }));
            if (isNew)
                askModels();
        },
    };
}
