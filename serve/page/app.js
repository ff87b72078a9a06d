/* app.js - the frame of the page: addresses, refreshes, the token, keys. */
import { link } from './address.js';
import { Problem, follow, get, token } from './api.js';
import { dead } from './dead.js';
import { doctor, servers } from './doctor.js';
import { el, renew } from './dom.js';
import { fleet } from './fleet.js';
import { age, clock, setNow } from './format.js';
import { jobs, strip } from './jobs.js';
import { message } from './message.js';
import { messages } from './messages.js';
import { ask, button, field, notice } from './parts.js';
import { schedules } from './schedules.js';
import { topic } from './topic.js';
import { topics } from './topics.js';
import { work } from './work.js';

const VIEWS = {
    topics,
    topic,
    work,
    messages,
    message,
    dead,
    schedules,
    fleet,
    servers,
    doctor,
    jobs,
};
const TABS = [
    ['topics', 'Topics', 't'],
    ['work', 'In work', 'w'],
    ['fleet', 'Fleet', 'f'],
    ['servers', 'Servers', 's'],
    ['doctor', 'Doctor', 'd'],
    ['jobs', 'Jobs', 'j'],
];
const HIDDEN_MS = 10000;
const SAID_MS = 6000;
/* A view of what is read from Redis is not read again sooner. */
const PACE_MS = 2000;
/* Who pauses for so long while typing wants an answer: it may cost Redis a look at each message. */
const TYPED_MS = 400;

/* What is known. */
let self = null;
let reading = null;
let readAt = 0;
let stream = null; /* the problem of the stream of events; null: it runs */
let unknownEnd = null; /* the end of a job, which came before the answer that began it */
const known = new Map(); /* by id: jobs that run, and jobs that ended while the view was open */
const hidden = new Set();
let said = null;

/* What is shown; `data` is undefined until it was read, `problem` is why the last
 * attempt failed. */
let shown = {
    name: '',
    view: null,
    parameters: new URLSearchParams(),
    address: '',
    data: undefined,
    problem: null,
};
let loading = null;
let loadedAt = 0;
let asking = false;

/* === Addresses ========================================================== */

