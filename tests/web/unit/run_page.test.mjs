import test from 'node:test';
import assert from 'node:assert/strict';
import { eventTone, eventWords } from '../../../web/js/event_words.js';
import { firstKept, RunData } from '../../../web/js/run_data.js';
import { roundRows } from '../../../web/js/round_rows.js';
import { fileName } from '../../../web/js/save.js';
import { changedSince } from '../../../web/js/run_spec.js';
import { roundsDone } from '../../../web/js/run_head.js';
import { troubleOf, troubleWords } from '../../../web/js/run_trouble.js';
import { createWork } from '../../../web/js/work.js';

test('events in words', () => {
    const update = { type: 'update_accepted', data: { ordinal: 4, partial: true, steps_done: 378, steps_assigned: 1260, train_loss_end: 0.5, gamma: 'NaN' } };
    assert.equal(eventWords(update), 'Device 4: partial update, 378 of 1,260 steps, loss 0.5000, gamma NaN');
    assert.equal(eventTone(update), 'partial');
    const closed = { round: 7, type: 'train', outcome: 'completed', reason: '', selected: 10, received: 8, partial: 3, dropped: 0, failed: 1, late: 1, metrics: { train_loss: 0.25 } };
    assert.equal(eventWords({ type: 'round_closed', data: closed }), 'Round 7 closed, completed: 8 of 10 received (3 partial), 1 failed, 1 late, loss 0.2500');
    assert.equal(eventWords({ type: 'round_closed', data: { round: 2, type: 'train', outcome: 'failed', reason: 'the run was stopped' } }), 'Round 2 ended: failed, the run was stopped');
    assert.equal(eventWords({ type: 'devices_frozen', data: { population: 1, dataset: 'd' } }), '1 device of d takes part');
    assert.equal(eventWords({ type: 'round_opened', data: { round: 0, type: 'train', selected: 1, evaluators: 2 } }), 'Round 0 opened: 1 device to train, 2 to evaluate');
    assert.equal(eventWords({ type: 'task_failed', data: { ordinal: 1, code: 'oom', detail: '<b>' } }), 'Device 1 failed (oom): <b>');
    const averaged = (round, received) => ({ type: 'round_aggregating', data: { round, received } });
    assert.equal(eventWords(averaged(29, 0), 30), 'Round 29 has no updates to average');
    assert.equal(eventWords(averaged(30, 0), 30), 'Final evaluation: its measurements are averaged');
    assert.equal(eventWords(averaged(2, 3), 30), 'Round 2 averages 3 updates');
});

test('events of another version are shown as they came', () => {
    assert.equal(eventWords({ type: 'a_new_thing', data: { x: 1 } }), 'a new thing {"x":1}');
    assert.equal(eventWords({ type: 'a_new_thing', data: {} }), 'a new thing');
    assert.equal(eventWords({ type: 'round_closed', data: null }), 'round closed');
});

const closedEvent = (round, loss) => ({ type: 'round_closed', at: '2020-01-01T00:00:00Z', data: { round, metrics: { train_loss: loss } } });

test('events add points once, and tell from where to ask again', () => {
    const data = new RunData('r', null);
    data.apply(closedEvent(3, 'Infinity'));
    data.apply(closedEvent(3, 1));
    data.apply(closedEvent(2, 1));
    data.apply(closedEvent(4, 0.5));
    assert.deepEqual(data.curvePoints('train_loss'), [[3, Infinity], [4, 0.5]]);
    assert.equal(data.dirty, 2);
    assert.deepEqual(data.curvePoints('test_loss'), []);
});

test('a run that an older reply tells of is not believed', async () => {
    const data = new RunData('r', null);
    const replies = [{ last_event: 7, status: 'finished' }, { last_event: 5, status: 'running' }];
    data.get = async () => replies.shift();
    await data.loadRun();
    await data.loadRun();
    assert.equal(data.run.status, 'finished');
    data.learn({ last_event: 7, status: 'finished', name: 'later' });
    assert.equal(data.run.name, 'later');
});

