// load.test.js - what many jobs and many clients leave behind: nothing.
'use strict';
const assert = require('node:assert');
const fs = require('node:fs');
const { Client, Queue, Worker, collect, test, connection, isLong, unique, queueOf, workerOf, events, until } = require('./help.js');

const JOBS = isLong ? 300000 : 20000;
const CLIENTS = isLong ? 500 : 20;
const ROUNDS = 10;
const MIB = 1 << 20;

// Of this process; `memory` in MiB.
function usage() {
    collect();
    const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
    return {
        descriptors: fs.readdirSync('/proc/self/fd').length,
        threads: fs.readdirSync('/proc/self/task').length,
        handles: process.getActiveResourcesInfo().length,
        heap: (heapUsed + arrayBuffers) / MIB,
        memory: rss / MIB,
    };
}

test(`${JOBS} jobs leave nothing behind`, async (t) => {
    const queue = await queueOf(t, { topic: { slots: 16 } });
    const worker = workerOf(t, queue, (job) => job.data.n, { concurrency: 100 });
    const each = JOBS / ROUNDS;
    let before;
    for (let round = 0; round < ROUNDS; round++) {
        let left = each;
        const all = new Promise((resolve) => {
            const count = () => {
                left -= 1;
                if (left === 0) {
                    worker.off('completed', count);
                    resolve();
                }
            };
            worker.on('completed', count);
        });
        for (let sent = 0; sent < each; sent += 1000) {
            await queue.addBulk(Array.from({ length: 1000 }, (_, n) => ({ body: { n }, key: `k${n}`, headers: { a: 'b' } })));
        }
        await all;
        before ??= round === 1 ? usage() : undefined;
    }
    await until(async () => (await queue.stats()).done === JOBS);
    const after = usage();
    t.diagnostic(JSON.stringify({ before, after }));
    assert.deepStrictEqual([after.descriptors, after.threads, after.handles], [before.descriptors, before.threads, before.handles]);
    assert.ok(after.heap < before.heap + 10, 'the heap grows');
    assert.ok(after.memory < before.memory + 60, 'the memory grows');
});

test(`${CLIENTS} clients leave nothing behind`, async (t) => {
    const queue = await queueOf(t, { topic: { slots: 1 } });
    const use = async () => {
        const client = new Client(connection);
        const own = new Queue(queue.name, { connection: client, topic: false });
        const worker = new Worker(queue.name, () => {}, { connection: client, topic: false });
        await own.add('x');
        await worker.waitUntilReady();
        await Promise.all([worker.close(), own.close()]);
        await client.close();
    };
    await use();
    const before = usage();
    for (let used = 0; used < CLIENTS; used += 10) {
        await Promise.all(Array.from({ length: 10 }, use));
    }
    const after = await until(() => new Promise(setImmediate).then(() => {
        const found = usage();
        return found.threads <= before.threads && found;
    }));
    t.diagnostic(JSON.stringify({ before, after }));
    assert.deepStrictEqual([after.descriptors, after.handles], [before.descriptors, before.handles]);
    assert.ok(after.heap < before.heap + 10, 'the heap grows');
    assert.ok(after.memory < before.memory + 60, 'the memory grows');
});
