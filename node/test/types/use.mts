// use.mts - what a program of TypeScript may write, and what is refused.
import { Client, Consumer, Queue, Worker, RetryError, UnrecoverableError, type Job, type JobCounts, type Receipt } from 'slotmq';

interface Order { customer: string; items: number }

const client = new Client({ redis: '127.0.0.1:6379', requestTimeoutMs: 1000 });
const queue = new Queue<Order>('orders', { connection: client, topic: { attempts: 3, backoff: { type: 'exponential', delay: 1000 } } });
const receipt: Receipt = await queue.add({ customer: 'a', items: 1 }, { key: 'a', delay: 5, headers: { trace: Buffer.of(1) } });
// @ts-expect-error the body is no order
await queue.add({ customer: 5 });
// @ts-expect-error there is no such option
await queue.add({ customer: 'a', items: 1 }, { delya: 5 });
const counts: JobCounts = await queue.getJobCounts();
const receipts: Receipt[] = await queue.addBulk([{ body: { customer: 'b', items: 2 }, id: 'two' }]);

const worker = new Worker<Order, number>('orders', async (job: Job<Order>) => {
    if (job.data.items < 0) {
        throw new UnrecoverableError('no items');
    }
    return job.data.items;
}, { connection: client, concurrency: 10, limit: client.limit(5), signal: AbortSignal.timeout(1000), maxInFlight: 20 });
worker.on('completed', (job, result) => console.log(job.id, result.toFixed()));
worker.on('dead', ({ id, reason, job }) => console.log(id, reason?.length, job?.data.customer));
// @ts-expect-error there is no such event
worker.on('compleeted', () => {});

for await (const job of new Consumer<Order>('orders')) {
    console.log(job.data.customer, job.headers.trace);
    job.retry({ delay: 1000, reason: new Error('why') });
}
for await (const job of queue.jobs({ states: ['dead', 'waiting'] })) {
    console.log(job.reason, job.data.items);
}
try {
    await worker.close();
} catch (error) {
    console.log(error instanceof RetryError && [error.code, error.results?.length], counts, receipts, receipt);
}
