// Starting, pausing, resuming and stopping runs: which buttons there are, and what pressing them does.

import { api, apiPath } from './api.js';
import { confirmDialog } from './confirm.js';
import { h, icon, oneAtATime } from './dom.js';
import { nameOr, plainText } from './format.js';
import { session } from './session.js';
import { toast } from './toast.js';

const RUN_ACTIONS = {
    start: { title: 'Start', icon: 'play', done: 'started', kind: 'primary' },
    resume: { title: 'Resume', icon: 'play', done: 'goes on', kind: 'primary' },
    pause: { title: 'Pause', icon: 'pause', done: 'pauses after its open round', ask: 'Pause',
        text: 'The open round ends as usual; no other is opened until you resume.' },
    stop: { title: 'Stop', icon: 'stop', done: 'stopped', kind: 'danger', ask: 'Stop', danger: true,
        text: 'The open round is given up, and there is no going on later. The rounds, models and metrics that are there stay.' },
};

export function actionTitle(name) {
    return RUN_ACTIONS[name].title;
}

// The names of what can be done to it now, whoever asks.
export function possibleActions(run) {
    switch (run.status) {
    case 'pending': return ['start', 'stop'];
    case 'waiting_for_devices': return ['stop'];
    case 'running': return ['pause', 'stop'];
    case 'paused': return ['resume', 'stop'];
    default: return [];
    }
}

function nameOf(run) {
    return plainText(nameOr(run.name, run.id));
}

function isMeant(runs, { ask, text, danger }) {
    const what = runs.length === 1 ? `“${nameOf(runs[0])}”` : `these ${runs.length} runs`;
    return confirmDialog({ title: `${ask} ${what}?`, action: runs.length === 1 ? `${ask} the run` : `${ask} ${runs.length} runs`, text, danger });
}

// Asks where it has to, acts on one after the other and says what came of it. → the runs that were changed, as they are now.
export async function actOnRuns(runs, name) {
    const action = RUN_ACTIONS[name];
    const changed = [];
    if (action.ask && !(await isMeant(runs, action)))
        return changed;
    for (const run of runs) {
        try {
            changed.push(await api.post(apiPath('runs', run.id, name)));
        } catch (error) {
            toast(`${nameOf(run)}: ${error.message}`, 'bad');
        }
    }
    if (changed.length)
        toast(changed.length === 1 ? `${nameOf(changed[0])} ${action.done}.` : `${changed.length} runs: ${action.title.toLowerCase()} done.`);
    return changed;
}

function actionButton(run, name, onDone) {
    const { title, kind, icon: iconName } = RUN_ACTIONS[name];
    const click = oneAtATime(async () => {
        const [changed] = await actOnRuns([run], name);
        if (changed)
            onDone(changed);
    });
    return h('button', { type: 'button', class: ['button', kind], 'data-action': name, on: { click } }, icon(iconName), title);
}

// The buttons for what this person may do to this run now; none for viewers. onDone(run): as it is afterwards.
export function runActionButtons(run, onDone) {
    return session.can('run') ? possibleActions(run).map((name) => actionButton(run, name, onDone)) : [];
}
