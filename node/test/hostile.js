// hostile.js - random applications that do what an application must not do, and a judge of what they leave behind.
//
// usage: node hostile.js [--count N] [--seed SEED] with the address of a cluster in SLOTMQ_TEST_CLUSTER
//
// Each application follows from its number: its form, and what its handler does with each job when that comes first, as
// names of the tables below.  One that fails is printed, and runs again with --seed NUMBER --count 1.  Afterwards
//   - the topic has claimed only the jobs whose handlers never end,
//   - every call has returned, close() too, and no job is lost,
//   - nothing was thrown that the application has not thrown.
'use strict';
const { spawn } = require('node:child_process');
const { Queue, Worker, Consumer, Client, UnrecoverableError } = require('../lib/index.js');

process.env.UV_THREADPOOL_SIZE = '64'; // for calls to servers that do not answer, which wait there
const connection = process.env.SLOTMQ_TEST_CLUSTER;
const BOUND_MS = 120000; // what takes so long hangs, on whatever machine
const AT_ONCE = 25;
const DRAIN_MS = 500;
const FORMS = ['worker', 'worker', 'worker', 'consumer', 'process'];

class Wild extends Error {
    get message() { throw new Error('no text'); }
}
const trap = () => { throw new Error('a trap'); };
const THROWN = {
    undefined, null: null, false: false, number: 5, symbol: Symbol('s'), text: 'broken', nul: 'a\0b', half: '\ud83d', long: 'x'.repeat(1 << 20),
    error: new Error('broken'), halves: new Error('\ud83d'.repeat(500)), lines: new Error('a\r\n\x1b[31m\u202e'), wild: new Wild(),
    bare: Object.create(null), silent: { toString: trap }, proxy: new Proxy({}, { get: trap }), named: Object.defineProperty({}, 'name', { get: trap }),
    frozen: Object.freeze(new Error('frozen')), unrecoverable: new UnrecoverableError('final'), function: () => 0, bigint: 5n, promise: Promise.resolve(5),
};
const GIVEN = {
    none: undefined, null: null, number: 5, below: -77, fraction: 1.5, nan: NaN, infinite: Infinity, huge: 2 ** 60, text: '5', symbol: Symbol('s'), bigint: 5n,
    object: {}, array: [1, 2], date: new Date(8.64e15), bad: new Date(NaN), half: '\ud83d', nul: 'a\0', buffer: Buffer.of(0), long: 'x'.repeat(3 << 20),
    empty: '', view: new DataView(new ArrayBuffer(3)), shared: new Uint8Array(new SharedArrayBuffer(3)), proxy: new Proxy({}, { get: trap }), function: () => 0,
    circle: (() => { const circle = {}; circle.circle = circle; return circle; })(), detached: (() => {
        const array = new Uint8Array(8);
        structuredClone(array.buffer, { transfer: [array.buffer] });
        return array;
    })(),
};
const VERDICTS = ['done', 'retry', 'reject', 'release'];
const EVENTS = ['active', 'completed', 'failed', 'dead', 'lost', 'ready', 'closed'];

function answer(job, verdict, value) {
    return verdict === 'reject' ? job.reject(value) : job[verdict]({ delay: value, reason: value });
}

