// node.js - the package for Node.js, which does what bullmq/drain.js does with BullMQ.
//
// usage: node node.js ADDRESS COUNT    ADDRESS: a port, or that of a cluster
// Prints one line: SENT_SECONDS DRAINED_SECONDS HANDLED DUPLICATED OUT_OF_ORDER
'use strict';

const { Queue, Worker } = require('../../node/lib/index.js');

const BULK = 1000;
const connection = process.argv[2].includes(':') ? process.argv[2] : `127.0.0.1:${process.argv[2]}`;
const count = Number(process.argv[3]);

function body(number) {
  return String(number).padStart(10, '0').padEnd(64, '.');
}

async function send(queue) {
  const started = process.hrtime.bigint();
  for (let from = 0; from < count; from += BULK) {
    await queue.addBulk(Array.from({ length: Math.min(BULK, count - from) }, (_, i) => ({ body: body(from + i) })));
  }
  return Number(process.hrtime.bigint() - started) / 1e9;
}

function drain(tally) {
  const started = process.hrtime.bigint();
  return new Promise((resolve, reject) => {
    const worker = new Worker('bench', async (job) => tally(job.data), { connection, concurrency: 100 });
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
  const queue = new Queue('bench', { connection });
  const sent = await send(queue);
  const drained = await drain(tally);
  await queue.obliterate();
  await queue.close();
  console.log(sent, drained, handled, duplicated, outOfOrder);
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
