// client.js - the connections of this thread to Redis, its events, and limits of several queues.
'use strict';
const { EventEmitter } = require('node:events');
const { native, closed } = require('./native.js');
const { objects } = require('./record.js');
const values = require('./values.js');

const LEVELS = ['', 'error', 'warn', 'info', 'debug', 'trace'];
const LOCAL = '127.0.0.1:6379';

// What a listener of the application throws is an uncaught exception, and ends nothing here.
function emit(emitter, ...words) {
    try {
        emitter.emit(...words);
    } catch (failure) {
        process.nextTick(() => {
            throw failure;
        });
    }
}

// Make a step once; one that has failed is made again by the next call.
function once(owner, name, step) {
    owner[name] ??= step().catch((failure) => {
        owner[name] = undefined;
        throw failure;
    });
    return owner[name];
}

// Names with `_` are the package's own.  Event: 'event', with {id, level, text, topic, slot, messageId, ...}.
class Client extends EventEmitter {
    _sources = new Map(); // the worker or consumer of a topic
    _users = 0;

    // `redis`: 'host:port,host:port', 'redis://...' or 'rediss://...', or an object with that and further options.
    constructor(redis, options) {
        super();
        const given = typeof redis === 'object' && redis !== null ? redis : { redis, ...values.object(options, 'options') };
        values.text(given.redis, 'redis');
        // Workers need the warnings in any case.
        this._errorsOnly = given.eventLevel === 'error';
        this._options = values.pairs({ ...given, pollEvents: true, ...(this._errorsOnly && { eventLevel: 'warn' }) });
        this._topics = {};
    }

    _open() {
        return this._closing ? Promise.reject(closed('client')) : once(this, '_opening', async () => {
            this._handle = await native.call('client_new', this._options);
            native.watch(this._handle, () => this._takeEvents());
            native.listen(this._handle, true, false);
            return this._handle;
        });
    }

    _takeEvents() {
        for (const event of this._handle && !this._closing ? objects('event', native.clientPoll(this._handle)) : []) {
            event.level = LEVELS[event.level];
            if (!this._errorsOnly || event.level === 'error') {
                emit(this, 'event', event);
            }
            const sources = event.topic ? [this._sources.get(event.topic)] : [...this._sources.values()];
            sources.forEach((source) => source?._event(event));
        }
    }

    // Call the function of the library whose name this is.
    async _call(name, ...words) {
        return native.call(name, await this._open(), ...words);
    }
    // The same, and what it shows: structs as objects.
    async _ask(struct, name, ...words) {
        return (await this._call(name, ...words)).flatMap((buffer) => objects(struct, buffer));
    }

    // Create the topic with these options, or without any one of the default kind if there is none.
    async _ensure(topic, options) {
        if (options !== false) {
            await once(this._topics, JSON.stringify([topic, options]), () => this._create(topic, options));
        }
    }

    async _create(topic, options) {
        if (options === undefined) {
            const found = await this._call('topic_get', topic).catch((failure) => failure);
            if (found?.code !== 'NO_TOPIC') {
                return found && Promise.reject(found);
            }
        }
        const shared = options?.type !== 'fifo';
        return this._call('topic_create', values.topicPairs({ shared, ...values.object(options, 'topic') }), topic);
    }

    async waitUntilReady() {
        await this._open();
        return this;
    }

    // At most so many unanswered jobs of all workers and consumers that get it.
    limit(most) {
        return new Limit(this, most);
    }

    async health() {
        return (await this._ask('health', 'client_health'))[0];
    }

    async metrics() {
        return (await this._ask('metrics', 'client_metrics'))[0];
    }

    // The same as Prometheus text, with the stats of the topics 'a,b', or '*'.
    metricsText(topics) {
        return this._call('metrics_text', topics);
    }

    // After the queues, workers and consumers that use it.
    async close() {
        this._closing ??= Promise.resolve(this._opening).catch(() => {}).then(() => this._handle && native.close(this._handle));
        await this._closing;
    }
}

class Limit {
    constructor(client, most) {
        this._client = client;
        this._most = values.count(most, 'a limit', 0);
    }

    async _open(client) {
        if (client !== this._client) {
            values.refuse('a limit', 'of the client that is the connection', 'of another one');
        }
        return once(this, '_opening', async () => (this._handle = await client._call('limit_new', this._most)));
    }

    // Change it; 0: no more jobs begin until it is changed again.
    async set(most) {
        this._most = values.count(most, 'a limit', 0);
        await (this._opening && native.call('limit_set', await this._opening, this._most));
    }
}

const shared = new Map();

// The client of an option `connection`.  Equal ones share a client, which has one consumer for each topic.
function connect(connection = LOCAL, topic = undefined) {
    if (connection instanceof Client) {
        connection._users += 1;
        return connection;
    }
    const name = JSON.stringify(connection);
    const clients = shared.get(name) ?? [];
    let client = clients.find((one) => !one._sources.has(topic));
    if (!client) {
        client = new Client(connection);
        client._isShared = true;
        shared.set(name, clients.concat(client));
    }
    client._users += 1;
    return client;
}

// The end of a use: the last one closes a client that the application has not made.
async function disconnect(client) {
    client._users -= 1;
    if (client._users === 0 && client._isShared) {
        for (const [name, clients] of shared) {
            const left = clients.filter((one) => one !== client);
            left.length > 0 ? shared.set(name, left) : shared.delete(name);
        }
        await client.close();
    }
}

module.exports = { Client, Limit, connect, disconnect, emit, once };
