// What is to be known of runs that something else refers to, asked for once each: their names, and how they evaluate.
import { api, apiPath } from './api.js';
import { nameOr, shortId } from './format.js';
import { isAbort } from './http.js';

const MOST_LOOKED_UP = 20;

export class RunNames {
    constructor(signal) {
        Object.assign(this, { signal, names: new Map(), evaluations: new Map() });
    }

    // Never empty: the end of the id where the name is not known.
    get(id) {
        return nameOr(this.names.get(id), shortId(id));
    }

    // As spec and config say it; undefined where it is not known.
    evaluation(id) {
        return this.evaluations.get(id);
    }

    // The newest first; the oldest of very many keep their ids.
    async learn(ids) {
        const unknown = [...new Set(ids)].filter((id) => !this.names.has(id)).slice(0, MOST_LOOKED_UP);
        await Promise.all(unknown.map(async (id) => {
            try {
                const run = await api.get(apiPath('runs', id), { signal: this.signal });
                this.names.set(id, run.name);
                this.evaluations.set(id, { ...run.spec.evaluation, ...run.config?.evaluation });
            } catch (error) {
                if (isAbort(error) || error.status !== 404)
                    throw error;
                this.names.set(id, '');
            }
        }));
    }
}
