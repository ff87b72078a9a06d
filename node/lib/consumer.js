// consumer.js - jobs by `for await`, which the application answers itself.
'use strict';
const { Source } = require('./source.js');
const { once } = require('./client.js');

const AT_ONCE = 64;
// Jobs that nobody has answered and nobody can answer any more are retried.
const dropped = new FinalizationRegistry(({ source, place }) => source._answer([place], 'retry', -1, 'dropped without an answer'));

class Consumer extends Source {
    #ready = [];
    #waiting = [];
    #failure;

    _room() {
        return this.#waiting.length > 0 ? AT_ONCE : 0;
    }
    _event() {}
    _forget(job) {
        dropped.unregister(job);
    }
    _take(jobs) {
        jobs.forEach((job) => dropped.register(job, { source: this, place: job._place }, job));
        this.#ready.push(...jobs);
        while (this.#waiting.length > 0 && this.#ready.length > 0) {
            this.#waiting.shift().resolve({ value: this.#ready.shift(), done: false });
        }
    }
    _ended(failure) {
        this.#failure = failure;
        for (const { resolve, reject } of this.#waiting.splice(0)) {
            failure ? reject(failure) : resolve({ value: undefined, done: true });
        }
    }

    [Symbol.asyncIterator]() {
        return { next: () => this.next(), return: async (value) => ({ value, done: true }) };
    }

    // The next job; {done: true}: it was closed.  Rejects with what has ended it.
    async next() {
        if (!this._isClosed) {
            await this.waitUntilReady();
        }
        if (this.#ready.length > 0) {
            return { value: this.#ready.shift(), done: false };
        }
        if (this.#failure) {
            throw this.#failure;
        }
        return this._isClosed ? { value: undefined, done: true } : new Promise((resolve, reject) => {
            this.#waiting.push({ resolve, reject });
            this._plan();
        });
    }

    waitUntilReady() {
        return once(this, '_opening', () => this._open());
    }

    // Give back what was not taken, and wait for the answers of the jobs that were, drainTimeoutMs at most.
    async close() {
        await this._opening?.catch(() => {});
        this.#ready.splice(0).forEach((job) => job._answer('release', 0));
        this._handle ? this._stop() : this._abandon();
        await this._end;
    }
}

module.exports = { Consumer };
