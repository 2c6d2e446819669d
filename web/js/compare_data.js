// What the compare view draws: the runs of the link, and of each the curve of one metric; asked for when it is needed, once.
import { api, apiPath } from './api.js';
import { isAbort } from './http.js';
import { byRound, byTotalSteps, byWallTime, curvesOf, smooth } from './series.js';

const POINTS_DRAWN = 600;
const ROUNDS_OF_PAGE = 1000;

// Smoothing means the same whether a curve has all its points or every tenth: the weight is for one round.
export function weightOfStride(weight, points) {
    if (points.length < 2) {
        return weight;
    }
    const stride = (points[points.length - 1].round - points[0].round) / (points.length - 1);
    return weight ** Math.max(1, stride);
}

// The points of a curve on an axis: 'round', 'wall' (seconds since the start) or 'steps'.
export function curveOnAxis(curve, x, run, steps) {
    if (x === 'wall') {
        return byWallTime(curve, run.started_at);
    }
    return x === 'steps' ? byTotalSteps(curve, steps ?? []) : byRound(curve);
}

export function comparePoints(curve, settings, run, steps) {
    return smooth(curveOnAxis(curve, settings.x, run, steps), weightOfStride(settings.smooth, curve));
}

export class CompareData {
    constructor(ids, signal) {
        Object.assign(this, { ids, signal, runs: new Map(), missing: new Map(), curves: new Map(), steps: new Map(), names: new Set() });
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
            if (isAbort(error) || error.status === 401 || error.isPassing) {
                throw error;
            }
            this.runs.delete(id);
            this.missing.set(id, error);
        }
    }

    // All runs and the curve of the metric, in one go: a run and its curve do not wait for each other.
    async load(settings) {
        await Promise.all(this.ids.flatMap((id) => [this.loadRun(id), this.loadCurve(id, settings.metric)]));
        if (settings.x === 'steps') {
            await Promise.all(this.shown.map((run) => this.loadSteps(run)));
        }
    }

    key(id, metric) {
        return `${id} ${metric}`;
    }

    curve(id, metric) {
        return this.curves.get(this.key(id, metric)) ?? [];
    }

    async loadCurve(id, metric) {
        try {
            const { items } = await this.get(apiPath('runs', id, 'metrics'), { name: metric, device: 'aggregate', max_points: POINTS_DRAWN });
            this.curves.set(this.key(id, metric), curvesOf(items).get(metric) ?? []);
        } catch (error) {
            if (error.status !== 404) {
                throw error;
            }
        }
    }

    // What the settings need and is not there yet.
    async complete(settings) {
        await Promise.all(this.shown.flatMap((run) => [
            this.curves.has(this.key(run.id, settings.metric)) ? null : this.loadCurve(run.id, settings.metric),
            settings.x === 'steps' ? this.loadSteps(run) : null,
        ]));
    }

    // [[round, steps done in it]]; rounds that have closed are not asked for again.
    async loadSteps(run) {
        const known = this.steps.get(run.id) ?? [];
        let since = known.length > 0 ? known[known.length - 1][0] : 0;
        const steps = known.filter(([round]) => round < since);
        for (;;) {
            const { items } = await this.get(apiPath('runs', run.id, 'work'), { since_round: since, limit: ROUNDS_OF_PAGE });
            steps.push(...items.map((item) => [item.round, item.cells.reduce((sum, cell) => sum + cell[2], 0)]));
            this.steps.set(run.id, steps);
            if (items.length === 0 || items[items.length - 1].round + 1 > run.round) {
                return;
            }
            since = items[items.length - 1].round + 1;
        }
    }

    // The names of all metrics that the runs have had lately, without their points.
    async loadNames() {
        await Promise.all(this.shown.map(async (run) => {
            const { items } = await this.get(apiPath('runs', run.id, 'metrics'), { device: 'aggregate', since_round: Math.max(0, run.round - 2), limit: 200 });
            items.forEach((point) => this.names.add(point.name));
        }));
    }

    metricNames(chosen) {
        const last = this.shown.flatMap((run) => Object.keys(run.metrics?.values ?? {}));
        return [...new Set([chosen, ...last, ...this.names])].sort();
    }
}
