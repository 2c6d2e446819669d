// What the compare view draws: the runs of the link, and of each the curve of one metric; asked for when it is needed, once.
import { api, apiPath } from './api.js';
import { ROUND_METRICS, curveOfPoints } from './compare.js';
import { isAbort } from './http.js';

export const POINTS_DRAWN = 600;
const MOST_GROWN = 1.1; // of a thinned curve: what came later is not thinned,
const WHOLE_AGAIN_MS = 30000; // but thinning it is work for the server

export class CompareData {
    constructor(ids, signal) {
        Object.assign(this, { ids, signal, runs: new Map(), missing: new Map(), curves: new Map(), wholeAt: new Map(), names: new Set() });
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
        try {
            await this.loadPoints(id, metric, `${id} ${metric}${x === 'steps' ? ' steps' : ''}`);
        } catch (error) {
            if (error.status !== 404)
                throw error;
        }
    }

    // What came after the curve that is there, or all of it. Rounds that are closed do not change.
    async loadPoints(id, metric, key) {
        const known = this.curves.get(key);
        const isDense = known && known.length > MOST_GROWN * POINTS_DRAWN && performance.now() - this.wholeAt.get(key) > WHOLE_AGAIN_MS;
        const before = known && !isDense ? known : [];
        const last = before[before.length - 1];
        if (!last)
            this.wholeAt.set(key, performance.now());
        const which = ROUND_METRICS.has(metric) ? { number: metric } : { name: metric, device: 'aggregate' };
        const { items } = await this.get(apiPath('runs', id, 'metrics'), { ...which,
            since_round: last ? last.round + 1 : null, max_points: POINTS_DRAWN, total_steps: key.endsWith(' steps') || null });
        if (this.curves.get(key) === known)
            this.curves.set(key, [...before, ...curveOfPoints(items)]);
    }

    // What the settings need and is not there yet.
    async complete(settings) {
        await Promise.all(this.shown.map((run) => this.curve(run.id, settings) ?? this.loadCurve(run.id, settings)));
    }

    // A run of which something new has come. Its other curves are asked for again when they are wanted.
    async reload(id, settings) {
        const shown = this.curve(id, settings);
        for (const [key, curve] of this.curves) {
            if (key.startsWith(id) && curve !== shown)
                this.curves.delete(key);
        }
        const isBySteps = this.curves.has(`${id} ${settings.metric} steps`);
        await Promise.all([this.loadRun(id), this.loadCurve(id, isBySteps ? { ...settings, x: 'steps' } : settings)]);
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