// What a handler does: (program, job, ...words of the tables).
const DEEDS = {
    fail: [[THROWN], (_, __, what) => { throw THROWN[what]; }],
    reject: [[THROWN], (_, __, what) => Promise.reject(THROWN[what])],
    give: [[GIVEN], (_, __, what) => GIVEN[what]],
    thenable: [[{ throws: 0, rejects: 0, twice: 0 }], (_, __, how) => ({ then(resolve, refuse) {
        return how === 'throws' ? trap() : how === 'rejects' ? refuse(null) : [resolve(1), resolve(2), refuse(3)];
    } })],
    answer: [[VERDICTS, GIVEN], (_, job, verdict, value) => answer(job, verdict, GIVEN[value])],
    twice: [[VERDICTS, VERDICTS], (_, job, one, other) => { answer(job, one); answer(job, other); }],
    late: [[VERDICTS], (_, job, verdict) => { setImmediate(() => { try { answer(job, verdict); } catch { /* too late */ } }); }],
    forever: [[{ once: 0 }], (program) => { program.kept += 1; return new Promise(() => {}); }],
    send: [[['body', 'key', 'id', 'headers', 'priority', 'delay', 'dueAt', 'ttl', 'attempts', 'signal'], GIVEN], (program, _, field, value) => {
        const { body = 'x', ...options } = { [field]: GIVEN[value] };
        return program.other.add(body, options);
    }],
    bulk: [[GIVEN], (program, _, value) => program.other.addBulk([{ body: 1 }, GIVEN[value], { body: GIVEN[value] }])],
    ask: [[['getJob', 'remove', 'rank', 'reschedule', 'clean', 'jobs', 'alter', 'removeJobScheduler', 'upsertJobScheduler', 'requeueDead'], GIVEN],
        async (program, _, name, value) => {
            const found = program.other[name](GIVEN[value], GIVEN[value], GIVEN[value]);
            return name === 'jobs' ? found.next() : found;
        }],
    open: [[['queue', 'worker', 'client', 'consumer'], GIVEN], async (program, _, what, value) => {
        const Made = { queue: Queue, worker: Worker, client: Client, consumer: Consumer }[what];
        const made = new Made(...(what === 'client' ? [GIVEN[value]] : what === 'worker' ? [program.other.name, GIVEN[value], GIVEN[value]]
            : [program.other.name, GIVEN[value]]));
        made.on?.('error', () => {});
        program.opened.push(made);
    }],
    read: [[['data', 'headers', 'signal', 'token', 'body']], (_, job, name) => { job.done(); job.body.fill(0); return job[name]; }],
    write: [[GIVEN], (_, job, value) => { 'use strict'; job.answered = GIVEN[value]; }],
    listen: [[EVENTS, THROWN], (program, _, event, thrown) => program.worker?.once(event, () => { program.thrown.push(THROWN[thrown]); throw THROWN[thrown]; })],
    end: [[['close', 'wait', 'force', 'queue', 'twice', 'concurrency']], async (program, _, how) => {
        program.ends = true;
        const worker = program.worker ?? program.consumer;
        ({ close: () => { worker.close(); }, wait: () => worker.close(), force: () => { worker.close(true); }, queue: () => { program.other.close(); },
            twice: () => { worker.close(); worker.close(true); }, concurrency: () => { worker.concurrency = 0; } })[how]();
    }],
};
const ALONE = { leave: [[['exit', 'kill', 'abort', 'uncaught', 'unhandled']], (_, __, how) => ({
    exit: () => process.exit(0), kill: () => process.kill(process.pid, 'SIGKILL'), abort: () => process.abort(),
    uncaught: () => { setImmediate(trap); }, unhandled: () => { Promise.reject(new Error('nobody')); } })[how]()] };

// Numbers that follow from a seed.
function chance(seed) {
    let state = seed >>> 0;
    return (below) => {
        state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
        return ((state ^ (state >>> 13)) >>> 0) % below;
    };
}

function described(number) {
    const next = chance(number * 7919 + 17);
    const one = (table) => { const names = Array.isArray(table) ? table : Object.keys(table); return names[next(names.length)]; };
    const form = one(FORMS);
    const deed = (table) => { const name = one(table); return [name, ...table[name][0].map(one)]; };
    const deeds = Array.from({ length: 1 + next(8) }, () => deed(DEEDS));
    if (form === 'process') {
        deeds.push(deed(ALONE));
    }
    return { number, form, concurrency: 1 + next(4), deeds };
}

async function bounded(promise, what) {
    let timer;
    const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(`${what} has not ended after ${BOUND_MS} ms`)), BOUND_MS)));
    await Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function until(condition, what) {
    for (const end = Date.now() + BOUND_MS; !(await condition());) {
        if (Date.now() > end) {
            throw new Error(`${what()} after ${BOUND_MS} ms`);
        }
    }
}

class Program {
    kept = 0;
    ends = false;
    opened = [];
    thrown = [];
    seen = new Set();

    constructor(description) {
        this.description = description;
        this.other = new Queue(`${description.topic}-other`, { connection, topic: { slots: 1 } });
    }

    // Do the deed of a job, when it comes first.
    handle(job) {
        const [name, ...words] = this.description.deeds[job.data];
        if (this.seen.has(job.data)) {
            return undefined;
        }
        this.seen.add(job.data);
        return { ...DEEDS, ...ALONE }[name][1](this, job, ...words);
    }

    begin() {
        const { topic, form, concurrency } = this.description;
        const options = { connection, topic: false, drainTimeoutMs: DRAIN_MS };
        if (form !== 'consumer') {
            this.worker = new Worker(topic, (job) => this.handle(job), { ...options, concurrency });
            this.worker.on('error', () => {});
        } else {
            this.consumer = new Consumer(topic, options);
            this.loop();
        }
    }

    // Each job by itself, as a worker does.
    async loop() {
        for await (const job of this.consumer) {
            Promise.resolve().then(() => this.handle(job)).catch(() => {}).then(() => job.answered === true || job.done()).catch(() => {});
        }
    }

