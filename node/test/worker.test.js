// worker.test.js - what a worker does with jobs, and how it ends.
'use strict';
const assert = require('node:assert');
const { execFileSync } = require('node:child_process');
const path = require('node:path');
const { Client, Queue, Worker, test, connection, unique, queueOf, workerOf, events, until, run, ...slotmq } = require('./help.js');
const { native } = require('../lib/native.js');

const LIBRARY = JSON.stringify(path.resolve(__dirname, '../lib/index.js'));

test('a job is handled, and what fails comes again', async (t) => {
    const queue = await queueOf(t);
    const tries = [];
    const worker = workerOf(t, queue, async (job) => {
        tries.push([job.data, job.attempt, job.retriesLeft]);
        if (job.attempt < 3) {
            throw new Error(`try ${job.attempt}`);
        }
        return job.key;
    });
    const failed = events(worker, 'failed', 2), completed = events(worker, 'completed', 1);
    await queue.add({ n: 1 }, { key: 'k', attempts: 3 });
    const [[job, result]] = await completed;
    assert.deepStrictEqual([result, job.queueName, job.answered], ['k', queue.name, true]);
    assert.deepStrictEqual((await failed).map(([, error]) => error.message), ['try 1', 'try 2']);
    assert.deepStrictEqual(tries, [[{ n: 1 }, 1, 2], [{ n: 1 }, 2, 1], [{ n: 1 }, 3, 0]]);
});

const ENDS = {
    'is done when its handler returns': [() => 5, ['completed']],
    'is done by a call': [(job) => job.done(), []],
    'is dead by a call': [(job) => job.reject('why'), ['dead']],
    'is dead after an unrecoverable error': [() => { throw new slotmq.UnrecoverableError('why'); }, ['failed', 'dead']],
    'is dead after such an error of BullMQ': [() => { throw Object.assign(new Error('why'), { name: 'UnrecoverableError' }); }, ['failed', 'dead']],
    'may be released': [(job) => job.attempt === 1 && !job.redelivered && job.release({ delay: 3600000 }), ['resting']],
    'may rest': [(job) => job.retry({ delay: 3600000, reason: 'why' }), ['resting']],
    'has one answer': [(job) => { job.done(); job.retry(); }, ['failed']],
};

test('a job', async (t) => {
    for (const [name, [handler, wanted]] of Object.entries(ENDS)) {
        await t.test(name, async (t) => {
            const queue = await queueOf(t), seen = [];
            const worker = workerOf(t, queue, handler);
            for (const event of ['completed', 'failed', 'dead', 'lost', 'error']) {
                worker.on(event, () => seen.push(event));
            }
            await queue.add('x');
            const stats = await until(async () => {
                const found = await queue.stats();
                return found.done + found.dead + found.resting > 0 && found;
            });
            await worker.close();
            assert.deepStrictEqual(seen.concat(stats.resting > 0 ? 'resting' : []).sort(), [...wanted].sort());
        });
    }
});

const LONG = '0123456789abcdef'.repeat(4);
// Events name them cut and escaped.
const IDS = [`${LONG}1`, `${LONG}2`, 'müller', 'a\\b'];

const aborted = (signal) => new Promise((resolve) => signal.addEventListener('abort', resolve));

test('a dead letter is that of its job, whatever the id', async (t) => {
    const queue = await queueOf(t, { topic: { slots: 1 } });
    const worker = workerOf(t, queue, () => { throw new Error('why'); }, { concurrency: 4 });
    const dead = events(worker, 'dead', IDS.length);
    await queue.addBulk(IDS.map((id) => ({ body: id, id, attempts: 1 })));
    assert.deepStrictEqual((await dead).map(([{ id, job, error }]) => [id, job?.data, error?.message]).sort(), IDS.map((id) => [id, id, 'why']).sort());
    await worker.close();
    const rejects = workerOf(t, queue, (job) => job.reject('why'));
    const rejected = events(rejects, 'dead', 1);
    await queue.add('x', { id: IDS[0] + 'x' });
    assert.deepStrictEqual((({ id, job, error }) => [id, job?.data, error])((await rejected)[0][0]), [IDS[0] + 'x', 'x', undefined]);
});

test('the signal of a job is aborted when its time is over, whatever the id', async (t) => {
    const queue = await queueOf(t, { topic: { slots: 1 } });
    const worker = workerOf(t, queue, (job) => aborted(job.signal).then(() => { throw job.signal.reason; }),
        { concurrency: 4, handlerTimeoutMs: 100 });
    const lost = events(worker, 'lost', IDS.length), dead = events(worker, 'dead', IDS.length);
    await queue.addBulk(IDS.map((id) => ({ body: id, id, attempts: 1 })));
    assert.deepStrictEqual((await lost).map(([job, error]) => [job.id, job.signal.reason.code, error.code]).sort(),
        IDS.map((id) => [id, 'LEASE_LOST', 'LEASE_LOST']).sort());
    assert.deepStrictEqual((await dead).map(([{ id, reason }]) => [id, reason]).sort(), IDS.map((id) => [id, 'its handler took too long']).sort());
});

