// worker.js - calls a handler for each job, so many at once.
'use strict';
const { native, errors } = require('./native.js');
const { emit } = require('./client.js');
const { Source } = require('./source.js');
const { BACKOFF, mark } = require('./job.js');
const values = require('./values.js');

const AGAIN_MS = 1000;
const DYING_MOST = 10000;
// Events by which a worker loses jobs: whether this is one of them.
const LOST = {
    lease_lost: (job, event) => job._mark === event.mark,
    overdue: (job, event) => job._mark === event.mark,
    fenced: (job, event) => job.slot === event.slot,
    session_lost: (job) => job.token !== '',
};

// A handler throws it to make its job a dead letter now.
class UnrecoverableError extends Error {
    name = 'UnrecoverableError';
}

function isUnrecoverable(thrown) {
    try {
        return thrown instanceof UnrecoverableError || thrown?.name === 'UnrecoverableError';
    } catch {
        return false;
    }
}

class Worker extends Source {
    #handler;
    #concurrency;
    #isChanged = false; // since it was made
    #running = new Set();
    #dying = []; // {mark, job, error} of jobs that had their last answer, until they are dead letters
    #closing = false;
    #wait;

    constructor(name, handler, given) {
        const { concurrency = 1, autorun = true, ...options } = values.object(given, 'options of a worker');
        if (typeof handler !== 'function') {
            values.refuse('a handler', 'a function', handler);
        }
        super(name, { maxInFlight: values.count(concurrency, 'concurrency', 1), ...options });
        this.#handler = handler;
        this.#concurrency = concurrency;
        if (autorun) {
            this.run();
        }
    }

    get concurrency() {
        return this.#concurrency;
    }
    // 0: no job begins until it is changed again.
    set concurrency(most) {
        this.#concurrency = values.count(most, 'concurrency', 0);
        this.#isChanged = true;
        this.#change();
        this._plan();
    }
    #change() {
        if (this.#isChanged && this._handle && !this._isClosed) {
            native.call('consumer_set_max_in_flight', this._handle, this.#concurrency).catch(() => {});
        }
    }

    // Begin, where autorun is false.  While no server answers this is tried again.
    run() {
        this._opening ??= this.#open();
        return this;
    }

    async #open() {
        while (!this._handle && !this.#closing && !this._isClosed) {
            try {
                await this._open();
                this.#change();
                emit(this, 'ready');
            } catch (failure) {
                if (!(failure instanceof errors.RetryError)) {
                    await this._abandon(failure);
                    return;
                }
                await new Promise((resolve) => (this.#wait = { resolve, timer: setTimeout(resolve, AGAIN_MS) }));
            }
        }
    }

    // When it takes jobs, or has ended.
    async waitUntilReady() {
        await this.run()._opening;
        return this;
    }

    _room() {
        return this.#concurrency - this.#running.size;
    }

    _take(jobs) {
        for (const job of jobs) {
            this.#running.add(job);
            emit(this, 'active', job);
            this.#handle(job);
        }
    }

    async #handle(job) {
        try {
            const result = await this.#handler(job);
            if (job.answered) {
                this.#finish(job);
            } else {
                this._done(job, (lost) => this.#finish(job, ...(lost ? ['lost', job, lost] : ['completed', job, result])));
            }
        } catch (thrown) {
            this.#fail(job, thrown);
        }
    }

    #fail(job, thrown) {
        const isLast = isUnrecoverable(thrown);
        const lost = job.answered ? undefined
            : job._answer(isLast ? 'reject' : 'retry', isLast ? 0 : BACKOFF, thrown ?? 'failed', thrown);
        this.#finish(job, lost ? 'lost' : 'failed', job, lost ?? thrown);
    }

    #finish(job, ...event) {
        this.#running.delete(job);
        this._plan();
        if (event.length > 0) {
            emit(this, ...event);
        }
    }

    _dies(job, error) {
        if (this.#dying.push({ mark: job._mark, job, error }) > DYING_MOST) {
            this.#dying.shift(); // its event was dropped
        }
    }

    _event({ id: kind, messageId, slot, attempt, reason, text }) {
        const event = { slot, mark: mark(slot, attempt, messageId) };
        if (kind === 'dead') {
            const at = this.#dying.findIndex((one) => one.mark === event.mark);
            const { job, error } = at < 0 ? {} : this.#dying.splice(at, 1)[0];
            emit(this, 'dead', { id: job?.id ?? messageId, attempt, reason, job, error });
        } else if (LOST[kind]) {
            const isLost = (job) => LOST[kind](job, event);
            this.#dying = this.#dying.filter(({ job }) => !isLost(job));
            for (const job of [...this.#running].filter(isLost)) {
                if (kind === 'overdue' && job.retriesLeft === 0) {
                    this._dies(job);
                }
                job._abort(kind === 'fenced' ? 'FENCED' : 'LEASE_LOST', text);
            }
        }
    }

    _ended(failure) {
        if (failure) {
            emit(this, 'error', failure);
        }
    }

    // Take no more jobs, wait for the handlers that run, drainTimeoutMs at most, and store their answers.  With `force`
    // at once: their jobs are delivered again.
    async close(force = false) {
        this.#closing = true;
        clearTimeout(this.#wait?.timer);
        this.#wait?.resolve();
        await this._opening;
        if (force || !this._handle) {
            this._abandon();
        } else {
            this._stop();
        }
        await this._end;
    }
}

module.exports = { Worker, UnrecoverableError };
