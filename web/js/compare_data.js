// What the compare view draws: the runs of the link, and of each the curve of one metric; asked for when it is needed, once.
import { api, apiPath } from './api.js';
import { ROUND_METRICS, curveOfPoints, curveOfWork } from './compare.js';
import { isAbort } from './http.js';

export const POINTS_DRAWN = 600;
const ROUNDS_OF_PAGE = 1000;

export class CompareData {
    constructor(ids, signal) {
        Object.assign(this, { ids, signal, runs: new Map(), missing: new Map(), curves: new Map(), names: new Set() });
    }

    get(path, query) {
        return api.get(path, { signal: this.signal, query });
    }

    // Those that are there, in the order of the link.
    get shown() {
        return this.ids.map((id) => this.runs.get(id)).filter(Boolean);
    }

    async loadRun(id) {
        try {
            this.runs.set(id, await this.get(apiPath('runs', id)));
            this.missing.delete(id);
        } catch (error) {
            if (isAbort(error) || error.status === 401 || error.isPassing)
                throw error;
            this.runs.delete(id);
            this.missing.set(id, error);
        }
    }

    // All runs and the curve of the metric, in one go: a run and its curve do not wait for each other.
    async load(settings) {
        this.curves.clear();
        await Promise.all(this.ids.flatMap((id) => [this.loadRun(id), this.loadCurve(id, settings)]));
    }

    // A curve by steps has more in it than one by rounds, and serves for both.
    curve(id, { metric, x }) {
        return this.curves.get(`${id} ${metric} steps`) ?? (x === 'steps' ? undefined : this.curves.get(`${id} ${metric}`));
    }

    async loadCurve(id, { metric, x }) {
        const withSteps = x === 'steps';
        try {
            if (ROUND_METRICS.has(metric)) {
                this.curves.set(`${id} ${metric} steps`, curveOfWork(await this.loadWork(id), metric));
                return;
            }
            const { items } = await this.get(apiPath('runs', id, 'metrics'),
                { name: metric, device: 'aggregate', max_points: POINTS_DRAWN, total_steps: withSteps || null });
            this.curves.set(`${id} ${metric}${withSteps ? ' steps' : ''}`, curveOfPoints(items));
        } catch (error) {
            if (error.status !== 404)
                throw error;
        }
    }

    async loadWork(id) {
        const items = [];
        let cursor = null;
        do {
            const page = await this.get(apiPath('runs', id, 'work'), { limit: ROUNDS_OF_PAGE, cursor });
            items.push(...page.items);
            cursor = page.next_cursor;
        } while (cursor);
        return items;
    }

    // What the settings need and is not there yet.
    async complete(settings) {
        await Promise.all(this.shown.map((run) => this.curve(run.id, settings) ?? this.loadCurve(run.id, settings)));
    }

    // A run of which something new has come.
    async reload(id, settings) {
        for (const key of [...this.curves.keys()].filter((k) => k.startsWith(id)))
            this.curves.delete(key);
        await Promise.all([this.loadRun(id), this.loadCurve(id, settings)]);
    }

    // The names of all metrics that the runs have had lately, without their points.
    async loadNames() {
        await Promise.all(this.shown.map(async (run) => {
            const { items } = await this.get(apiPath('runs', run.id, 'metrics'),
                { device: 'aggregate', since_round: Math.max(0, run.round - 2), limit: 200 });
            items.forEach((point) => this.names.add(point.name));
        }));
    }

    metricNames(chosen) {
        const last = this.shown.flatMap((run) => Object.keys(run.metrics?.values ?? {}));
        return [...new Set([...[...new Set([...last, ...this.names])].sort(), ...ROUND_METRICS.keys(), chosen])];
    }
}
