// queue.test.js - sends, and what is asked of a queue and done with it.
'use strict';
const assert = require('node:assert');
const { Client, Queue, Worker, Consumer, test, connection, unique, queueOf, workerOf, events, until, collect, ...slotmq } = require('./help.js');

test('a job is stored as it was sent', async (t) => {
    const queue = await queueOf(t);
    const receipt = await queue.add({ order: 7, text: 'ü\u0000' }, { id: 'one', key: 'k', headers: { trace: 'a', raw: Buffer.of(0, 255) } });
    assert.deepStrictEqual([receipt.id, receipt.merged, typeof receipt.slot], ['one', false, 'number']);
    const job = await queue.getJob('one', { key: 'k' });
    assert.deepStrictEqual([job.data, job.key, job.state, job.attempt], [{ order: 7, text: 'ü\u0000' }, 'k', 'waiting', 0]);
    assert.deepStrictEqual(job.headers, { trace: Buffer.from('a'), raw: Buffer.of(0, 255) });
    await queue.add(1, { id: 'two', headers: JSON.parse('{ "__proto__": "a" }') });
    assert.deepStrictEqual(Object.entries((await queue.getJob('two')).headers), [['__proto__', Buffer.from('a')]]);
    assert.strictEqual((await queue.add({ order: 8 }, { id: 'one', key: 'k' })).merged, true);
    assert.strictEqual(await queue.getJob('three'), undefined);
    const bytes = Buffer.of(0, 1, 255, 0);
    const raw = await queue.add(bytes);
    const stored = await queue.getJob(raw.id);
    assert.deepStrictEqual(stored.body, bytes);
    assert.throws(() => stored.data, /is not JSON/);
});

test('many are sent at once, and an error names each that was not', async (t) => {
    const queue = await queueOf(t, { maxPending: 50, topic: { maxBody: 1000 } });
    const receipts = await queue.addBulk(Array.from({ length: 1000 }, (_, body) => ({ body, id: `n${body}` })));
    assert.strictEqual(new Set(receipts.map(({ id }) => id)).size, 1000);
    assert.deepStrictEqual((await queue.getJobCounts()).waiting, 1000);
    await assert.rejects(queue.addBulk([{ body: 'fits' }, { body: 'x'.repeat(2000) }]), (error) => {
        assert.ok(error instanceof slotmq.UsageError);
        assert.deepStrictEqual([error.code, error.name, typeof error.results[0].id], ['TOO_BIG', 'UsageError', 'string']);
        return true;
    });
    assert.deepStrictEqual(await queue.addBulk([]), []);
});

const BAD = [
    ['a body', () => [undefined], /a body must be/],
    ['a function as a body', () => [() => 0], /a body must be/],
    ['a body that refuses', () => [{ toJSON() { throw new Error('a trap'); } }], /a trap/],
    ['a circle', () => { const a = {}; a.a = a; return [a]; }, /circular/],
    ['a BigInt', () => [5n], /BigInt/],
    ['a name before the body', () => ['send', {}, { delay: 5 }], /it has no name/],
    ['an unknown option', () => [1, { delya: 5 }], /options of a job must be of key, id/],
    ['options that are none', () => [1, 5], /options of a job must be an object, not 5/],
    ['a key', () => [1, { key: 5 }], /key must be a Buffer or a text/],
    ['half a character', () => [1, { id: '\ud83d' }], /id must be/],
    ['a fraction', () => [1, { delay: 1.5 }], /delay must be a whole number, not 1.5/],
    ['no number', () => [1, { delay: NaN }], /delay must be a whole number, not NaN/],
    ['a symbol', () => [1, { ttl: Symbol('s') }], /ttl must be/],
    ['a negative delay', () => [1, { delay: -5 }], /delay/],
    ['attempts', () => [1, { attempts: 0 }], /attempts must be 1 or more/],
    ['too many attempts', () => [1, { attempts: 2 ** 32 }], /attempts must be 1 or more, and less than/],
    ['a header', () => [1, { headers: { a: 5 } }], /the header a must be/],
    ['the name of a header', () => [1, { headers: { 'a\0': 'b' } }], /the name of a header must be/],
    ['a proxy', () => [1, new Proxy({}, { get() { throw new Error('a trap'); }, ownKeys: () => ['key'],
        getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }) })], /a trap/],
];

