import slotmq from './index.js';

export const {
    Client, Queue, Worker, Consumer, Job, StoredJob, Limit, nextTimes, version, SlotmqError, UsageError, RetryError,
    UnknownError, LostError, FatalError, UnrecoverableError,
} = slotmq;
export default slotmq;
