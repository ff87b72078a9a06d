// jobs.js - sends jobs, and handles each of them once; the first try of one of them fails.
//
// usage: node jobs.js ADDON SLOTMQ_JSON REDIS [COUNT]
//   ADDON: cc -D_GNU_SOURCE -shared -fPIC foreign.c -I/usr/include/node -Wl,--no-as-needed \
//          $(pkg-config --cflags --libs slotmq) -o foreign.node
//   SLOTMQ_JSON: /usr/share/slotmq/slotmq.json, or where it was installed
'use strict';
const { Library, Queue } = require('./slotmq.js');

async function main(addon, description, redis, count = '3') {
    const handled = [];
    let done;
    const all = new Promise((resolve) => (done = resolve));
    const queue = new Queue(new Library(addon, description), redis, 'node-jobs', async (job) => {
        const body = job.body.toString();

        if (body === 'job 1' && job.attempt === 1) {
            throw new Error('not yet');
        }
        handled.push(`${body}, attempt ${job.attempt}`);
        if (handled.length === Number(count)) {
            done();
        }
    });
    const sends = Array.from({ length: Number(count) }, (_, i) => queue.send(`job ${i}`));
    const receipts = await Promise.all(sends);

    console.log(`${new Set(receipts.map((receipt) => receipt.id)).size} sent`);
    await all;
    await queue.stop();
    console.log(`${handled.sort().slice(0, 3).join('; ')}; ${handled.length} handled`);
    console.log(`${queue.emptyWakes} wakes for nothing`);
}

main(...process.argv.slice(2));
