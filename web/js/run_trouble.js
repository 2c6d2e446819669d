// What a run's state does not say: that its tasks fail, or its rounds leave the model as it was. Pure.
import { countOf, fmtCount } from './format.js';
import { CELL_STATES, countCells } from './work.js';

const FAILED_SHARE = 0.1; // devices that give up now and then are nothing to be warned of

const sumsOfRounds = new WeakMap();

// Rounds are replaced, not changed, once they are closed.
function roundSums(row) {
    let sums = sumsOfRounds.get(row);
    if (!sums) {
        const { counts } = countCells([row.cells]);
        sums = Object.fromEntries(CELL_STATES.map((name, i) => [name, counts[i]]));
        sumsOfRounds.set(row, sums);
    }
    return sums;
}

// A round in which the run was stopped is nobody's fault: what was under way was cancelled.
function isCutOff(row, sums) {
    return row.cells.count === 0 || (row.outcome === 'skipped' && sums.cancelled > 0);
}

// {tasks, failed, rounds, idle, first, firstFailed} of the closed rounds of a store of work.js, first being the lowest round in
// which something went wrong and firstFailed the lowest with a failed task, or null; null where there is nothing to be warned of.
export function troubleOf(work) {
    const all = { tasks: 0, failed: 0, rounds: 0, idle: 0, first: null, firstFailed: null, isPart: work.first > 0 };
    for (let n = work.first; n <= work.last; n++) {
        const row = work.get(n);
        if (!row || row.type === 'final' || row.status !== 'closed')
            continue;
        const sums = roundSums(row);
        if (isCutOff(row, sums))
            continue;
        const isIdle = row.outcome === 'skipped' || sums.completed + sums.partial === 0;
        all.rounds += 1;
        all.tasks += row.cells.count;
        all.failed += sums.failed;
        all.idle += isIdle ? 1 : 0;
        if (sums.failed > 0)
            all.firstFailed = all.firstFailed ?? n;
        if (sums.failed > 0 || isIdle)
            all.first = all.first ?? n;
    }
    return all.idle > 0 || (all.failed > 0 && all.failed >= FAILED_SHARE * all.tasks) ? all : null;
}

// failure: {round, codes: [[code, how many]]}, why tasks of a round failed, or null.
export function troubleWords(trouble, failure) {
    const { tasks, failed, rounds, idle, isPart } = trouble;
    const words = [];
    if (failed > 0) {
        const codes = failure ? failure.codes.slice(0, 3).map(([code]) => code).join(', ') : '';
        words.push(`${fmtCount(failed)} of ${countOf(tasks, 'task')} failed${codes ? `, in round ${fmtCount(failure.round)}: ${codes}` : ''}.`);
    }
    if (idle > 0) {
        words.push(`In ${fmtCount(idle)} of ${countOf(rounds, 'round')} no update counted, so the model `
            + `${idle === rounds ? 'did not change' : 'stayed as it was there'}.`);
    }
    return `${isPart ? 'Of the newest rounds: ' : ''}${words.join(' ')}`;
}
