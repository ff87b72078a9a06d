// page.test.js - each program of docs/node.md does what the page says, in a process of its own.
'use strict';
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { Queue, Worker, test, connection, run, events } = require('./help.js');

const PAGE = fs.readFileSync(path.resolve(__dirname, '../../docs/node.md'), 'utf8');
const PROGRAMS = [...PAGE.matchAll(/^```js\n(.*?)^```$/gms)].map(([, text]) => text);
const OPENED = "const { Queue, Worker } = require('slotmq');\n";
const LIBRARY = path.resolve(__dirname, '../lib/index.js');

// The one program that has this part, with the cluster of the test in the place of that of the page.
function program(part) {
    const found = PROGRAMS.filter((text) => text.includes(part));
    assert.strictEqual(found.length, 1, part);
    const [text] = found;
    return (text.startsWith(OPENED) ? text : OPENED + text)
        .replaceAll("'slotmq'", JSON.stringify(LIBRARY))
        .replaceAll("'127.0.0.1:6379'", JSON.stringify(connection))
        .replace(/new Queue\('(\w+)'\)/g, `new Queue('$1', { connection: ${JSON.stringify(connection)} })`)
        .replace("new Queue('orders', { topic", `new Queue('orders', { connection: ${JSON.stringify(connection)}, topic`)
        .replace("new Consumer('orders', {", `new Consumer('orders', { connection: ${JSON.stringify(connection)},`);
}

async function said(part, wanted) {
    const { code, said: found } = await run(program(part));
    assert.strictEqual(code, 0, found);
    assert.match(found, wanted);
}

async function with_(name, use, options) {
    const queue = new Queue(name, { connection, ...options });
    try {
        await use(queue);
    } finally {
        await queue.close();
    }
}

// What another program has left, as a job with a delay of a minute, is not in the way.
const fill = (name, body, options) => with_(name, async (queue) => {
    await queue.clean('waiting');
    await queue.add(body, options);
});

const STEPS = [
    ['customer 7', /^to ann@example.org, try 1\nsent\n$/],
    ['leaseMs', /^{ waiting: 0, active: 0, delayed: 1, completed: 0, failed: 0 }\n$/],
    ['AbortSignal.timeout', /^one 2 {}\n$/, () => fill('orders', { books: 2 }, { id: 'one' })],
    ['client.limit', /^mails orders\n$/, () => Promise.all(['orders', 'mails'].map((name) => fill(name, 1)))],
    ['requeueDead', /^m 5 1 busy\n1\ntrue { waiting: 1, active: 0, delayed: 0, completed: 2, failed: 0 }\n$/, () => with_('mails', async (queue) => {
        await queue.add(5, { id: 'm', attempts: 1 });
        const worker = new Worker('mails', () => Promise.reject(new Error('busy')), { connection });
        await events(worker, 'dead', 1);
        await worker.close();
    })],
    ['upsertJobScheduler', /^made\nsame\nnightly false \npulse true until the shops open\n$/],
    ['connectTimeoutMs', /^RetryError UNAVAILABLE\n$/],
];

test('every program of the page is run', async (t) => {
    assert.strictEqual(PROGRAMS.length, STEPS.length);
    for (const name of ['mails', 'orders', 'reports']) {
        await with_(name, (queue) => queue.obliterate({ force: true }).catch(() => {}), { topic: false });
    }
    for (const [part, wanted, prepare] of STEPS) {
        await t.test(part, async () => {
            await prepare?.();
            await said(part, wanted);
        });
    }
});
