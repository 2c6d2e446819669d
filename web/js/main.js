// Where it begins: the places and their views.

import { restoreSession } from './session.js';
import { startShell } from './shell.js';
import { startTheme } from './theme.js';
import { viewNewRun } from './view_new_run.js';
import { viewRound } from './view_round.js';
import { viewRun } from './view_run.js';
import { viewCompare } from './view_compare.js';
import { viewDevice } from './view_device.js';
import { viewDevices } from './view_devices.js';
import { viewRuns } from './view_runs.js';
import { viewServer } from './view_server.js';
import { viewWorker } from './view_worker.js';

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
    { pattern: '/devices', nav: 'devices', title: 'Devices', view: viewDevices },
    { pattern: '/devices/:device', nav: 'devices', title: 'Device', view: viewDevice },
    { pattern: '/workers/:worker', nav: 'devices', title: 'Worker', view: viewWorker },
    { pattern: '/compare', nav: 'compare', title: 'Compare', view: viewCompare },
    { pattern: '/server', nav: 'server', title: 'Server', view: viewServer },
    { pattern: '/login/:code', isLogin: true },
];

if (!location.hash)
    history.replaceState(null, '', '#/runs');
startTheme();
restoreSession();
startShell({ routes: ROUTES, nav: NAV });