test('the signal of a job is aborted when it is first read after the loss', async (t) => {
    const queue = await queueOf(t), client = new Client(connection);
    const overdue = new Promise((resolve) => client.on('event', (event) => event.id === 'overdue' && resolve()));
    const worker = new Worker(queue.name, (job) => overdue.then(() => job.signal.aborted), { connection: client, topic: false, handlerTimeoutMs: 100 });
    t.after(() => worker.close().then(() => client.close()));
    const lost = events(worker, 'lost', 1);
    await queue.add('x', { attempts: 1 });
    const [[job]] = await lost;
    assert.deepStrictEqual([job.signal.aborted, job.signal.reason.code], [true, 'LEASE_LOST']);
});

// What Redis says to a command of its own.
function redis(...words) {
    const [host, port] = connection.split(',')[0].split(':');
    return execFileSync('redis-cli', ['-c', '-h', host, '-p', port, ...words], { env: { ...process.env, LD_PRELOAD: '' } }).toString();
}

test('the signals of the jobs of a slot are aborted when it has another owner', async (t) => {
    const queue = await queueOf(t, { topic: { shared: false, slots: 1, leaseMs: 1000 } });
    const worker = workerOf(t, queue, (job) => aborted(job.signal), { concurrency: 2 });
    const active = events(worker, 'active', 2), lost = events(worker, 'lost', 2);
    await queue.addBulk([{ body: 1 }, { body: 2 }]);
    const [[job]] = await active;
    redis('HSET', `slot{${queue.name}_0}`, 'token', `f${job.token.slice(1)}`);
    assert.deepStrictEqual((await lost).map(([{ data, signal }]) => [data, signal.reason.code]).sort(), [[1, 'FENCED'], [2, 'FENCED']]);
});

test('the signals of the jobs of slots with an owner are aborted when the session ends', async (t) => {
    const root = `/${unique('root')}`, client = new Client({ redis: connection, root, sessionTimeoutMs: 2000 });
    const queues = await Promise.all([queueOf(t, { topic: { shared: false, slots: 1 } }), queueOf(t)]);
    let open;
    const shared = new Promise((resolve) => (open = resolve));
    const workers = queues.map((queue) => new Worker(queue.name, (job) => Promise.race([aborted(job.signal), shared]),
        { connection: client, topic: false }));
    t.after(() => Promise.all(workers.map((worker) => worker.close())).then(() => client.close()));
    const active = workers.map((worker) => events(worker, 'active', 1));
    await Promise.all(queues.map((queue) => queue.add(1)));
    await Promise.all(active);
    const lost = events(workers[0], 'lost', 1), completed = events(workers[1], 'completed', 1);
    const tree = `tree{slotmq:${root}}`;
    const end = () => redis('HDEL', tree, 's:', ...redis('HKEYS', tree).split('\n').filter((name) => name.startsWith('s:')));
    // A fleet that has just begun takes a session back.
    const [[job]] = await until(() => Promise.race([lost, new Promise(setImmediate).then(end).then(() => undefined)]));
    assert.strictEqual(job.signal.reason.code, 'LEASE_LOST');
    open();
    assert.strictEqual((await completed)[0][0].signal.aborted, false);
});

test('so many handlers run at once, also after a change', async (t) => {
    const queue = await queueOf(t);
    let running = 0, most = 0;
    const gates = [];
    const worker = workerOf(t, queue, async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => gates.push(resolve));
        running -= 1;
    }, { concurrency: 5 });
    const completed = events(worker, 'completed', 40);
    await queue.addBulk(Array.from({ length: 40 }, (_, body) => ({ body })));
    await until(() => new Promise(setImmediate).then(() => gates.length === 5));
    worker.concurrency = 8;
    await until(() => new Promise(setImmediate).then(() => gates.length > 5));
    worker.on('active', (job) => setImmediate(() => gates.splice(0).forEach((open) => open())));
    gates.splice(0).forEach((open) => open());
    await completed;
    assert.ok(most > 5 && most <= 8, `${most}`);
});

