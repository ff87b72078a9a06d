// worker.js - calls a handler for each job, so many at once.
'use strict';
const { EventEmitter } = require('node:events');
const native = require('./native.js');
const { RetryError, UnrecoverableError } = require('./errors.js');
const { emit } = require('./client.js');
const { Source } = require('./source.js');
const { REJECT, RETRY, BACKOFF } = require('./job.js');
const values = require('./values.js');

const AGAIN_MS = 1000;
const DYING_MOST = 10000;
const LOST = new Set(['lease_lost', 'overdue', 'fenced']);

// Events: 'ready', 'active' (job), 'completed' (job, result), 'failed' (job, error), 'dead' ({id, attempt, reason, job,
// error}), 'lost' (job, error), 'error' (error), 'closed'.
class Worker extends EventEmitter {
    #source;
    #handler;
    #concurrency;
    #running = new Set();
    #dying = new Map();
    #opening;
    #timer;
    #closing;
    #isPaused = false;
    #signal;
    #onAbort = () => this.close();

    // `handler`: async (job) => result.  The options of a consumer in docs/CONFIGURATION.md in camelCase, and
    // concurrency, connection, topic, limit, autorun, signal.
    constructor(name, handler, { concurrency = 1, autorun = true, signal, ...options } = {}) {
        super();
        if (typeof handler !== 'function') {
            values.refuse('a handler', 'a function', handler);
        }
        if (!(values.whole(concurrency, 'concurrency') >= 1)) {
            values.refuse('concurrency', '1 or more', concurrency);
        }
        this.#handler = handler;
        this.#concurrency = concurrency;
        this.#source = new Source(name, { maxInFlight: concurrency, ...options }, {
            room: () => this.#concurrency - this.#running.size,
            take: (jobs) => jobs.forEach((job) => this.#begin(job)),
            ended: (failure) => this.#ended(failure),
            event: (event) => this.#event(event),
        });
        this.#signal = signal;
        if (autorun) {
            this.run();
        }
        signal?.addEventListener('abort', this.#onAbort);
        if (signal?.aborted) {
            this.close();
        }
    }

    get name() {
        return this.#source.name;
    }
    get concurrency() {
        return this.#concurrency;
    }
    set concurrency(most) {
        this.#concurrency = values.whole(most, 'concurrency');
        this.#setMost();
    }

    // Begin, if `autorun` is false.  While no server answers this is tried again and again.
    run() {
        this.#opening ??= this.#open();
        return this;
    }

    async #open() {
        while (!this.#closing) {
            try {
                await this.#source.open();
                emit(this, 'ready');
                return;
            } catch (failure) {
                if (!(failure instanceof RetryError)) {
                    this.#source.abandon(failure);
                    return;
                }
                await new Promise((resolve) => (this.#timer = { resolve, id: setTimeout(resolve, AGAIN_MS) }));
            }
        }
    }

    // When it can take jobs, or has ended.
    async waitUntilReady() {
        await this.run().#opening;
        return this;
    }

    #begin(job) {
        this.#running.add(job);
        emit(this, 'active', job);
        this.#handle(job);
    }

    async #handle(job) {
        let result, failure;
        try {
            result = await this.#handler(job);
        } catch (thrown) {
            failure = { thrown };
        }
        await job.settled();
        if (failure) {
            this.#fail(job, failure.thrown);
        } else if (job.answered) {
            this.#finish(job);
        } else {
            this.#source.done(job, (lost) => {
                this.#finish(job);
                lost ? emit(this, 'lost', job, lost) : emit(this, 'completed', job, result);
            });
        }
    }

    #fail(job, thrown) {
        const isFinal = isUnrecoverable(thrown);
        if (!job.answered) {
            if ((isFinal || job.retriesLeft === 0) && this.#dying.size < DYING_MOST) {
                this.#dying.set(job.id, { job, error: thrown });
            }
            job.answered = true;
            const lost = this.#source.answer(job, isFinal ? REJECT : RETRY, isFinal ? 0 : BACKOFF, values.reason(thrown));
            if (lost) {
                this.#finish(job);
                emit(this, 'lost', job, lost);
                return;
            }
        }
        this.#finish(job);
        emit(this, 'failed', job, thrown);
    }

    #finish(job) {
        this.#running.delete(job);
        this.#source.plan();
    }

    #event(event) {
        if (event.id === 'dead') {
            const { messageId: id, attempt, reason } = event;
            const known = this.#dying.get(id);
            this.#dying.delete(id);
            emit(this, 'dead', { id, attempt, reason, ...known });
        } else if (LOST.has(event.id)) {
            for (const job of this.#running) {
                if (job.id === event.messageId) {
                    job.abort(new Error(event.text));
                }
            }
        }
    }

    #ended(failure) {
        this.#signal?.removeEventListener('abort', this.#onAbort);
        if (failure) {
            emit(this, 'error', failure);
        }
        emit(this, 'closed');
    }

    // No job begins until resume(); those that run end.
    pause() {
        this.#isPaused = true;
        return this.#setMost();
    }
    resume() {
        this.#isPaused = false;
        return this.#setMost();
    }
    isPaused() {
        return this.#isPaused;
    }

    async #setMost() {
        await this.waitUntilReady();
        if (this.#source.handle && !this.#source.closed) {
            await native.setMost(this.#source.handle, this.#isPaused ? 0 : this.#concurrency);
            this.#source.plan();
        }
    }

    // Take no more jobs, wait for the handlers that run, drainTimeoutMs at most, and store their answers.  With `force`
    // at once: their jobs are delivered again.
    close(force = false) {
        this.#closing ??= true;
        if (this.#timer) {
            clearTimeout(this.#timer.id);
            this.#timer.resolve();
        }
        Promise.resolve(this.#opening).then(() => {
            if (force || !this.#source.handle) {
                this.#source.abandon();
            } else {
                this.#source.stop();
            }
        });
        return this.#source.ended;
    }

    // Internal: how often the descriptor has woken the loop.
    get wakes() {
        return this.#source.handle ? native.wakes(this.#source.handle) : 0;
    }
}

function isUnrecoverable(thrown) {
    try {
        return thrown instanceof UnrecoverableError || thrown?.name === 'UnrecoverableError';
    } catch {
        return false;
    }
}

module.exports = { Worker };
