// source.js - what a worker and a consumer have in common: they poll by the loop, and answer many jobs in one call.
'use strict';
const native = require('./native.js');
const { connect } = require('./client.js');
const { Job, refusal, DONE } = require('./job.js');
const values = require('./values.js');

const AT_ONCE = 256;
const DEFAULT_GAP_MS = 300000;

// `user` has room(), which says how many jobs it takes now, take(jobs), ended(failure) and event(event).
class Source {
    handle;
    closed = false;
    #user;
    #options;
    #listening = false;
    #timer;
    #planned = false;
    #stopping = false;
    #gap;
    #finish;
    #done = [];
    #onDone = [];

    constructor(name, { connection, topic, limit, ...options }, user) {
        this.name = values.text(name, 'the name of a queue');
        this.#user = user;
        this.#gap = options.maxPollGapMs ?? DEFAULT_GAP_MS;
        this.#options = { topic, limit, pairs: values.pairs(options) };
        this.client = connect(connection, name);
        this.client.sources.set(name, this);
        this.ended = new Promise((resolve) => (this.#finish = resolve));
    }

    async open() {
        const { topic, limit, pairs } = this.#options;
        const client = await this.client.open();
        await this.client.ensure(this.name, topic);
        const handle = await native.consumerNew(client, this.name, pairs, await limit?.open(this.client));
        this.handle = handle;
        native.watch(handle, () => this.#wake());
        if (this.#stopping) {
            native.stop(handle);
        }
        this.plan();
    }

    // Soon, when all that runs now has run: give the answers, and listen if there is room.
    plan() {
        if (!this.#planned) {
            this.#planned = true;
            process.nextTick(() => this.#update());
        }
    }

    #update() {
        this.#planned = false;
        this.flush();
        const wanted = !this.closed && this.handle !== undefined && (this.#stopping || this.#user.room() > 0);
        if (wanted === this.#listening || this.handle === undefined) {
            return;
        }
        this.#listening = wanted;
        native.listen(this.handle, wanted);
        clearInterval(this.#timer);
        if (!wanted && !this.closed) {
            // While nothing is polled this keeps the slots; the descriptor does it else.
            this.#timer = setInterval(() => this.poll(0), this.#gap / 3).unref();
        }
    }

    #wake() {
        const room = this.#stopping ? 1 : this.#user.room();
        const jobs = room > 0 ? this.poll(Math.min(room, AT_ONCE)) : [];
        if (jobs.length > 0) {
            this.#user.take(jobs);
        }
        this.plan();
    }

    poll(capacity) {
        try {
            const buffer = native.consumerPoll(this.handle, capacity);
            return buffer ? Job.all(this, buffer) : [];
        } catch (failure) {
            this.#end(failure.code === 'CLOSED' ? undefined : failure);
            return [];
        }
    }

    // Answer one now.  Returns why that changed nothing.
    answer(job, verdict, delay, reason) {
        const number = Float64Array.of(job.number);
        native.answer(this.handle, number, 1, verdict, delay, reason);
        this.plan();
        return refusal(number[0]);
    }

    // Answer it with `done`, together with others; `then` gets why that changed nothing.
    done(job, then) {
        job.answered = true;
        this.#done.push(job.number);
        this.#onDone.push(then);
        this.plan();
    }

    flush() {
        if (this.#done.length === 0) {
            return;
        }
        const numbers = Float64Array.from(this.#done), then = this.#onDone;
        this.#done = [];
        this.#onDone = [];
        native.answer(this.handle, numbers, numbers.length, DONE, 0);
        then.forEach((one, index) => one(refusal(numbers[index])));
    }

    onEvent(event) {
        this.#user.event(event);
    }

    stop() {
        this.#stopping = true;
        if (this.handle && !this.closed) {
            native.stop(this.handle);
            this.plan();
        }
    }

    // Nothing comes any more.  Calls `ended` of the user once.
    async #end(failure) {
        if (this.closed) {
            return;
        }
        this.closed = true;
        clearInterval(this.#timer);
        this.flush();
        await native.close(this.handle);
        this.client.takeEvents();
        this.#leave();
        this.#user.ended(failure);
        this.#finish();
    }

    // Of one that was never opened, or at once.
    async abandon(failure) {
        if (this.handle) {
            return this.#end(failure);
        }
        if (!this.closed) {
            this.closed = true;
            this.#leave();
            this.#user.ended(failure);
            this.#finish();
        }
        return undefined;
    }

    #leave() {
        if (this.client.sources.get(this.name) === this) {
            this.client.sources.delete(this.name);
        }
        this.client.release?.();
    }
}

module.exports = { Source };
