// Where it begins: the places and their views.

import { restoreSession } from './session.js';
import { startShell } from './shell.js';
import { startTheme } from './theme.js';
import { viewNewRun } from './view_new_run.js';
import { viewRound } from './view_round.js';
import { viewRun } from './view_run.js';
import { viewRuns } from './view_runs.js';

const NAV = [
    { name: 'runs', title: 'Runs', place: '#/runs' },
    { name: 'devices', title: 'Devices', place: '#/devices' },
    { name: 'compare', title: 'Compare', place: '#/compare' },
    { name: 'server', title: 'Server', place: '#/server' },
];

// One line each; the first that fits counts.
const ROUTES = [
    { pattern: '/', nav: 'runs', title: 'Runs', view: viewRuns },
    { pattern: '/runs', nav: 'runs', title: 'Runs', view: viewRuns },
    { pattern: '/runs/new', nav: 'runs', title: 'New run', view: viewNewRun },
    { pattern: '/runs/:run', nav: 'runs', title: 'Run', view: viewRun },
    { pattern: '/runs/:run/rounds/:round', nav: 'runs', title: 'Round', view: viewRound },
    { pattern: '/login/:code', isLogin: true },
];

if (!location.hash)
    history.replaceState(null, '', '#/runs');
startTheme();
restoreSession();
startShell({ routes: ROUTES, nav: NAV });
