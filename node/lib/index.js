// index.js - message queues on Redis Cluster: the interface of the package (docs/node.md).
'use strict';
const { native, errors } = require('./native.js');
const { Client, Limit } = require('./client.js');
const { Queue } = require('./queue.js');
const { Worker, UnrecoverableError } = require('./worker.js');
const { Consumer } = require('./consumer.js');
const { Job, StoredJob } = require('./job.js');

const { SlotmqError, UsageError, RetryError, UnknownError, LostError, FatalError } = errors;
const { version } = native;

// Names alone, so that ES modules can import each of them.
module.exports = { Client, Limit, Queue, Worker, Consumer, Job, StoredJob, UnrecoverableError, SlotmqError, UsageError, RetryError,
    UnknownError, LostError, FatalError, version };
