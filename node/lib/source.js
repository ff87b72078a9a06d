// source.js - what a worker and a consumer have in common: they poll by the loop, and answer many jobs in one call.
'use strict';
const { EventEmitter } = require('node:events');
const { native } = require('./native.js');
const { connect, disconnect, emit } = require('./client.js');
const { Job, VERDICTS } = require('./job.js');
const values = require('./values.js');

const AT_ONCE = 256;
const DEFAULT_GAP = '5m';

// A subclass has _room(): how many jobs it takes now; _take(jobs), _event(event) and _ended(failure).
class Source extends EventEmitter {
    #options;
    #gap;
    #listening = false;
    #planned = false;
    #stopping = false;
    #timer;
    #places = [];
    #then = [];
    #finish;
    #signal;
    #onAbort = () => this.close();

    constructor(name, given) {
        super();
        const { connection, topic, limit, signal, ...options } = values.object(given, 'options');
        this.name = values.text(name, 'the name of a queue');
        this.#gap = values.duration(options.maxPollGapMs ?? DEFAULT_GAP, 'maxPollGapMs');
        this.#options = { topic, limit, pairs: values.pairs({ ...options, topic: this.name }) };
        this.client = connect(connection, name);
        if (!this.client._sources.has(name)) {
            this.client._sources.set(name, this);
        }
        this._end = new Promise((resolve) => (this.#finish = resolve));
        this._isClosed = false;
        this.#signal = signal;
        signal?.addEventListener('abort', this.#onAbort);
        if (signal?.aborted) {
            process.nextTick(this.#onAbort);
        }
    }

    async _open() {
        const { topic, limit, pairs } = this.#options;
        const client = await this.client._open();
        await this.client._ensure(this.name, topic);
        this._handle = await native.call('consumer_new', client, pairs, await limit?._open(this.client));
        this.client._sources.set(this.name, this);
        native.watch(this._handle, () => this.#wake());
        this._plan();
    }

    // Soon, when all that runs now has run: give the answers, and listen if there is room.
    _plan() {
        if (!this.#planned) {
            this.#planned = true;
            process.nextTick(() => this.#update());
        }
    }

    #update() {
        this.#planned = false;
        this.#flush();
        const wanted = this.#stopping || this._room() > 0;
        if (wanted === this.#listening || !this._handle || this._isClosed) {
            return;
        }
        this.#listening = wanted;
        native.listen(this._handle, wanted, true);
        clearInterval(this.#timer);
        // While it does not listen this keeps its slots, and the process.
        this.#timer = wanted ? undefined : setInterval(() => this.#poll(0), this.#gap / 3);
    }

    #wake() {
        const room = this.#stopping ? 1 : this._room();
        const jobs = room > 0 ? this.#poll(Math.min(room, AT_ONCE)) : [];
        if (jobs.length > 0) {
            this._take(jobs);
        }
        this._plan();
    }

    #poll(capacity) {
        try {
            const places = new Float64Array(capacity);
            return Job._all(this, native.consumerPoll(this._handle, places), places);
        } catch (failure) {
            this._abandon(failure.code === 'CLOSED' ? undefined : failure);
            return [];
        }
    }

    // A job has its answer.
    _forget() {}
    // It had its last one.
    _dies() {}

    // Answer now.  Returns for each place why that changed nothing.
    _answer(places, verdict, delay, reason) {
        const statuses = Float64Array.from(places);
        native.answer(this._handle, statuses, VERDICTS[verdict], delay, reason);
        this._plan();
        return Array.from(statuses, (status) => (status === 0 ? undefined : native.error(status)));
    }

    // Answer it with `done`, together with others; `then` gets why that changed nothing.
    _done(job, then) {
        this.#places.push(job._take());
        this.#then.push(then);
        this._plan();
    }

    #flush() {
        if (this.#places.length > 0) {
            const then = this.#then.splice(0);
            this._answer(this.#places.splice(0), 'done').forEach((lost, index) => then[index](lost));
        }
    }

    // Take no more, and wait for the answers of what was taken.  It was opened.
    _stop() {
        this.#stopping = true;
        if (!this._isClosed) {
            native.call('consumer_stop', this._handle);
            this._plan();
        }
    }

    // Nothing comes any more.
    async _abandon(failure) {
        if (this._isClosed) {
            return;
        }
        this._isClosed = true;
        clearInterval(this.#timer);
        this.#signal?.removeEventListener('abort', this.#onAbort);
        this.#flush();
        await (this._handle && native.close(this._handle));
        this.client._takeEvents();
        if (this.client._sources.get(this.name) === this) {
            this.client._sources.delete(this.name);
        }
        await disconnect(this.client);
        this._ended(failure);
        this.#finish();
        emit(this, 'closed');
    }
}

module.exports = { Source };