function place() {
    const [name, query] = location.hash.replace(/^#\/?/, '').split(/\?(.*)/s);
    return {
        name: Object.hasOwn(VIEWS, name) ? name : 'topics',
        parameters: new URLSearchParams(query ?? ''),
    };
}

const page = {
    get self() {
        return self ?? { write: false, personal: false, token: false, zookeeper: false };
    },
    get address() {
        return shown.address;
    },
    /* With what was typed a moment ago. */
    get parameters() {
        return place().parameters;
    },
    draw: () => schedule(),
    reload: () => load(),
    go(view, parameters) {
        location.hash = link(view, parameters);
    },
    /* As one types: without an entry in the history of the browser. */
    replace(view, parameters) {
        history.replaceState(null, '', link(view, parameters));
        clearTimeout(page.typing);
        page.typing = setTimeout(arrive, TYPED_MS);
    },
    /* Changes something, says so, and shows what is new. */
    async change(action, words) {
        try {
            const answer = await action();
            if (answer.id !== undefined) {
                takeJob(answer);
            }
            say(words);
        } catch (error) {
            fail(error);
        }
        await load();
    },
};

/* === Reading ============================================================ */

async function load() {
    loading?.abort();
    const mine = new AbortController();
    loading = mine;
    const { name, parameters } = place();
    const address = location.hash;
    const view = VIEWS[name];
    try {
        self ??= await get('self', {}, mine.signal);
        const data = await view.load(parameters, mine.signal);
        if (mine === loading) {
            shown = { name, view, parameters, address, data, problem: null };
            loadedAt = performance.now();
            if (data?.reading) {
                takeReading(data.reading);
            }
        }
    } catch (error) {
        if (mine !== loading || error.name === 'AbortError') {
            return;
        }
        const same = shown.address === address;
        shown = {
            name,
            view,
            parameters,
            address,
            data: same ? shown.data : undefined,
            problem: error,
        };
        if (error.status === 401) {
            void giveToken();
        }
    }
    if (mine === loading) {
        loading = null;
        schedule();
    }
}

/* Another view: jobs that have ended go, and what was shown, unless it is of the same kind. */
async function arrive() {
    const { name, parameters } = place();
    for (const job of known.values()) {
        if (job.state !== 'running') {
            hidden.add(job.id);
        }
    }
    if (shown.name !== name) {
        shown = {
            name,
            view: VIEWS[name],
            parameters,
            address: location.hash,
            data: undefined,
            problem: null,
        };
        draw();
        scrollTo(0, 0);
        document.querySelector('main').focus({ preventScroll: true });
    }
    await load();
}

/* Is the view not being read, and was not read just now? */
function isTime() {
    return loading === null && performance.now() - loadedAt >= PACE_MS;
}

/* Reads the view again if its numbers follow the readings. */
async function follows() {
    if (!isTime() || !shown.view) {
        return;
    }
    if (shown.view.refresh === 'reading' || shown.problem) {
        await load();
    } else if (shown.view.refresh === 'dead' && shown.data) {
        const name = shown.data.topic;
        const found = await get('topics', { search: name, limit: 1000, points: 0 }).catch(
            () => null,
        );
        const count = found?.topics.find((other) => other.topic === name)?.dead;
        if (
            count !== undefined &&
            count !== shown.data.dead &&
            shown.data.topic === name &&
            isTime()
        ) {
            await load();
        }
    }
}

function takeReading(fresh) {
    reading = fresh;
    readAt = performance.now();
    if (fresh.at_ms !== null) {
        setNow(fresh.at_ms + fresh.age_ms);
    }
}

function takeJob(job) {
    const before = known.get(job.id);
    if (!before && unknownEnd?.id === job.id && job.state === 'running') {
        known.set(job.id, job);
        takeJob(unknownEnd);
        return;
    }
    if (before && before.state !== 'running' && job.state === 'running') {
        return; /* an answer that an event has overtaken */
    }
    known.set(job.id, job);
    if (job.state !== 'running' && before?.state === 'running') {
        void load();
    } else if (shown.name === 'jobs' && shown.data) {
        shown.data.jobs = [job, ...shown.data.jobs.filter((other) => other.id !== job.id)].sort(
            (one, other) => other.began_at_ms - one.began_at_ms,
        );
    }
}

function takeEvent(name, data) {
    if (name === 'reading') {
        takeReading(data);
        void follows();
    } else if (name === 'job' && (data.state === 'running' || known.has(data.id))) {
        takeJob(data);
    } else if (name === 'job') {
        unknownEnd = data;
    }
    schedule();
}

let unfollow = null;

function connect() {
    unfollow ??= follow(takeEvent, (problem) => {
        const again = stream !== null && problem === null;
        stream = problem;
        if (problem?.status === 401) {
            void giveToken();
        } else if (again) {
            void load();
        }
        schedule();
    });
}

function disconnect() {
    unfollow?.();
    unfollow = null;
}

/* A page that nobody sees takes no connection: browsers have six for a server. */
let leaving = null;
document.addEventListener('visibilitychange', () => {
    clearTimeout(leaving);
    if (document.hidden) {
        leaving = setTimeout(disconnect, HIDDEN_MS);
    } else if (unfollow === null) {
        connect();
        void load();
    }
});

/* === The token ========================================================== */

async function begin() {
    self = null;
    disconnect();
    connect();
    await load();
    const found = self && (await get('jobs').catch(() => null));
    found?.jobs.filter((job) => job.state === 'running').forEach(takeJob);
    schedule();
}

async function giveToken() {
    if (asking) {
        return;
    }
    asking = true;
    const answer = await ask(
        token.get() ? 'The token is not right' : 'Token',
        [
            el(
                'p',
                {},
                'The first line of the file that slotmq serve was given by --token-file, or its variable SLOTMQ_SERVE_TOKEN. ',
                'It is kept for this tab, until that is closed.',
            ),
            field('Token', 'token', {
                type: 'password',
                required: true,
                autocomplete: 'current-password',
            }),
        ],
        'Go on',
    );
    asking = false;
    if (answer) {
        token.set(answer.token.value.trim());
        await begin();
    }
}

function dropToken() {
    token.drop();
    void begin();
}

/* === What is said ======================================================= */

function say(words, kind = '') {
    clearTimeout(said?.timer);
    said = {
        words,
        kind,
        timer: setTimeout(() => {
            said = null;
            schedule();
        }, SAID_MS),
    };
    schedule();
}

function fail(error) {
    if (error.status === 401) {
        void giveToken();
    }
    say(error instanceof Problem ? error.message : String(error), 'bad');
}

/* === Drawing ============================================================ */

function status() {
    if (stream) {
        return ['bad', `${stream.message}; trying again`];
    }
    if (!reading) {
        return ['', 'reading'];
    }
    const old = reading.at_ms === null ? null : reading.age_ms + performance.now() - readAt;
    if (reading.code !== 'SMQ_OK') {
        return [
            'bad',
            old === null
                ? 'Redis cannot be read'
                : `Redis cannot be read; numbers are ${age(old - (old % 1000))} old`,
        ];
    }
    return old === null
        ? ['', 'reading']
        : ['good', `read ${old < 1000 ? 'now' : `${age(old - (old % 1000))} ago`}`];
}

function statusTitle() {
    return reading?.at_ms
        ? `A round of readings ended at ${clock(reading.at_ms)} and took ${age(reading.round_ms)}.`
        : null;
}

function head() {
    const running = [...known.values()].filter((job) => job.state === 'running').length;
    const own = TABS.some(([name]) => name === shown.name) && !shown.parameters.has('topic');
    const current = own ? shown.name : 'topics';
    const [kind, words] = status();
    return el(
        'header',
        { class: 'head' },
        el('a', { class: 'brand', href: link('topics') }, 'slotmq'),
        el(
            'nav',
            { 'aria-label': 'Views' },
            TABS.filter(([name]) => name !== 'fleet' || page.self.zookeeper).map(([name, label]) =>
                el(
                    'a',
                    {
                        href: link(name),
                        key: name,
                        'aria-current': name === current ? 'page' : null,
                    },
                    label,
                    name === 'jobs' &&
                        running > 0 &&
                        el('span', { class: 'badge accent' }, String(running)),
                ),
            ),
        ),
        el(
            'div',
            { class: 'end' },
            el('span', { class: `status ${kind}`, id: 'status', title: statusTitle() }, words),
            token.get()
                ? button('Forget token', dropToken, { class: 'quiet' })
                : page.self.token && button('Token', giveToken, { class: 'quiet' }),
            button('?', help, { class: 'quiet', 'aria-label': 'Keys' }),
        ),
    );
}

function body() {
    const { view, data, parameters, problem } = shown;
    if (data === undefined) {
        return problem ? notice(problem.message, 'bad') : notice('Reading…', 'soft');
    }
    return view.render(data, parameters, page);
}

function draw() {
    drawing = false;
    const { view, data, problem, parameters } = shown;
    document.title = view ? `${view.title(parameters)} · slotmq` : 'slotmq';
    const late =
        reading &&
        reading.code !== 'SMQ_OK' &&
        notice([el('b', {}, 'Redis cannot be read: '), reading.detail], 'bad');
    const failed =
        problem &&
        data !== undefined &&
        notice([el('b', {}, 'This is as it was read last: '), problem.message], 'bad');
    const strips = strip(
        [...known.values()].filter((job) => !hidden.has(job.id)).reverse(),
        page,
        (id) => {
            hidden.add(id);
            schedule();
        },
    );
    const root = document.getElementById('app');
    renew(
        root,
        el(
            'div',
            { id: 'app' },
            el(
                'a',
                {
                    class: 'skip',
                    href: '#main',
                    onclick: (event) => {
                        event.preventDefault();
                        document.querySelector('main').focus();
                    },
                },
                'To the content',
            ),
            head(),
            el(
                'main',
                { tabindex: -1, class: problem ? 'old' : '', 'data-view': shown.name },
                late,
                failed,
                strips,
                el('div', { class: 'view', key: shown.name }, body()),
            ),
            el(
                'div',
                { class: 'said', role: 'status' },
                said && el('p', { class: said.kind }, said.words),
            ),
        ),
    );
}

let drawing = false;

function schedule() {
    if (!drawing) {
        drawing = true;
        requestAnimationFrame(draw);
    }
}

/* Each second the page shows how old the reading is, also when nothing else changes. */
setInterval(() => {
    const box = document.getElementById('status');
    if (box && !document.hidden) {
        const [kind, words] = status();
        box.className = `status ${kind}`;
        box.textContent = words;
    }
}, 1000);

/* === Keys =============================================================== */

function help() {
    const keys = [
        ...TABS.map(([, label, key]) => [key, label]),
        ['/', 'Search'],
        ['r', 'Read again'],
        ['n, p', 'Next row, row before'],
        ['Enter', 'Open it'],
        ['?', 'This list'],
    ];
    void ask(
        'Keys',
        el(
            'dl',
            { class: 'facts keys' },
            keys.map(([key, what]) => [el('dt', {}, el('kbd', {}, key)), el('dd', {}, what)]),
        ),
        null,
    );
}

/* The link of the next row, or of the one before. */
function step(by) {
    const rows = [...document.querySelectorAll('main a.go')];
    const at = rows.indexOf(document.activeElement);
    rows[
        at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))
    ]?.focus();
}

document.addEventListener('keydown', (event) => {
    if (
        event.ctrlKey ||
        event.altKey ||
        event.metaKey ||
        event.target.closest('input, textarea, select, dialog')
    ) {
        return;
    }
    const tab = TABS.find(([, , key]) => key === event.key);
    const keys = {
        '/': () => document.getElementById('search')?.focus(),
        r: () => load(),
        n: () => step(1),
        p: () => step(-1),
        '?': help,
    };
    if (tab) {
        page.go(tab[0]);
    } else if (Object.hasOwn(keys, event.key)) {
        keys[event.key]();
    } else {
        return;
    }
    event.preventDefault();
});

addEventListener('hashchange', arrive);
shown = { ...shown, ...place(), view: VIEWS[place().name], address: location.hash };
draw();
void begin();
