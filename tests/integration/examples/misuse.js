// misuse.js - what a program does wrong with the example for Node.js, and what it is told.
//
// usage: node misuse.js ADDON SLOTMQ_JSON REDIS FOLDER_OF_EXAMPLE
'use strict';
const { Worker, isMainThread, workerData } = require('node:worker_threads');

const words = isMainThread ? process.argv.slice(2) : workerData;
const [addon, description, redis, folder] = words;
const { Library, Queue } = require(`${folder}/slotmq.js`);

const THROWN = [
    undefined,
    null,
    Symbol('symbol'),
    new Error('\ud83d'),
    '\0',
    'x'.repeat(1 << 20),
    Object.create(null),
    new Proxy({}, { get() { throw new Error('a trap'); } }),
    { toString() { throw new Error('no text'); } },
];
const BODIES = [[72, 105], { length: 3 }, new DataView(new ArrayBuffer(3)), 5, undefined];

const say = (what, call) =>
    Promise.resolve()
        .then(call)
        .then(
            () => console.log(`${what}: nothing was said`),
            (error) => console.log(`${what}: ${error.code ?? error.name}: ${error.message}`),
        );

// Each message fails once, in its own way, thrown or as a broken promise.
async function failInEachWay(queue, failed, all) {
    await Promise.all(THROWN.map((_, i) => queue.send(String(i))));
    await all;
    console.log(`${failed.size} failed and came again`);
}

async function main() {
    const library = new Library(addon, description);
    const failed = new Set();
    let done, left = THROWN.length;
    const all = new Promise((resolve) => (done = resolve));
    const queue = new Queue(library, redis, isMainThread ? 'mistakes' : 'mistakes-of-thread', (job) => {
        const i = Number(job.body);

        if (failed.has(i)) {
            left -= 1;
            return left === 0 ? done() : null;
        }
        failed.add(i);
        if (i % 2 === 0) {
            throw THROWN[i];
        }
        return Promise.reject(THROWN[i]);
    });

    await failInEachWay(queue, failed, all);
    for (const body of BODIES) {
        await say('a body', () => queue.send(body));
    }
    await say('a topic with a NUL', () => new Queue(library, redis, 'a\0b', () => null));
    await queue.stop();
    await say('a send after the end', () => queue.send('x'));
    await say('a stop after the end', () => queue.stop());
}

// A thread of its own has another loop.
main().then(() => {
    if (isMainThread) {
        new Worker(__filename, { workerData: words });
    }
});
