import slotmq from './index.js';

export const {
    Client, Limit, Queue, Worker, Consumer, Job, StoredJob, UnrecoverableError, SlotmqError, UsageError, RetryError,
    UnknownError, LostError, FatalError, version,
} = slotmq;
export default slotmq;
