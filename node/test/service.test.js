// service.test.js - the examples: the short one, and the service, whose workers are killed at any time: every mail is sent.
'use strict';
const assert = require('node:assert');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Queue, test, connection, isLong, unique, until } = require('./help.js');

const COUNT = isLong ? 10000 : 200;
const KILLS = isLong ? 60 : 2;
const EXAMPLE = path.resolve(__dirname, '../../examples/node');
const BULLMQ = process.env.SLOTMQ_TEST_BULLMQ; // a folder with node_modules/bullmq

// Where require() of an example finds the package.
function folder(t, linked) {
    const made = fs.mkdtempSync(path.join(os.tmpdir(), 'slotmq-service-'));
    t.after(() => fs.rmSync(made, { recursive: true }));
    for (const file of ['readme.js', 'service.js', 'service-bullmq.js']) {
        fs.copyFileSync(path.join(EXAMPLE, file), path.join(made, file));
    }
    if (linked) {
        fs.mkdirSync(path.join(made, 'node_modules'));
        fs.symlinkSync(path.resolve(__dirname, '..'), path.join(made, 'node_modules/slotmq'));
    } else {
        fs.symlinkSync(path.join(BULLMQ, 'node_modules'), path.join(made, 'node_modules'));
    }
    return made;
}

function begin(program, words, env, line) {
    const child = spawn(process.execPath, [program, ...words.map(String)], { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    const found = { child, said: '', rest: '', wrong: '', ended: once(child, 'close') };
    child.stderr.on('data', (data) => (found.wrong += data));
    child.stdout.on('data', (data) => {
        found.said += data;
        const lines = (found.rest + data).split('\n');
        found.rest = lines.pop();
        lines.forEach((one) => line?.(one, found));
    });
    return found;
}

async function end(program, words, env) {
    const found = begin(program, words, env);
    const [code] = await found.ended;
    assert.strictEqual(code, 0, found.said + found.wrong);
    return found.said;
}

test('the program of README.md handles its job', async (t) => {
    assert.strictEqual(await end(path.join(folder(t, true), 'readme.js'), [connection], {}), 'two books\n');
});

test(`${COUNT} mails are sent while ${KILLS} workers are killed`, async (t) => {
    const program = path.join(folder(t, true), 'service.js'), env = { REDIS: connection, QUEUE: unique('mails') };
    const topic = { attempts: 3, backoff: { type: 'exponential', delay: 1000 } };
    const queue = new Queue(env.QUEUE, { connection, topic: { ...topic, leaseMs: 1000, backoff: 'fixed:100' } });
    t.after(() => queue.close());
    await queue.waitUntilReady();
    const sent = new Set(), workers = new Set();
    let kills = 0, isOver = false;
    const killAt = Math.floor(COUNT / (KILLS + 1));
    const one = () => {
        const worker = begin(program, ['work', 20], env, (line, found) => {
            sent.add(line.split(' ')[0]);
            if (kills < KILLS && sent.size > killAt * (kills + 1)) {
                kills += 1;
                found.child.kill('SIGKILL');
            }
        });
        workers.add(worker);
        worker.ended.then(() => {
            workers.delete(worker);
            if (!isOver) {
                one();
            }
        });
    };
    Array.from({ length: 3 }, one);
    await end(program, ['send', COUNT], env);
    await until(async () => {
        const { waiting, claimed, resting, dead, done } = await queue.stats();
        if (dead > 0) { // its worker was killed three times
            await end(program, ['retry'], env);
        }
        return waiting + claimed + resting + dead === 0 && done === COUNT;
    });
    isOver = true;
    for (const worker of workers) {
        worker.child.kill('SIGTERM');
    }
    await Promise.all([...workers].map((worker) => worker.ended));
    const { sent: stored, done, dead } = await queue.stats();
    t.diagnostic(`${stored} sent, ${done} done, ${dead} dead, ${kills} workers killed, ${sent.size} seen done`);
    assert.deepStrictEqual([stored, done, dead, kills], [COUNT, COUNT, 0, KILLS]);
    assert.match(await end(program, ['show'], env), new RegExp(`"completed":${COUNT},"failed":0`));
});

test('the service with BullMQ sends the same mails', { skip: !BULLMQ && 'BullMQ is not here' }, async (t) => {
    const program = path.join(folder(t, false), 'service-bullmq.js'), env = { REDIS: process.env.SLOTMQ_TEST_REDIS, QUEUE: unique('mails') };
    await end(program, ['send', 20], env);
    const sent = new Set();
    const worker = begin(program, ['work'], env, (line, found) => {
        sent.add(line);
        if (sent.size === 20) {
            found.child.kill('SIGTERM');
        }
    });
    await worker.ended;
    assert.strictEqual(sent.has('mail-0 sent to 0@example.org'), true, worker.wrong);
    assert.match(await end(program, ['show'], env), /"failed":0/);
});
