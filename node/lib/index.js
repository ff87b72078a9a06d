// index.js - message queues on Redis Cluster: the interface of the package (docs/node.md).
'use strict';
const { error, closed, ...errors } = require('./errors.js');
const { Client, Limit } = require('./client.js');
const { Queue, nextTimes } = require('./queue.js');
const { Worker } = require('./worker.js');
const { Consumer } = require('./consumer.js');
const { Job, StoredJob } = require('./job.js');
const { version } = require('./native.js');

module.exports = { Client, Queue, Worker, Consumer, Job, StoredJob, Limit, nextTimes, version, ...errors };
