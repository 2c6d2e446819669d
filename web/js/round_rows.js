// The tasks of a round as rows of figures, and which of them stand out: pure.
import { parseNumber } from './format.js';
import { layoutGantt } from './gantt_layout.js';
import { fencesOf, outlierSide } from './stats.js';

const since = (from, to) => (from && to ? Date.parse(to) - Date.parse(from) : null);

function trainFigures(task, report) {
    const compute = parseNumber(report.compute_ms);
    return {
        loss_before: parseNumber(report.train_loss_start),
        loss_after: parseNumber(report.train_loss_end),
        gamma: parseNumber(report.gamma),
        update_norm: parseNumber(report.update_norm),
        speed: compute > 0 && task.steps_done > 0 ? (1000 * task.steps_done) / compute : null,
    };
}

function evaluateFigures(report) {
    const examples = parseNumber(report.eval_test_examples);
    const correct = parseNumber(report.eval_test_correct);
    return {
        train_loss: parseNumber(report.eval_train_loss),
        test_loss: parseNumber(report.eval_test_loss),
        accuracy: examples > 0 && correct !== null ? correct / examples : null,
    };
}

// What outliers are looked for in.
const WATCHED = {
    train: ['duration', 'speed', 'loss_after', 'gamma', 'update_norm'],
    evaluate: ['duration', 'train_loss', 'test_loss', 'accuracy'],
};

// tasks of one type. Answers {rows, start, end, fences}: rows {task, bars, duration, ... figures, marks: {figure: 'high' | 'low'}}.
export function roundRows(tasks, type, times) {
    const { rows: laid, start, end } = layoutGantt(tasks, times);
    const rows = laid.map(({ task, bars }) => {
        const report = task.report ?? {};
        const figures = type === 'train' ? trainFigures(task, report) : evaluateFigures(report);
        return { task, bars, duration: since(task.claimed_at, task.uploaded_at), ...figures, marks: {} };
    });
    const fences = {};
    for (const name of WATCHED[type]) {
        fences[name] = fencesOf(rows.map((row) => row[name]));
        for (const row of rows) {
            const side = outlierSide(row[name], fences[name]);
            if (side)
                row.marks[name] = side;
        }
    }
    return { rows, start, end, fences };
}