test('a concurrency that is set begins nothing, and counts when the worker runs', async (t) => {
    const queue = await queueOf(t), other = await queueOf(t);
    const gates = [];
    const worker = workerOf(t, queue, () => new Promise((resolve) => gates.push(resolve)), { autorun: false });
    const active = [];
    worker.on('active', (job) => active.push(job));
    worker.concurrency = 3;
    await queue.addBulk(Array.from({ length: 3 }, (_, body) => ({ body })));
    const completed = events(workerOf(t, other, () => {}), 'completed', 1); // it has time to begin
    await other.add(1);
    await completed;
    assert.strictEqual(active.length, 0);
    for (const wrong of [-1, 2 ** 32, 1.5]) {
        assert.throws(() => { worker.concurrency = wrong; }, /concurrency must be/);
    }
    worker.run();
    await until(() => new Promise(setImmediate).then(() => gates.length === 3));
    gates.forEach((open) => open());
});

test('a worker without room polls as often as its gap wants, in whatever unit', async (t) => {
    const queue = await queueOf(t), timers = t.mock.method(globalThis, 'setInterval');
    let open;
    const worker = workerOf(t, queue, () => new Promise((resolve) => (open = resolve)), { maxPollGapMs: '10m' });
    const active = events(worker, 'active', 1);
    await queue.add(1);
    await active;
    const [call] = await until(() => new Promise(setImmediate).then(() => timers.mock.calls.length > 0 && timers.mock.calls));
    assert.strictEqual(call.arguments[1], 200000);
    open();
});

test('a limit holds for several queues', async (t) => {
    const client = new Client(connection);
    const limit = client.limit(3), queues = [await queueOf(t), await queueOf(t)];
    let running = 0, most = 0;
    const workers = queues.map((queue) => new Worker(queue.name, async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise(setImmediate);
        running -= 1;
    }, { connection: client, topic: false, concurrency: 10, limit }));
    const completed = workers.map((worker) => events(worker, 'completed', 50));
    await Promise.all(queues.map((queue) => queue.addBulk(Array.from({ length: 50 }, (_, body) => ({ body })))));
    await Promise.all(completed);
    assert.ok(most <= 3 && most > 0, `${most}`);
    await limit.set(1);
    await Promise.all(workers.map((worker) => worker.close()));
    await client.close();
    const other = new Worker(queues[0].name, () => {}, { connection, limit });
    const [[error]] = await events(other, 'error', 1);
    assert.match(error.message, /a limit must be of the client/);
});

test('a worker that is idle does not wake the loop', async (t) => {
    const queue = await queueOf(t), wakes = new Map(), { watch } = native;
    t.mock.method(native, 'watch', (handle, callback) => watch(handle, () => {
        wakes.set(handle, (wakes.get(handle) ?? 0) + 1);
        callback();
    }));
    const worker = workerOf(t, queue, () => {}, { concurrency: 100 });
    const completed = events(worker, 'completed', 1000);
    await queue.addBulk(Array.from({ length: 1000 }, (_, body) => ({ body })));
    await completed;
    await until(async () => (await queue.stats()).done === 1000);
    const before = wakes.get(worker._handle);
    const sender = new Queue(unique('other'), { connection });
    for (let i = 0; i < 50; i++) {
        await sender.add(i); // time passes, and nothing comes for the worker
    }
    await sender.close();
    assert.strictEqual(wakes.get(worker._handle) - before, 0);
    assert.ok(before <= 1000, `${before} wakes for 1000 jobs`);
});

test('close waits for the handlers that run, and gives back the rest', async (t) => {
    const queue = await queueOf(t);
    let open;
    const gate = new Promise((resolve) => (open = resolve));
    const worker = workerOf(t, queue, () => gate, { concurrency: 2 });
    const active = events(worker, 'active', 2);
    await queue.addBulk(Array.from({ length: 5 }, (_, body) => ({ body })));
    await active;
    const closed = worker.close();
    open();
    await closed;
    const { done, claimed, waiting } = await queue.stats();
    assert.deepStrictEqual([done, claimed, waiting], [2, 0, 3]);
    await worker.close();
});

test('close by force leaves jobs to others', async (t) => {
    const queue = await queueOf(t, { topic: { leaseMs: 1000 } });
    const worker = workerOf(t, queue, () => new Promise(() => {}), { concurrency: 2 });
    const active = events(worker, 'active', 2);
    await queue.addBulk([{ body: 1 }, { body: 2 }]);
    await active;
    await worker.close(true);
    await events(workerOf(t, queue, () => {}), 'completed', 2);
});