test('what cannot be sent is refused, and names the argument', async (t) => {
    const queue = await queueOf(t);
    for (const [what, words, text] of BAD) {
        await assert.rejects(queue.add(...words()), (error) => text.test(error.message) || assert.fail(`${what}: ${error}`));
    }
    assert.throws(() => new Queue(5), /the name of a queue must be/);
    assert.throws(() => new Queue('x', { maxPending: {} }), /maxPending must be/);
    assert.throws(() => new Queue('x', 'x'.repeat(3 << 20)), /options of a queue must be an object/);
    assert.throws(() => new Consumer('x', 5), /options must be an object/);
    assert.throws(() => new Client({}), /redis must be/);
    assert.throws(() => queue.client.limit(2 ** 32), /a limit must be 0 or more, and less than/);
    await assert.rejects(queue.remove({}), /id must be/);
    await assert.rejects(queue.pauseJobScheduler(5), /id must be/);
    await assert.rejects(new Queue('a b', { connection }).add(1), (error) => error.code === 'INVALID');
    await assert.rejects(queueOf(t, { maxPendign: 5 }), /max_pending/);
    await assert.rejects(queueOf(t, { topic: { type: 'stack' } }), /stack/);
    assert.strictEqual((await queue.stats()).sent, 0);
});

test('errors have the class and the code of their status', async (t) => {
    const queue = new Queue(unique('none'), { connection, topic: false });
    t.after(() => queue.close());
    await assert.rejects(queue.add(1), { code: 'NO_TOPIC', name: 'UsageError' });
    const away = new Queue('away', { connection: { redis: '127.0.0.1:1', connectTimeoutMs: 200 } });
    await assert.rejects(away.add(1), (error) => error instanceof slotmq.RetryError && error instanceof slotmq.SlotmqError);
    await away.close();
    await assert.rejects(away.add(1), { code: 'CLOSED', name: 'FatalError' });
    await assert.rejects(away.stats(), { code: 'CLOSED' });
});

test('a signal ends the wait for a receipt', async (t) => {
    const queue = await queueOf(t);
    await assert.rejects(queue.add(1, { signal: AbortSignal.abort() }), { name: 'AbortError' });
    const controller = new AbortController();
    const sent = queue.add(2, { signal: controller.signal });
    controller.abort(new Error('enough'));
    await assert.rejects(sent, /enough/);
    await queue.add(3); // what was sent is not taken back
    assert.strictEqual((await queue.stats()).sent, 2);
});

test('an error has the results of its own call', async (t) => {
    const away = new Queue('away', { connection: { redis: '127.0.0.1:1', connectTimeoutMs: 200 } });
    t.after(() => away.close());
    const failed = await Promise.allSettled([away.addBulk([{ body: 1 }]), away.addBulk([{ body: 2 }, { body: 3 }]), away.add(4)]);
    assert.deepStrictEqual(failed.map(({ reason }) => [reason.name, reason.code, reason.results?.length]),
        [['RetryError', 'UNAVAILABLE', 1], ['RetryError', 'UNAVAILABLE', 2], ['RetryError', 'UNAVAILABLE', undefined]]);
});

test('a signal ends a call with its reason, whatever that is', async (t) => {
    const queue = await queueOf(t);
    for (const given of [Object.freeze(new Error('enough')), null, false]) {
        const controller = new AbortController();
        const { signal } = controller;
        const sent = Promise.allSettled([queue.add(1, { signal }), queue.addBulk([{ body: 2, signal }, { body: 3, signal }]), queue.addBulk([{ body: 4, signal }])]);
        controller.abort(given);
        assert.deepStrictEqual((await sent).map(({ status, reason }) => [status, reason === given]), Array(3).fill(['rejected', true]));
    }
    const ended = new Queue(queue.name, { connection, defaultJobOptions: { signal: AbortSignal.abort() } });
    t.after(() => ended.close());
    await assert.rejects(ended.add(1), { name: 'AbortError' });
    await assert.rejects(ended.addBulk([{ body: 1 }]), { name: 'AbortError' });
});

test('a send waits for room, with fullTimeoutMs so long at most', async (t) => {
    const queue = await queueOf(t, { maxPending: 1, fullTimeoutMs: 'forever' });
    assert.strictEqual((await queue.addBulk(Array.from({ length: 20 }, (_, body) => ({ body })))).length, 20);
    const brief = new Queue(queue.name, { connection, maxPending: 1, fullTimeoutMs: 0 });
    t.after(() => brief.close());
    const failure = await brief.addBulk(Array.from({ length: 10000 }, (_, body) => ({ body }))).catch((error) => error);
    assert.deepStrictEqual([failure.name, failure.code], ['RetryError', 'FULL']);
    const sent = failure.results.filter(({ id }) => id).length;
    assert.ok(sent >= 1 && failure.results.every(({ id, code }) => id || code === 'FULL'), `${sent}`);
    await brief.add(1);
    assert.strictEqual((await queue.stats()).sent, 20 + sent + 1);
    assert.throws(() => new Queue('x', { fullTimeoutMs: 'soon' }), /fullTimeoutMs must be a duration/);
});

