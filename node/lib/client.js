// client.js - the connections of this thread to Redis, its events, and limits of several queues.
'use strict';
const { EventEmitter } = require('node:events');
const native = require('./native.js');
const { closed } = require('./errors.js');
const values = require('./values.js');

const LEVELS = ['default', 'error', 'warn', 'info', 'debug', 'trace'];
const MOST_CALLS = 11;

// Throw from the loop what a listener of the application has thrown: it is an uncaught exception.
function rethrow(failure) {
    process.nextTick(() => {
        throw failure;
    });
}

function emit(emitter, ...words) {
    try {
        return emitter.emit(...words);
    } catch (failure) {
        rethrow(failure);
        return false;
    }
}

// Events: 'event' with {kind, level, id, text, topic, slot, ...}.  Those of a worker come to it.
class Client extends EventEmitter {
    #handle;
    #opening;
    #options;
    #topics = new Map();
    #closing;
    // Of a client that several objects share by the text of their option `connection`.
    users = 0;
    sources = new Map();

    // `redis`: 'host:port,host:port', 'redis://...' or 'rediss://...'; or an object with it and further options.
    constructor(redis, options) {
        super();
        const given = typeof redis === 'object' && redis !== null ? redis : { redis, ...values.object(options, 'options') };
        values.text(given.redis, 'redis');
        this.#options = values.pairs(given);
    }

    // Internal: the handle of the library, once it is connected.  A call that failed is tried again by the next.
    open() {
        if (this.#closing) {
            return Promise.reject(closed('client'));
        }
        this.#opening ??= this.#connect().catch((failure) => {
            this.#opening = undefined;
            throw failure;
        });
        return this.#opening;
    }

    async #connect() {
        const handle = await native.clientNew(this.#options);
        this.#handle = handle;
        native.watch(handle, () => this.takeEvents());
        native.hold(handle, false);
        native.listen(handle, true);
        return handle;
    }

    waitUntilReady() {
        return this.open().then(() => this);
    }

    // Internal.
    takeEvents() {
        if (!this.#handle || this.#closing) {
            return;
        }
        for (const event of native.clientPoll(this.#handle)) {
            event.level = LEVELS[event.level];
            emit(this, 'event', event);
            this.sources.get(event.topic)?.onEvent(event);
        }
    }

    // Internal: a call of the library with a topic.
    async call(kind, { topic, text, which, filter, message, options, schedule, flag, more } = {}) {
        const handle = await this.open();
        const words = [handle, kind, topic, text, which ?? [], filter ?? [], message ?? [], options, schedule ?? [], flag, more];
        return native.call(...words.slice(0, MOST_CALLS));
    }

    // Internal: create the topic, or with no options one of the default kind, if there is none.
    ensure(topic, options) {
        if (options === false) {
            return Promise.resolve();
        }
        const known = JSON.stringify([topic, options]);
        if (!this.#topics.has(known)) {
            this.#topics.set(known, this.#create(topic, options).catch((failure) => {
                this.#topics.delete(known);
                throw failure;
            }));
        }
        return this.#topics.get(known);
    }

    async #create(topic, options) {
        if (options === undefined) {
            try {
                return await this.call('exists', { topic });
            } catch (failure) {
                if (failure.code !== 'NO_TOPIC') {
                    throw failure;
                }
            }
        }
        const shared = options?.type !== 'fifo';
        return this.call('create', { topic, options: values.topicPairs({ shared, ...options }) });
    }

    // At most so many unanswered jobs of all workers and consumers that get the limit.
    limit(most) {
        return new Limit(this, most);
    }

    // The names of all topics.
    async topics() {
        return (await this.call('topics')).map((topic) => topic.topic);
    }

    health() {
        return this.call('health');
    }

    // What this process has done by all objects of this client.
    metrics() {
        return this.call('metrics');
    }

    // The same as Prometheus text, with the stats of the topics 'a,b' or '*'.
    metricsText(topics) {
        return this.call('metricsText', { text: topics === undefined ? undefined : values.text(topics, 'topics') });
    }

    // After the queues, workers and consumers that use it.
    close() {
        this.#closing ??= Promise.resolve(this.#opening).catch(() => {}).then(() => this.#handle && native.close(this.#handle));
        return this.#closing;
    }
}

class Limit {
    #client;
    #most;
    #handle;

    constructor(client, most) {
        this.#client = client;
        this.#most = values.whole(most, 'a limit');
    }

    // Internal.
    async open(client) {
        if (client !== this.#client) {
            throw new TypeError('a limit is for workers whose connection is the client that has made it');
        }
        const handle = await client.open();
        this.#handle ??= native.limitNew(handle, this.#most);
        return this.#handle;
    }

    // Change it; 0: no more jobs begin until it is changed again.
    async set(most) {
        this.#most = values.whole(most, 'a limit');
        if (this.#handle) {
            await native.setMost(this.#handle, this.#most);
        }
    }
}

const shared = new Map();

// The client of an option `connection`: a Client, or what one is made of.  Equal ones share a client, which has one
// consumer for each topic.
function connect(connection, topic) {
    if (connection instanceof Client) {
        return connection;
    }
    const name = JSON.stringify(connection ?? '127.0.0.1:6379');
    const clients = shared.get(name) ?? [];
    let client = clients.find((one) => !topic || !one.sources.has(topic));
    if (!client) {
        client = new Client(connection ?? '127.0.0.1:6379');
        clients.push(client);
        shared.set(name, clients);
        client.release = async () => {
            client.users -= 1;
            if (client.users === 0) {
                clients.splice(clients.indexOf(client), 1);
                await client.close();
            }
        };
    }
    client.users += 1;
    return client;
}

module.exports = { Client, Limit, connect, emit, rethrow };
