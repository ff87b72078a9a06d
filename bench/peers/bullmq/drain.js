// drain.js - BullMQ as its manual has it: jobs added in bulk, then one worker of concurrency 100.
//
// usage: node drain.js PORT COUNT
// Prints one line: SENT_SECONDS DRAINED_SECONDS HANDLED DUPLICATED OUT_OF_ORDER
'use strict';

const { Queue, Worker } = require('bullmq');

const BULK = 1000;
const port = Number(process.argv[2]);
const count = Number(process.argv[3]);
// One hash tag for all keys: the server is a node of a Redis Cluster.
const options = { prefix: '{bull}', connection: { host: '127.0.0.1', port, maxRetriesPerRequest: null } };

function body(number) {
  return String(number).padStart(10, '0').padEnd(64, '.');
}

async function send(queue) {
  const started = process.hrtime.bigint();
  for (let from = 0; from < count; from += BULK) {
    const jobs = [];
    for (let i = from; i < Math.min(count, from + BULK); i++) {
      jobs.push({ name: 'm', data: body(i), opts: { removeOnComplete: true, attempts: 17 } });
    }
    await queue.addBulk(jobs);
  }
  return Number(process.hrtime.bigint() - started) / 1e9;
}

function drain(tally) {
  const started = process.hrtime.bigint();
  return new Promise((resolve, reject) => {
    const worker = new Worker('bench', async (job) => tally(job.data), { ...options, concurrency: 100 });
    let completed = 0;
    worker.on('error', reject);
    worker.on('completed', () => {
      completed++;
      if (completed === count) {
        const seconds = Number(process.hrtime.bigint() - started) / 1e9;
        worker.close().then(() => resolve(seconds), reject);
      }
    });
  });
}

async function main() {
  const seen = new Uint8Array(count);
  let handled = 0, duplicated = 0, outOfOrder = 0, last = -1;
  const tally = (data) => {
    const number = parseInt(data, 10);
    if (seen[number]) {
      duplicated++;
    } else {
      seen[number] = 1;
      handled++;
    }
    outOfOrder += number < last ? 1 : 0;
    last = number;
  };
  const queue = new Queue('bench', options);
  const sent = await send(queue);
  const drained = await drain(tally);
  await queue.close();
  console.log(sent, drained, handled, duplicated, outOfOrder);
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
