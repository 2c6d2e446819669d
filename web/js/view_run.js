// One run, live: its state, the round strip, its course, its rounds, events, spec and files.
import { coalesce, h } from './dom.js';
import { nameOr } from './format.js';
import { isAbort, reportBug } from './http.js';
import { renewal } from './renewal.js';
import { go, placeUrl, setQuery } from './router.js';
import { runCharts } from './run_charts.js';
import { RunData } from './run_data.js';
import { runFiles } from './run_files.js';
import { runHead } from './run_head.js';
import { RunLog } from './run_log.js';
import { runRounds } from './run_rounds.js';
import { runSpec } from './run_spec.js';
import { emptyState, loading } from './states.js';
import { roundStrip } from './strip.js';

const DRAW_MS = 200;
const REST_SHARE = 4;
const RUN_ASK_MS = 1000;
const CURVES_MS = 10000;
const OPEN_ROUND_MS = 5000;
const PLANNED_MOST = 20000;
const RUN_EVENTS = /^(run_|round_|config_|devices_|initial_|warning)/;

class RunPage {
    constructor(ctx, data) {
        const { signal, query } = ctx;
        this.ctx = ctx;
        this.data = data;
        this.draw = coalesce(() => this.paintSparingly(), DRAW_MS, signal);
        this.restsUntil = 0;
        this.askRun = this.renewal(() => data.loadRun(), RUN_ASK_MS);
        this.askCurves = this.renewal(() => data.loadCurves().then(() => this.charts.setProblem(null)), CURVES_MS);
        this.askWork = this.renewal(() => data.refreshWork().then(() => this.setProblem(null)), RUN_ASK_MS);
        this.askFailure = this.quietRenewal(() => data.loadFailure());
        this.askDeadline = this.quietRenewal(() => data.loadDeadline());
        this.openRound = -1;
        const open = (round) => go(placeUrl(['runs', data.id, 'rounds', round]));
        this.head = runHead((run) => {
            data.learn(run);
            this.draw();
        });
        this.charts = runCharts(data, { log: query.log === '1', metric: query.metric || null },
            { onCursor: (x) => this.setCursor(x), onPick: open, onSetting: setQuery });
        this.rounds = runRounds(data);
        this.log = new RunLog(data.id, data.run.num_rounds, signal);
        this.spec = runSpec(signal);
        this.files = runFiles(data.id, signal);
        this.problem = h('p', { class: 'error-text', hidden: true });
        const stripHost = h('section', { class: 'panel', 'aria-labelledby': 'run-strip' },
            h('h2', { id: 'run-strip' }, 'Who did how much'), this.problem);
        this.nodes = [this.head.node, stripHost, this.charts.node, this.rounds.node,
            h('div', { class: 'cols-2' }, h('div', { class: 'stack' }, this.log.node, this.files.node), this.spec.node)];
        this.place();
        this.strip = roundStrip(stripHost, {
            work: data.work, mode: query.strip, zoom: query.zoom === undefined ? null : Number(query.zoom),
            onOpen: open, onCursor: (x) => this.setCursor(x), onSetting: ({ mode, zoom }) => setQuery({ strip: mode, zoom }),
        });
        const timer = setInterval(() => this.askOpenRound(), OPEN_ROUND_MS);
        signal.addEventListener('abort', () => {
            clearInterval(timer);
            this.charts.destroy();
            this.strip.destroy();
        });
    }

    place() {
        if (!this.nodes[0].isConnected)
            this.ctx.host.replaceChildren(...this.nodes);
    }

    // The same round in all pictures.
    setCursor(round) {
        this.charts.setCursor(round);
        this.strip.setCursor(round);
    }

    renewal(load, ms) {
        return renewal(async () => {
            await load();
            this.draw();
        }, ms, this.ctx.signal, (error) => error.status === 404 && this.ctx.fail(error));
    }

    // What the page can do without.
    quietRenewal(load) {
        return renewal(async () => {
            await load();
            this.draw();
        }, RUN_ASK_MS, this.ctx.signal);
    }

    askOpenRound() {
        if (document.hidden)
            return;
        // Of rounds that come and go nobody wants to know when they will.
        if (this.data.needsDeadline && this.openRound === this.data.run.round)
            this.askDeadline();
        this.openRound = this.data.run.round;
        this.data.markOpenRound();
        if (this.data.isDirty)
            this.askWork();
    }

    take(event) {
        this.data.apply(event);
        this.log.add(event);
        if (RUN_EVENTS.test(event.type))
            this.askRun();
        if (this.data.isDirty)
            this.askWork();
        if (event.type === 'round_closed' && this.data.isThick)
            this.askCurves();
        this.draw();
    }

    // A run of thousands of rounds costs more to draw: the page then draws more rarely, and stays at hand.
    paintSparingly() {
        const begin = performance.now();
        if (begin < this.restsUntil) {
            clearTimeout(this.rest);
            this.rest = setTimeout(() => this.ctx.signal.aborted || this.draw(), this.restsUntil - begin);
            return;
        }
        this.paint();
        const spent = performance.now() - begin;
        // The pictures are drawn in the next frame, before this.
        requestAnimationFrame((frameBegin) => {
            const end = performance.now();
            this.restsUntil = end + REST_SHARE * (spent + end - frameBegin);
        });
    }

    paint() {
        const { data } = this;
        const { run } = data;
        this.ctx.setTitle(nameOr(run.name, 'Run'));
        this.head.update(data);
        if (data.needsFailure)
            this.askFailure();
        this.strip.update({ rounds: run.num_rounds <= PLANNED_MOST && run.status !== 'finished' ? run.num_rounds : 0,
            population: run.population || run.spec.selection?.population || 0, selected: data.selected });
        this.charts.update();
        this.rounds.update();
        this.spec.update(run);
        this.files.update(run);
    }

    setProblem(error) {
        this.problem.hidden = !error;
        this.problem.textContent = error ? `What the devices did could not be read: ${error.message}` : '';
    }

    // A part that cannot be read says so in its place, and is asked for again; the others are shown.
    async loadPart(load, tell, again) {
        try {
            await load();
            tell(null);
        } catch (error) {
            if (isAbort(error))
                throw error;
            reportBug(error);
            tell(error);
            if (error.isPassing)
                again();
        }
        this.draw();
    }

    load() {
        const { data } = this;
        return Promise.all([
            this.loadPart(() => data.loadCurves(), (error) => this.charts.setProblem(error), this.askCurves),
            this.loadPart(() => data.loadWork(() => this.draw()), (error) => this.setProblem(error), () => {
                data.markAll();
                this.askWork();
            }).then(() => data.needsDeadline && this.askDeadline()),
            this.log.start(data.run.last_event),
        ]);
    }
}

export function noSuchRun(id) {
    return emptyState({
        title: 'There is no such run', text: `This server has no run ${id}. The link may be cut short, or the run is on another server.`,
        action: h('a', { class: 'button', href: '#/runs' }, 'All runs'),
    });
}

export function viewRun(ctx) {
    const data = new RunData(ctx.place.run, ctx.signal);
    let page = null;
    ctx.host.append(loading('Loading the run…'));
    const load = async () => {
        try {
            await data.loadRun();
        } catch (error) {
            if (error.status !== 404)
                throw error;
            ctx.host.replaceChildren(noSuchRun(data.id));
            return;
        }
        page = page ?? new RunPage(ctx, data);
        page.place();
        page.paint();
        await page.load();
        page.draw();
    };
    ctx.follow({ load, onEvent: (event) => page && page.take(event) });
}
