// service-bullmq.js - service.js as it is written with BullMQ: the service that sends mails.
//
// usage: node service-bullmq.js work [CONCURRENCY]    until SIGTERM
//        node service-bullmq.js send COUNT
//        node service-bullmq.js show
//        node service-bullmq.js retry
'use strict';
const { Queue, Worker } = require('bullmq');

const { REDIS = '127.0.0.1:6379' } = process.env;
const connection = REDIS.startsWith('/') ? { path: REDIS, maxRetriesPerRequest: null }
    : { host: REDIS.split(':')[0], port: Number(REDIS.split(':')[1]), maxRetriesPerRequest: null };
const name = process.env.QUEUE ?? 'mails';
const defaultJobOptions = { attempts: 3, backoff: { type: 'exponential', delay: 1000 }, removeOnComplete: true };

// The first try of every tenth mail fails.
async function deliver(mail, attempt) {
    if (mail.number % 10 === 0 && attempt === 1) {
        throw new Error('the mail server is busy');
    }
    return `sent to ${mail.to}`;
}

function work(concurrency = 10) {
    const worker = new Worker(name, async (job) => deliver(job.data, job.attemptsMade + 1), { connection, concurrency: Number(concurrency) });

    worker.on('completed', (job, result) => console.log(job.id, result));
    worker.on('failed', (job, error) => console.error(job.id, error.message));
    worker.on('error', (error) => console.error(error));
    process.on('SIGTERM', () => worker.close());
}

async function send(count) {
    const queue = new Queue(name, { connection, defaultJobOptions });

    for (let number = 0; number < Number(count); number++) {
        await queue.add('mail', { number, to: `${number}@example.org` }, { jobId: `mail-${number}` });
    }
    await queue.close();
}

async function show() {
    const queue = new Queue(name, { connection });

    console.log(JSON.stringify(await queue.getJobCounts()));
    for (const job of await queue.getFailed()) {
        console.log(job.id, job.failedReason);
    }
    await queue.close();
}

async function retry() {
    const queue = new Queue(name, { connection });

    await queue.retryJobs({ state: 'failed' });
    await queue.close();
}

({ work, send, show, retry })[process.argv[2]](...process.argv.slice(3));
