// help.js - what the tests share: a queue of a name of its own on the cluster of SLOTMQ_TEST_CLUSTER, and waits.
'use strict';
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const nodeTest = require('node:test');
const v8 = require('node:v8');
const vm = require('node:vm');

const slotmq = require('../lib/index.js');

const connection = process.env.SLOTMQ_TEST_CLUSTER;
const isLong = process.env.SLOTMQ_TEST_LONG === '1';
v8.setFlagsFromString('--expose-gc');
const collect = vm.runInNewContext('gc');
let number = 0;
const TIMEOUT_MS = isLong ? 1200000 : 600000;

function test(name, ...more) {
    const run = more.pop();
    return nodeTest(name, { timeout: TIMEOUT_MS, ...more[0] }, run);
}


const unique = (name) => `${name}-${process.pid}-${++number}`;

// A queue whose retries come at once; closed at the end of the test.
async function queueOf(t, options = {}) {
    const queue = new slotmq.Queue(unique('node'), { connection, ...options, topic: { backoff: 'none', slots: 4, ...options.topic } });
    t.after(() => queue.close());
    return queue.waitUntilReady();
}

function workerOf(t, queue, handler, options = {}) {
    const worker = new slotmq.Worker(queue.name, handler, { connection, topic: false, ...options });
    t.after(() => worker.close());
    return worker;
}

// When an emitter has emitted so many events of this name; what they had.
async function events(emitter, name, count) {
    const found = [];
    await new Promise((resolve) => {
        const add = (...words) => {
            found.push(words);
            if (found.length === count) {
                emitter.off(name, add);
                resolve();
            }
        };
        emitter.on(name, add);
    });
    return found;
}

// Ask again and again, until it is so.
async function until(condition) {
    for (;;) {
        const found = await condition();
        if (found) {
            return found;
        }
    }
}

// Run a program of its own to its end, or until `ended` resolves with the process.
async function run(program, { words = [], env = {}, input } = {}) {
    const child = spawn(process.execPath, ['-e', program, ...words], { env: { ...process.env, ...env } });
    const said = [];
    child.stdout.on('data', (data) => said.push(data));
    child.stderr.on('data', (data) => said.push(data));
    input?.(child, said);
    const [code, signal] = await once(child, 'close');
    return { code, signal, said: Buffer.concat(said).toString() };
}

module.exports = { ...slotmq, slotmq, collect, test, connection, isLong, unique, queueOf, workerOf, events, until, run };
