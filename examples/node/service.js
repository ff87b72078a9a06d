// service.js - sends mails that other services ask for: tries each three times, with a back-off, and keeps what fails.
// migrating.md has the same service with BullMQ, service-bullmq.js, beside it.
//
// usage: node service.js work [CONCURRENCY]    until SIGTERM
//        node service.js send COUNT
//        node service.js show
//        node service.js retry
'use strict';
const { Queue, Worker } = require('slotmq');

const connection = process.env.REDIS ?? '127.0.0.1:6379';
const name = process.env.QUEUE ?? 'mails';
const topic = { attempts: 3, backoff: { type: 'exponential', delay: 1000 } };

// The first try of every tenth mail fails.
async function deliver(mail, attempt) {
    if (mail.number % 10 === 0 && attempt === 1) {
        throw new Error('the mail server is busy');
    }
    return `sent to ${mail.to}`;
}

function work(concurrency = 10) {
    const worker = new Worker(name, async (job) => deliver(job.data, job.attempt), { connection, topic, concurrency: Number(concurrency) });

    worker.on('completed', (job, result) => console.log(job.id, result));
    worker.on('failed', (job, error) => console.error(job.id, error.message));
    worker.on('error', (error) => console.error(error));
    process.on('SIGTERM', () => worker.close());
}

async function send(count) {
    const queue = new Queue(name, { connection, topic });

    for (let number = 0; number < Number(count); number++) {
        await queue.add({ number, to: `${number}@example.org` }, { id: `mail-${number}` });
    }
    await queue.close();
}

async function show() {
    const queue = new Queue(name, { connection, topic });

    console.log(JSON.stringify(await queue.getJobCounts()));
    for (const job of await queue.getDead()) {
        console.log(job.id, job.reason);
    }
    await queue.close();
}

async function retry() {
    const queue = new Queue(name, { connection, topic });

    console.log(await queue.requeueDead());
    await queue.close();
}

({ work, send, show, retry })[process.argv[2]](...process.argv.slice(3));
