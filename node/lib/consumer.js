// consumer.js - jobs by `for await`, which the application answers itself.
'use strict';
const { Source } = require('./source.js');

const AT_ONCE = 64;

class Consumer {
    #source;
    #ready = [];
    #waiting = [];
    #failure;
    #opening;
    #signal;
    #onAbort = () => this.close();

    // The options of a consumer in docs/CONFIGURATION.md in camelCase, and connection, topic, limit, signal.
    constructor(name, { signal, ...options } = {}) {
        this.#source = new Source(name, options, {
            room: () => (this.#waiting.length > 0 ? AT_ONCE : 0),
            take: (jobs) => this.#take(jobs),
            ended: (failure) => this.#ended(failure),
            event: () => {},
        });
        this.#signal = signal;
        if (signal?.aborted) {
            this.close();
        }
        signal?.addEventListener('abort', this.#onAbort);
    }

    get name() {
        return this.#source.name;
    }

    #take(jobs) {
        this.#ready.push(...jobs);
        while (this.#waiting.length > 0 && this.#ready.length > 0) {
            this.#waiting.shift().resolve({ value: this.#ready.shift(), done: false });
        }
    }

    #ended(failure) {
        this.#failure = failure;
        this.#signal?.removeEventListener('abort', this.#onAbort);
        for (const { resolve, reject } of this.#waiting.splice(0)) {
            failure ? reject(failure) : resolve({ value: undefined, done: true });
        }
    }

    [Symbol.asyncIterator]() {
        return { next: () => this.next(), return: async (value) => ({ value, done: true }) };
    }

    // The next job.  {done: true}: it was closed.  Rejects with the error that has ended it.
    async next() {
        if (this.#source.closed) {
            if (this.#failure) {
                throw this.#failure;
            }
            return { value: undefined, done: true };
        }
        await this.waitUntilReady();
        if (this.#ready.length > 0) {
            return { value: this.#ready.shift(), done: false };
        }
        if (this.#source.closed) {
            return this.next();
        }
        return new Promise((resolve, reject) => {
            this.#waiting.push({ resolve, reject });
            this.#source.plan();
        });
    }

    waitUntilReady() {
        this.#opening ??= this.#source.open().catch((failure) => {
            this.#opening = undefined;
            throw failure;
        });
        return this.#opening;
    }

    // Take no more, give back what was not taken, and wait for the answers of the jobs that were: drainTimeoutMs at most.
    async close() {
        await this.#opening?.catch(() => {});
        for (const job of this.#ready.splice(0)) {
            job.release();
        }
        if (this.#source.handle) {
            this.#source.stop();
            this.#source.plan();
        } else {
            this.#source.abandon();
        }
        await this.#source.ended;
    }
}

module.exports = { Consumer };