test('jobs are found, moved, removed, and counted in the words of BullMQ', async (t) => {
    const queue = await queueOf(t, { topic: { type: 'priority', layout: 'keyed' } });
    await queue.addBulk([{ body: 'a', id: 'a', priority: 1 }, { body: 'b', id: 'b', priority: 2 }, { body: 'c', id: 'c', delay: 3600000 }]);
    assert.strictEqual(await queue.rank('a'), 1);
    await queue.reschedule('a', { priority: 5 });
    assert.strictEqual(await queue.rank('a'), 0);
    assert.deepStrictEqual(await queue.getJobCounts(), { waiting: 2, active: 0, delayed: 1, completed: 0, failed: 0 });
    await queue.remove('b');
    await assert.rejects(queue.remove('b'), { code: 'NO_MESSAGE' });
    const found = [];
    for await (const job of queue.jobs()) {
        found.push(job.data);
    }
    assert.deepStrictEqual(found.sort(), ['a', 'c']);
    assert.strictEqual(await queue.clean(['waiting', 'resting']), 2);
    await queue.alter({ attempts: 3, leaseMs: '20s' });
    await assert.rejects(queue.alter({ slots: 8 }), { code: 'INVALID' });
    await queue.pause();
    assert.strictEqual(await queue.isPaused(), true);
    await queue.resume();
    assert.strictEqual(await queue.isPaused(), false);
    await queue.add('d');
    await assert.rejects(queue.obliterate(), { code: 'NOT_EMPTY' });
    await queue.obliterate({ force: true });
});

test('dead letters are listed and requeued', async (t) => {
    const queue = await queueOf(t, { defaultJobOptions: { attempts: 1 } });
    const fails = workerOf(t, queue, (job) => Promise.reject(new Error(`no ${job.data}`)), { concurrency: 10 });
    const dead = events(fails, 'dead', 150);
    await queue.addBulk(Array.from({ length: 150 }, (_, body) => ({ body })));
    for (const [{ id, job, reason, error }] of await dead) {
        assert.deepStrictEqual([job.id, reason, error.message], [id, `no ${job.data}`, `no ${job.data}`]);
    }
    await fails.close();
    assert.strictEqual((await queue.getDead({ limit: 120 })).length, 120);
    const [one] = await queue.getDead({ reason: 'no 149' });
    assert.deepStrictEqual([one.data, one.state, one.reason], [149, 'dead', 'no 149']);
    assert.strictEqual(await queue.requeueDead({ reason: 'no 149' }), 1);
    assert.strictEqual(await queue.requeueDead(), 149);
    const done = workerOf(t, queue, () => 'ok', { concurrency: 10 });
    await events(done, 'completed', 150);
});

test('a schedule stores its job each time once', async (t) => {
    const queue = await queueOf(t);
    const pulse = { every: 100, limit: 3 };
    assert.strictEqual(await queue.upsertJobScheduler('pulse', pulse, { body: 'beat', headers: { a: 'b' } }), 'made');
    assert.strictEqual(await queue.upsertJobScheduler('pulse', pulse, { body: 'beat', headers: { a: 'b' } }), 'same');
    await queue.upsertJobScheduler('night', { pattern: '30 2 * * *', tz: 'Europe/Berlin', missed: 'none' });
    await queue.pauseJobScheduler('night', 'a holiday');
    const found = await queue.getJobSchedulers();
    assert.deepStrictEqual(found.map(({ id, pattern, tz, paused, note }) => [id, pattern, tz, paused, note]).sort(),
        [['night', '30 2 * * *', 'Europe/Berlin', true, 'a holiday'], ['pulse', undefined, undefined, false, '']]);
    await queue.resumeJobScheduler('night');
    assert.strictEqual((await queue.getJobScheduler('night')).paused, false);
    await queue.runJobScheduler('night');
    const worker = workerOf(t, queue, (job) => [job.data, job.id.split('@')[0]]);
    const ended = await events(worker, 'completed', 4);
    assert.deepStrictEqual(ended.map(([, result]) => result.join()).sort(), [',night', 'beat,pulse', 'beat,pulse', 'beat,pulse']);
    await queue.removeJobScheduler('night');
    assert.strictEqual(await queue.getJobScheduler('night'), undefined);
    await assert.rejects(queue.upsertJobScheduler('x', { pattern: 'never' }), { code: 'INVALID' });
    await assert.rejects(queue.upsertJobScheduler('x', { every: 1000, missed: 'all' }), /missed must be/);
});

