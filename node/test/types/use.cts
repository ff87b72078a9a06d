// use.cts - the same package by require().
import slotmq = require('slotmq');

const queue: slotmq.Queue<string> = new slotmq.Queue('texts', { connection: '127.0.0.1:6379' });
void queue.add('a', { dueAt: new Date() }).then((receipt) => receipt.merged);