test('curves that are asked for again keep what events told meanwhile', async () => {
    const data = new RunData('r', null);
    data.apply(closedEvent(1, 9));
    data.get = async () => {
        data.apply(closedEvent(2, 8));
        data.apply({ type: 'round_closed', at: null, data: { round: 2, metrics: { gamma: 0.5 } } });
        return { items: [{ name: 'train_loss', round: 0, ordinal: null, value: 3 }, { name: 'train_loss', round: 1, ordinal: null, value: 2 }] };
    };
    await data.loadCurves();
    assert.deepEqual(data.curvePoints('train_loss'), [[0, 3], [1, 2], [2, 8]]);
    assert.deepEqual(data.curvePoints('gamma'), [[2, 0.5]]);
});

test('numbers of rounds come in order and leave out what is not there', () => {
    const data = new RunData('r', null);
    const item = (round, more) => ({ round, type: 'train', status: 'closed', outcome: 'completed', cells: [], ...more });
    data.putWork([item(5, { proximal_mu: 0.5, duration_ms: 10 }), item(1, { proximal_mu: 'NaN' }), item(6, {})]);
    assert.deepEqual(data.numberSeries('proximal_mu'), { points: [[1, NaN], [5, 0.5]], there: 2 });
    assert.deepEqual(data.numberSeries('duration_ms').points, [[5, 10]]);
});

test('of a very long run the end is kept', () => {
    assert.equal(firstKept({ round: 5000 }, 10), 0);
    assert.equal(firstKept({ round: 5000 }, 1000), 4001);
    assert.equal(firstKept({ round: 3 }, 0), 0);
});

test('rows of a round have the figures of their reports and marks where they stand out', () => {
    const at = (ms) => new Date(1e12 + ms).toISOString();
    const tasks = [100, 110, 120, 130, 140, 900].map((end, ordinal) => ({
        ordinal, type: 'train', status: 'completed', steps_done: 50, created_at: at(0), claimed_at: at(0), downloaded_at: at(1),
        trained_at: at(end - 1), uploaded_at: at(end), report: { compute_ms: 50, train_loss_start: 2, train_loss_end: ordinal === 1 ? 'NaN' : 1 },
    }));
    const { rows, fences, start, end } = roundRows(tasks, 'train', {});
    assert.deepEqual(rows.map((r) => r.duration), [100, 110, 120, 130, 140, 900]);
    assert.equal(rows[0].speed, 1000);
    assert.deepEqual(rows.map((r) => r.marks), [{}, {}, {}, {}, {}, { duration: 'high' }]);
    assert.equal(fences.loss_after, null, 'they are all equal');
    assert.equal(rows[0].gamma, null);
    assert.deepEqual([start - 1e12, end - 1e12], [0, 900]);
    const evaluated = roundRows([{ ...tasks[0], report: { eval_test_examples: 4, eval_test_correct: 3, eval_train_loss: 'Infinity' } }], 'evaluate', {});
    assert.deepEqual([evaluated.rows[0].accuracy, evaluated.rows[0].train_loss, evaluated.rows[0].test_loss], [0.75, Infinity, null]);
    assert.deepEqual(roundRows([{ ...tasks[0], report: null, uploaded_at: null }], 'train', {}).rows[0].duration, null);
});

test('file names are safe everywhere', () => {
    assert.equal(fileName('a/b\\c: "d"', '.csv'), 'a_b_c_ _d_.csv');
    assert.equal(fileName('..', '.csv'), 'fedlane.csv');
    assert.equal(fileName('\u202egnp.exe', '.csv'), '_gnp.exe.csv');
    assert.equal(fileName('a\u200bb\u061cc\ud83d\ude00 .', ''), 'a_b_c\ud83d\ude00');
    assert.ok(fileName('x'.repeat(500), '.csv').length <= 104);
});

test('what was changed while the run was under way', () => {
    const spec = { training: { learning_rate: 0.1, batch_size: 10 }, strategy: { name: 'fedprox', params: { proximal_mu: 1 } } };
    assert.deepEqual(changedSince({ spec, config: { training: { batch_size: 10, learning_rate: 0.1 }, strategy: { params: { proximal_mu: 1 } } } }), []);
    const config = { training: { learning_rate: 0.05, batch_size: 10 }, strategy: { params: { proximal_mu: 0.5 } } };
    assert.deepEqual(changedSince({ spec, config }).map((c) => [c.path.join('.'), c.from, c.to]),
        [['training.learning_rate', 0.1, 0.05], ['strategy.params.proximal_mu', 1, 0.5]]);
    assert.deepEqual(changedSince({ spec, config: null }), []);
});