test('a signal closes a worker, and an error ends it', async (t) => {
    const queue = await queueOf(t);
    const controller = new AbortController();
    const worker = workerOf(t, queue, () => {}, { signal: controller.signal });
    await worker.waitUntilReady();
    const closed = events(worker, 'closed', 1);
    controller.abort();
    await closed;
    const none = new Worker(unique('none'), () => {}, { connection, topic: false });
    const [[error]] = await events(none, 'error', 1);
    assert.strictEqual(error.code, 'NO_TOPIC');
    await none.close();
    const early = new Worker(queue.name, () => {}, { connection, signal: AbortSignal.abort() });
    await events(early, 'closed', 1);
    assert.throws(() => new Worker('x', 'file.js'), /a handler must be a function/);
    assert.throws(() => new Worker('x', () => {}, { concurrency: 0 }), /concurrency must be 1 or more/);
});

test('the process ends when its objects are closed, and lives until then', async () => {
    const queue = unique('process');
    const { code, said } = await run(`
        const { Queue, Worker } = require(${LIBRARY});
        const queue = new Queue(process.argv[1], { connection: process.argv[2] });
        const worker = new Worker(queue.name, async (job) => job.data, { connection: process.argv[2] });
        worker.on('completed', async (job, result) => {
            await Promise.all([worker.close(), queue.close()]);
            console.log(result);
        });
        queue.add('handled');`, { words: [queue, connection] });
    assert.deepStrictEqual([code, said], [0, 'handled\n']);
    const sent = await run(`
        const { Queue } = require(${LIBRARY});
        new Queue(process.argv[1], { connection: process.argv[2] }).add(5).then(() => console.log('sent'));`, { words: [queue, connection] });
    assert.deepStrictEqual([sent.code, sent.said], [0, 'sent\n']);
});

test('what listeners and handlers throw ends as in Node.js', async () => {
    const program = (listener) => `
        const { Queue, Worker } = require(${LIBRARY});
        const queue = new Queue(process.argv[1], { connection: process.argv[2] });
        const worker = new Worker(queue.name, async (job) => 5, { connection: process.argv[2] });
        worker.on('completed', () => { throw new Error('of a listener'); });
        ${listener}
        queue.add('x');`;
    const words = [unique('throws'), connection];
    const ended = await run(program(''), { words });
    assert.strictEqual(ended.code, 1);
    assert.match(ended.said, /Error: of a listener/);
    const caught = await run(program(`process.on('uncaughtException', async (error) => {
        await Promise.all([worker.close(), queue.close()]);
        console.log('caught', error.message);
    });`), { words: [unique('throws'), connection] });
    assert.deepStrictEqual([caught.code, caught.said], [0, 'caught of a listener\n']);
});

test('a thread of its own sends and handles, and may be ended at any time', async () => {
    const { code, said } = await run(`
        const { Worker: Thread, isMainThread, workerData, parentPort } = require('node:worker_threads');
        const { Queue, Worker } = require(${LIBRARY});
        const begin = async ([name, connection]) => {
            const queue = new Queue(name, { connection });
            const worker = new Worker(name, async () => new Promise(() => {}), { connection, concurrency: 3 });
            worker.on('active', () => parentPort?.postMessage('active'));
            await queue.addBulk([{ body: 1 }, { body: 2 }, { body: 3 }]);
        };
        if (!isMainThread) {
            begin(workerData);
        } else {
            (async () => {
                for (let i = 0; i < 4; i++) {
                    const thread = new Thread(process.env.PROGRAM, { eval: true, workerData: process.argv.slice(1) });
                    await new Promise((resolve) => thread.once('message', resolve));
                    await thread.terminate();
                }
                console.log('ended');
            })();
        }`, { words: [unique('threads'), connection], input: undefined, env: { PROGRAM: `
            const { workerData, parentPort } = require('node:worker_threads');
            const { Queue, Worker } = require(${LIBRARY});
            const [name, connection] = workerData;
            const queue = new Queue(name, { connection });
            const worker = new Worker(name, async () => new Promise(() => {}), { connection, concurrency: 3 });
            worker.on('active', () => parentPort.postMessage('active'));
            queue.addBulk([{ body: 1 }, { body: 2 }, { body: 3 }]);` } });
    assert.deepStrictEqual([code, said], [0, 'ended\n']);
});

test('process.exit() ends at once, whatever is open', async () => {
    const { code, said } = await run(`
        const { Queue, Worker } = require(${LIBRARY});
        const [, name, connection] = process.argv;
        const queue = new Queue(name, { connection });
        new Worker(name, () => process.exit(7), { connection });
        queue.addBulk(Array.from({ length: 100 }, (_, body) => ({ body })));`, { words: [unique('exit'), connection] });
    assert.deepStrictEqual([code, said], [7, '']);
});

test('modules of ECMAScript have the same names', async () => {
    const found = await import('slotmq');
    assert.deepStrictEqual(Object.keys(found).filter((name) => name !== 'default').sort(), Object.keys(slotmq.slotmq).sort());
    assert.strictEqual(found.Queue, Queue);
});
