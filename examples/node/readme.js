// readme.js - adds a job, and handles it.
//
// usage: node readme.js REDIS
'use strict';
const { Queue, Worker } = require('slotmq');

const connection = process.argv[2];
const queue = new Queue('parcels', { connection });
const worker = new Worker('parcels', async (job) => console.log(job.data), { connection });

worker.on('completed', async () => {
    await worker.close();
    await queue.close();
});
queue.add('two books', { key: 'customer 7' });