test('a client gives its health, its metrics and its events', async (t) => {
    const client = new Client({ redis: connection, eventLevel: 'trace' });
    const queue = new Queue(unique('events'), { connection: client, topic: { slots: 1 } });
    const sent = new Promise((resolve) => client.on('event', (event) => event.id === 'sent' && resolve(event)));
    await queue.add('x');
    assert.deepStrictEqual((({ topic, level }) => [topic, level])(await sent), [queue.name, 'trace']);
    assert.deepStrictEqual([(await client.health()).wrong, (await client.metrics()).sent], ['', 1]);
    assert.match(await client.metricsText(queue.name), /slotmq_messages_sent_total 1\n/);
    await queue.close();
    await client.close();
    await assert.rejects(client.health(), { code: 'CLOSED' });
});

test('a client that a queue has made, or the application, stays open for its owner', async (t) => {
    const queue = await queueOf(t);
    const worker = workerOf(t, queue, () => {}, { connection: queue.client });
    await worker.waitUntilReady();
    await worker.close();
    assert.strictEqual((await queue.stats()).sent, 0);
    const client = new Client(connection);
    const other = new Queue(queue.name, { connection: client });
    await other.add(1);
    await other.close();
    assert.strictEqual((await client.health()).wrong, '');
    await client.close();
});

test('a worker keeps its events when another one of its topic is refused', async (t) => {
    const queue = await queueOf(t), client = new Client(connection);
    const first = new Worker(queue.name, () => { throw new Error('why'); }, { connection: client });
    await first.waitUntilReady();
    const [[error]] = await events(new Worker(queue.name, () => {}, { connection: client }), 'error', 1);
    assert.strictEqual(error.code, 'INVALID');
    const dead = events(first, 'dead', 1);
    await queue.add(1, { attempts: 1 });
    assert.strictEqual((await dead)[0][0].error.message, 'why');
    await first.close();
    await client.close();
});

test('deaths are told when only errors are logged', async (t) => {
    const queue = await queueOf(t), client = new Client({ redis: connection, eventLevel: 'error' }), logged = [];
    client.on('event', (event) => logged.push(event.id));
    const worker = new Worker(queue.name, (job) => job.reject(), { connection: client });
    const dead = events(worker, 'dead', 1);
    const { id } = await queue.add(1);
    assert.strictEqual((await dead)[0][0].id, id);
    await worker.close();
    await client.close();
    assert.deepStrictEqual(logged, []);
});

test('jobs come by for await, and a signal ends it', async (t) => {
    const queue = await queueOf(t);
    const controller = new AbortController();
    const consumer = new Consumer(queue.name, { connection, topic: false, signal: controller.signal });
    await queue.addBulk(Array.from({ length: 200 }, (_, body) => ({ body })));
    const seen = new Set();
    for await (const job of consumer) {
        seen.add(job.data);
        job.done();
        assert.throws(() => job.done(), { code: 'ANSWERED' });
        if (seen.size === 200) {
            controller.abort();
        }
    }
    assert.strictEqual(seen.size, 200);
    await consumer.close();
    assert.deepStrictEqual((({ waiting, completed }) => [waiting, completed])(await queue.getJobCounts()), [0, 200]);
    await assert.rejects(new Consumer(unique('none'), { connection, topic: false }).next(), { code: 'NO_TOPIC' });
});

test('what a consumer was given and does not answer is delivered again', async (t) => {
    const queue = await queueOf(t, { topic: { leaseMs: 1000 } });
    await queue.addBulk([{ body: 1 }, { body: 2 }, { body: 3 }]);
    const first = new Consumer(queue.name, { connection, topic: false, drainTimeoutMs: 100 });
    const kept = (await first.next()).value;
    await first.close();
    assert.throws(() => kept.done(), { code: 'CLOSED' });
    const second = new Consumer(queue.name, { connection, topic: false });
    for (let i = 0; i < 3; i++) {
        (await second.next()).value.done();
    }
    await second.close();
    await until(async () => (await queue.stats()).done === 3);
});

test('a job that is dropped without an answer is retried', async (t) => {
    const queue = await queueOf(t, { topic: { slots: 1 } });
    const consumer = new Consumer(queue.name, { connection, topic: false });
    t.after(() => consumer.close());
    await queue.add('x');
    await (async () => (await consumer.next()).value.data)();
    const again = consumer.next();
    await until(async () => {
        await new Promise(setImmediate);
        collect();
        return (await queue.stats()).retried === 1;
    });
    const { value } = await again;
    assert.deepStrictEqual([value.attempt, value.data], [2, 'x']);
    value.done();
});
