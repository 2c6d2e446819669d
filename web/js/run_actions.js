// Starting, pausing, resuming and stopping a run: which buttons there are, and what pressing them does.

import { api, apiPath } from './api.js';
import { confirmDialog } from './confirm.js';
import { h, icon } from './dom.js';
import { session } from './session.js';
import { toast } from './toast.js';

const ACTIONS = {
    start: { title: 'Start', icon: 'play', done: 'started', kind: 'primary' },
    resume: { title: 'Resume', icon: 'play', done: 'goes on', kind: 'primary' },
    pause: { title: 'Pause', icon: 'pause', done: 'will pause after its open round',
        ask: { title: 'Pause this run?', action: 'Pause', text: 'The open round ends as usual; no other is opened until you resume.' } },
    stop: { title: 'Stop', icon: 'stop', done: 'stopped', kind: 'danger',
        ask: { title: 'Stop this run for good?', action: 'Stop the run', danger: true,
            text: 'Its open round is given up and it cannot go on later. The rounds, models and metrics that it has stay.' } },
};

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

// → the run as it then is, or null where the person changed their mind or the server refused, which is then shown.
export async function actOnRun(run, name) {
    const action = ACTIONS[name];
    if (action.ask && !(await confirmDialog({ ...action.ask, text: `${run.name || run.id}: ${action.ask.text}` })))
        return null;
    try {
        const changed = await api.post(apiPath('runs', run.id, name));
        toast(`${run.name || 'The run'} ${action.done}.`);
        return changed;
    } catch (error) {
        toast(error.detail || String(error), 'bad');
        return null;
    }
}

function actionButton(run, name, onDone) {
    const { title, kind, icon: iconName } = ACTIONS[name];
    const button = h('button', { type: 'button', class: ['button', kind], 'data-action': name }, icon(iconName), title);
    button.addEventListener('click', async () => {
        button.disabled = true;
        const changed = await actOnRun(run, name);
        button.disabled = false;
        if (changed)
            onDone(changed);
    });
    return button;
}

// The buttons for what this person may do to this run now; an empty list for viewers.
export function runActionButtons(run, onDone) {
    return session.can('run') ? possibleActions(run).map((name) => actionButton(run, name, onDone)) : [];
}