    async end() {
        await bounded(Promise.all([this.worker?.close(), this.consumer?.close(), this.other.close()]), 'close()');
        await bounded(Promise.all(this.opened.map((one) => one.close().catch(() => {}))), 'another close()');
    }
}

const said = ({ waiting, claimed, resting, dead, done }) => `waiting ${waiting}, claimed ${claimed}, resting ${resting}, dead ${dead}, done ${done}`;

async function judge(description, admin) {
    const program = new Program(description);
    program.begin();
    let stats;
    await until(async () => {
        stats = await admin.stats();
        return program.ends || program.kept >= (program.worker?.concurrency ?? Infinity) ||
            (stats.claimed <= program.kept && stats.waiting === 0);
    }, () => `${said(stats)}, ${program.kept} never end`);
    await program.end();
}

async function judgeProcess(description) {
    const child = spawn(process.execPath, [__filename, '--alone', JSON.stringify(description)], { stdio: ['ignore', 'pipe', 'pipe'] });
    const lines = [];
    child.stdout.on('data', (data) => lines.push(data));
    child.stderr.on('data', (data) => lines.push(data));
    const [code, signal] = await new Promise((resolve) => child.once('close', (...how) => resolve(how)));
    if (signal && signal !== 'SIGKILL' && signal !== 'SIGABRT') {
        throw new Error(`the process has ended by ${signal}: ${lines.join('')}`);
    }
    if (lines.join('').includes('WRONG')) {
        throw new Error(`the process has ended with ${code}: ${lines.join('')}`);
    }
}

// Another consumer gets what the application has left, and no job is lost.
async function drain({ topic, deeds }, admin) {
    const worker = new Worker(topic, () => {}, { connection, topic: false, concurrency: 100 });
    let stats;
    try {
        await until(async () => {
            stats = await admin.stats();
            return stats.waiting + stats.claimed === 0;
        }, () => `another worker finds ${said(stats)}`);
    } finally {
        await worker.close();
    }
    if (stats.done + stats.dead + stats.resting !== deeds.length) {
        throw new Error(`${deeds.length} were sent: ${said(stats)}`);
    }
}

let made = 0;
async function failed(description) {
    const own = { ...description, topic: `hostile-${process.pid}-${++made}` };
    const admin = new Queue(own.topic, { connection, topic: { slots: 1, backoff: 'none', leaseMs: 500 } });
    try {
        await admin.addBulk(own.deeds.map((_, body) => ({ body })));
        await (own.form === 'process' ? judgeProcess(own) : judge(own, admin));
        await drain(own, admin);
        return undefined;
    } catch (wrong) {
        return wrong;
    } finally {
        await admin.close();
    }
}

// What listeners throw, and promises that the application leaves alone, are its own; nothing of lib/ may come here.
function watch(found) {
    for (const event of ['uncaughtException', 'unhandledRejection']) {
        process.on(event, (error) => {
            let stack = '';
            try { stack = String(error?.stack); } catch { /* of the application */ }
            if (/TypeError|ReferenceError|RangeError/.test(stack.split('\n')[0]) && /node\/lib\//.test(stack.split('\n')[1] ?? '')) {
                found.push(stack);
            }
        });
    }
}

async function runAll(seed, count) {
    const wrong = [];
    watch(wrong);
    let next = seed, bad = 0;
    const one = async () => {
        while (next < seed + count) {
            const description = described(next++);
            const why = await failed(description);
            if (why) {
                bad += 1;
                console.log(`${why.stack}\n  of --seed ${description.number} --count 1: ${JSON.stringify(description)}`);
            }
        }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
    wrong.forEach((stack) => console.log(stack));
    console.log(`${count} applications from ${seed} on, ${bad + wrong.length} failed`);
    return bad + wrong.length;
}

// In a process of its own: what it throws ends it.
async function alone(description) {
    const admin = new Queue(description.topic, { connection, topic: false });
    try {
        await judge(description, admin);
        await admin.close();
    } catch (wrong) {
        console.log(`WRONG ${wrong.stack}`);
        process.exit(9);
    }
}

function option(name, otherwise) {
    const at = process.argv.indexOf(name);
    return at < 0 ? otherwise : process.argv[at + 1];
}

if (require.main === module) {
    const description = option('--alone');
    if (description) {
        alone(JSON.parse(description));
    } else {
        runAll(Number(option('--seed', Math.floor(Math.random() * 2 ** 30))), Number(option('--count', 100))).then((bad) => process.exit(bad ? 1 : 0));
    }
}