test('how far a run is', () => {
    const run = { status: 'running', outcome: null, round: 3, num_rounds: 10, started_at: 'x' };
    assert.equal(roundsDone(run), 3);
    assert.equal(roundsDone({ ...run, round: 10 }), 10);
    assert.equal(roundsDone({ ...run, status: 'finished', outcome: 'stopped' }), 3);
});

const closedRound = (round, states, more) => ({ round, type: 'train', status: 'closed', outcome: 'completed',
    cells: states.map((state, i) => [i, state, 1, 1]), ...more });

function troubleIn(items) {
    const work = createWork();
    items.forEach(work.put);
    return troubleOf(work);
}

test('a run whose tasks fail says so, also where it is completed', () => {
    const final = { ...closedRound(30, []), type: 'final' };
    const bad = troubleIn([...Array.from({ length: 30 }, (_, n) => closedRound(n, Array(10).fill('failed'), { outcome: 'skipped' })), final]);
    assert.equal(troubleWords(bad, null), '300 of 300 tasks failed. In 30 of 30 rounds no update counted, so the model did not change.');
    assert.equal(troubleWords(bad, { round: 0, codes: [['non_finite', 10]] }),
        '300 of 300 tasks failed, in round 0: non_finite. In 30 of 30 rounds no update counted, so the model did not change.');
    const late = troubleIn([closedRound(0, ['completed']), closedRound(1, ['late'], { outcome: 'skipped' })]);
    assert.equal(troubleWords(late, null), 'In 1 of 2 rounds no update counted, so the model stayed as it was there.');
    assert.deepEqual([late.first, late.firstFailed, bad.firstFailed], [1, null, 0]);
});

test('a run that goes well enough, or was stopped, has no warning', () => {
    const good = Array(9).fill('completed');
    assert.equal(troubleIn([closedRound(0, [...good, 'partial']), closedRound(1, [...good, 'failed'])]), null, 'one of twenty');
    assert.equal(troubleIn([closedRound(0, [...good, 'failed'])]).failed, 1, 'one of ten');
    assert.equal(troubleIn([closedRound(0, good), closedRound(1, ['cancelled', 'failed'], { outcome: 'skipped' })]), null, 'stopped');
    assert.equal(troubleIn([closedRound(0, [], { outcome: 'skipped' })]), null, 'stopped before it trained');
    assert.equal(troubleIn([{ ...closedRound(0, ['failed', 'open']), status: 'training', outcome: null }]), null, 'still open');
    assert.equal(troubleIn([]), null);
});

test('the deadline of the open round is asked for once, and again when it was extended', async () => {
    const data = new RunData('r', null);
    data.run = { round: 2, status: 'running' };
    assert.equal(data.needsDeadline, false, 'it has not been opened yet');
    data.putWork([{ ...closedRound(2, ['open']), status: 'training', outcome: null }]);
    assert.equal(data.needsDeadline, true);
    const reply = { round: 2, type: 'train', status: 'training', grace_until: '2020-01-01T00:00:00Z', extensions: 0 };
    data.get = async () => reply;
    await data.loadDeadline();
    assert.equal(data.needsDeadline, false);
    data.apply({ type: 'round_extended', data: { round: 2, extensions: 1 } });
    assert.equal(data.needsDeadline, true);
    data.get = async () => {
        data.apply({ type: 'round_extended', data: { round: 2, extensions: 2 } });
        return reply;
    };
    await data.loadDeadline();
    assert.equal(data.deadline, null, 'a reply from before the extension');
    data.run = { round: 2, status: 'finished' };
    assert.equal(data.needsDeadline, false);
});

test('a page that stays open forgets the oldest rounds', () => {
    const data = new RunData('r', null);
    const cells = Array.from({ length: 5000 }, (_, i) => [i, 'completed', 1, 1]);
    for (let n = 0; n < 230; n++)
        data.putWork([{ round: n, type: 'train', status: 'closed', outcome: 'completed', cells }]);
    assert.ok(data.work.cells <= 1100000, String(data.work.cells));
    assert.ok(data.work.first > 0 && !data.numbers.has(0) && data.numbers.has(229));
});
