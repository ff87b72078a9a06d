// queue.js - sends, and all that can be asked of a queue and done with it.
'use strict';
const { native, closed, errors } = require('./native.js');
const { connect, disconnect, once } = require('./client.js');
const { StoredJob, STATES } = require('./job.js');
const { Records, SHAPES, ordered } = require('./record.js');
const values = require('./values.js');

const PAGE = 100;
const CHANGES = ['same', 'made', 'changed', 'restarted'];
const RECEIPT = SHAPES.receipt;
const ID = 2; // its place in the words of a message
const FOREVER = 'forever';
const NO_ROOM = 'too many sends have no answer; wait, or raise maxPending, maxPendingBytes or fullTimeoutMs';
const MISSED = { one: 1, none: 2 };

// Methods that only call a function of the library, and resolve to its result.
const CALLS = {
    pause: () => ['topic_pause'], // no worker takes jobs from it, until resume()
    resume: () => ['topic_resume'],
    requeueDead: (filter) => ['dead_requeue', filterOf(filter)], // resolves to how many
    clean: (states, filter) => ['topic_purge', filterOf({ ...values.object(filter, 'a filter'), states })], // for ever
    remove: (id, { key } = {}) => ['message_remove', which(id, key)],
    rank: (id, { key } = {}) => ['message_rank', which(id, key)], // how many waiting jobs come before it
    // Give a waiting job another priority, delay or dueAt.
    reschedule(id, given) {
        const { key, ...place } = values.object(given, 'a place');
        return ['message_reschedule', which(id, key), values.message('', place)];
    },
    obliterate: ({ force = false } = {}) => ['topic_delete', Number(force)], // without `force` it must be empty
    removeJobScheduler: (id) => ['schedule_remove', values.text(id, 'id')],
    pauseJobScheduler: (id, note) => ['schedule_pause', values.text(id, 'id'), note],
    resumeJobScheduler: (id) => ['schedule_resume', values.text(id, 'id')],
    runJobScheduler: (id) => ['schedule_run', values.text(id, 'id')],
};

class Queue {
    #topic;
    #defaults;
    #options;
    #fullMs; // how long a send waits for room
    #producer;
    #number = 0;
    #pending = new Map(); // what Redis has not answered, by number
    #waiting = []; // for a connection, or for room
    #onIdle;

    constructor(name, given) {
        const { connection, topic, defaultJobOptions, fullTimeoutMs, ...options } = values.object(given, 'options of a queue');
        this.name = values.text(name, 'the name of a queue');
        this.#topic = topic;
        this.#defaults = defaultJobOptions;
        this.#fullMs = (fullTimeoutMs ?? FOREVER) === FOREVER ? Infinity : values.duration(fullTimeoutMs, 'fullTimeoutMs');
        this.#options = values.pairs({ ...options, pollReceipts: true });
        this.client = connect(connection);
    }

    async waitUntilReady() {
        await this.#open();
        return this;
    }

    #open() {
        return this._closing ? Promise.reject(closed('queue')) : once(this, '_opening', async () => {
            await this.client._ensure(this.name, this.#topic);
            this.#producer = await this.client._call('producer_new', this.#options);
            native.watch(this.#producer, () => this.#take());
            native.listen(this.#producer, true, false);
        });
    }

    // === Sends ===

    // Resolves to {id, merged, slot} when the job is stored.  `body`: a Buffer as it is, all else as JSON.
    add(body, options, ...more) {
        return new Promise((resolve, reject) => {
            if (more.length > 0) {
                values.refuse('a job', 'add(body, options): it has no name', body);
            }
            const given = { ...this.#defaults, ...values.object(options, 'options of a job') };
            this.#send(values.message(body, given), given.signal, resolve, reject);
        });
    }

    // Send [{body, ...options}, ...].  If one of them fails the error has `results`: a receipt or an error of each.  What a
    // signal has as its reason is thrown as it is.
    addBulk(jobs) {
        return new Promise((resolve, reject) => {
            const all = Array.from(jobs, (job) => {
                const { body, ...options } = values.object(job, 'a job');
                const given = { ...this.#defaults, ...options };
                return [values.message(body, given), given.signal];
            });
            const results = [], failures = [];
            let left = all.length;
            const check = () => left === 0 && (failures.length > 0 ? reject(withResults(failures[0], results)) : resolve(results));
            all.forEach(([words, signal], index) => {
                const ended = (result) => {
                    results[index] = result;
                    left -= 1;
                    check();
                };
                this.#send(words, signal, ended, (failure) => {
                    failures.push(failure);
                    ended(failure);
                });
            });
            check();
        });
    }

    // One of `done` and `failed` is called once.
    #send(words, signal, done, failed) {
        const sending = { words, done, failed, timer: undefined };
        if (this._closing) {
            failed(closed('queue'));
        } else if (signal?.aborted) {
            failed(signal.reason);
        } else {
            if (signal) {
                this.#obey(sending, signal);
            }
            this.#waiting.push(sending);
            if (this.#producer) {
                this.#beginWaiting();
            } else {
                this.#open().then(() => this.#beginWaiting(), (failure) => this.#fail(failure));
            }
        }
    }

    #obey(sending, signal) {
        const stop = () => this.#stop(sending, signal.reason);
        const once = (end) => (result) => {
            signal.removeEventListener('abort', stop);
            sending.done = sending.failed = () => {};
            end(result);
        };
        sending.done = once(sending.done);
        sending.failed = once(sending.failed);
        signal.addEventListener('abort', stop);
    }

    // What was sent is not taken back.
    #stop(sending, failure) {
        this.#waiting = this.#waiting.filter((one) => one !== sending);
        clearTimeout(sending.timer);
        sending.failed(failure);
        this.#checkIdle();
    }

    #beginWaiting() {
        let begun = 0;
        while (begun < this.#waiting.length && this.#begin(this.#waiting[begun])) {
            begun += 1;
        }
        this.#waiting.splice(0, begun);
        for (let at = this.#waiting.length - 1; this.#fullMs < Infinity && at >= 0 && !this.#waiting[at].timer; at--) {
            const sending = this.#waiting[at];
            sending.timer = setTimeout(() => this.#stop(sending, new errors.RetryError('FULL', NO_ROOM)), this.#fullMs);
        }
        this.#checkIdle();
    }

    // false: there is no room.
    #begin(sending) {
        try {
            this.#number += 1;
            if (!native.send(this.#producer, this.name, this.#number, sending.words)) {
                return false;
            }
            this.#pending.set(this.#number, sending);
        } catch (failure) {
            sending.failed(failure);
        }
        clearTimeout(sending.timer);
        return true;
    }

    #take() {
        try {
            const receipts = new Records(native.producerPoll(this.#producer));
            for (let index = 0; index < receipts.length; index++) {
                const number = RECEIPT.user(receipts, index), status = RECEIPT.status(receipts, index);
                const sending = this.#pending.get(number);
                this.#pending.delete(number);
                if (status === 0) {
                    const id = RECEIPT.id(receipts, index) || sending.words[ID];
                    sending.done({ id, merged: RECEIPT.merged(receipts, index), slot: RECEIPT.slot(receipts, index) });
                } else {
                    sending.failed(native.error(status, RECEIPT.text(receipts, index)));
                }
            }
            this.#beginWaiting();
        } catch (failure) {
            this.#fail(failure);
        }
    }

    #checkIdle() {
        const isIdle = this.#pending.size === 0;
        if (this.#producer) {
            native.listen(this.#producer, true, !isIdle);
        }
        if (isIdle && this.#waiting.length === 0) {
            this.#onIdle?.();
        }
    }

    #fail(failure) {
        const all = [...this.#pending.values(), ...this.#waiting.splice(0)];
        this.#pending.clear();
        for (const sending of all) {
            clearTimeout(sending.timer);
            sending.failed(failure);
        }
        this.#checkIdle();
    }

    // Wait until all that was sent is stored or has failed, and close.
    async close() {
        this._closing ??= this.#close();
        await this._closing;
    }

    async #close() {
        await Promise.resolve(); // when _closing is set
        if (this.#pending.size > 0 || this.#waiting.length > 0) {
            await new Promise((resolve) => (this.#onIdle = resolve));
        }
        await this._opening?.catch(() => {});
        const producer = this.#producer;
        this.#producer = undefined;
        await (producer && native.close(producer));
        this.#fail(new errors.UnknownError('UNKNOWN', 'the queue was closed before the receipt came'));
        await disconnect(this.client);
    }

    // === The queue ===

    static {
        for (const [method, words] of Object.entries(CALLS)) {
            Queue.prototype[method] = async function call(...given) {
                return this.#call(...words(...given));
            };
        }
    }

    async #ready() {
        if (this._closing) {
            throw closed('queue');
        }
        await this.client._ensure(this.name, this.#topic);
    }
    async #call(name, ...words) {
        await this.#ready();
        return this.client._call(name, this.name, ...words);
    }
    async #ask(struct, name, ...words) {
        await this.#ready();
        return this.client._ask(struct, name, this.name, ...words);
    }

    async isPaused() {
        return (await this.stats()).slotsPaused > 0;
    }
    async stats() {
        return (await this.#ask('stats', 'topic_stats'))[0];
    }
    // By the words of BullMQ; jobs that rest after a failure are delayed.
    async getJobCounts() {
        const { due, claimed, stalled, waiting, resting, done, dead } = await this.stats();
        const ready = Math.min(waiting, due - stalled);
        return { waiting: ready, active: claimed, delayed: waiting - ready + resting, completed: done, failed: dead };
    }

    // By `for await`: the stored jobs in these states, slot by slot.  It is no snapshot.
    async *jobs(wanted) {
        const { states = 'waiting', limit = Infinity, ...filter } = values.object(wanted, 'a filter');
        for (let left = limit, cursor; left > 0;) {
            const size = Math.min(PAGE, left);
            const page = await this.#ask('message_info', 'message_each', filterOf({ states, limit: size, ...filter }, cursor));
            yield* page.map((info) => new StoredJob(info));
            left = page.length < size ? 0 : left - size;
            cursor = page.at(-1)?.cursor;
        }
    }
    // 100 at most, without a limit.
    async getDead(filter) {
        const found = [];
        for await (const job of this.jobs({ limit: PAGE, ...values.object(filter, 'a filter'), states: 'dead' })) {
            found.push(job);
        }
        return found;
    }
    // undefined: there is none.  `key`: if it was sent with one.
    async getJob(id, { key } = {}) {
        const found = await this.#ask('message_info', 'message_get', which(id, key)).catch(without('NO_MESSAGE'));
        return found && new StoredJob(found[0]);
    }
    async alter(options) {
        const pairs = values.topicPairs(options);
        await this.#ready();
        await this.client._call('topic_alter', pairs, this.name, pairs.filter((_, index) => index % 2 === 0).join(','));
    }

    // === Schedules ===

    // Store a job at times that repeat, each time once: at those of `pattern` (cron) and `tz`, or `every` so many ms; with
    // startDate, endDate, limit, and missed: 'one' or 'none'.  Resolves to 'made', 'same', 'changed' or 'restarted'.
    async upsertJobScheduler(id, repeat, job) {
        const { body = null, ...options } = values.object(job, 'a job');
        const words = schedule(repeat, values.message(body, options));
        return CHANGES[await this.#call('schedule_put', values.text(id, 'id'), words)];
    }
    // undefined: there is none.
    async getJobScheduler(id) {
        const found = await this.#ask('schedule_info', 'schedule_get', values.text(id, 'id')).catch(without('NO_SCHEDULE'));
        return found && scheduler(found[0]);
    }
    async getJobSchedulers() {
        return (await this.#ask('schedule_info', 'schedule_each')).map(scheduler);
    }
}

// The failure may be that of other calls, too.
const withResults = (failure, results) => (failure instanceof errors.SlotmqError
    ? Object.assign(new failure.constructor(failure.code, failure.message), { results }) : failure);

const without = (code) => (failure) => {
    if (failure.code !== code) {
        throw failure;
    }
};

const which = (id, key) => ordered('message_ref', { key: values.bytes(key, 'key'), id: values.bytes(id, 'id') });

function filterOf({ states = [], contains, reason, limit } = {}, cursor = undefined) {
    const found = [states].flat().map((one) => STATES[one] ?? values.refuse('states', Object.keys(STATES).join(', '), one));
    const bits = found.reduce((sum, one) => sum | one, 0);
    return ordered('filter', { states: bits, contains, reason, limit: values.whole(limit, 'limit'), cursor });
}

function schedule({ pattern, tz, every, startDate, endDate, limit, missed = 'one' }, message) {
    return ordered('schedule', {
        cron: pattern, zone: tz, everyMs: values.whole(every, 'every'), startAtMs: values.moment(startDate, 'startDate'),
        endAtMs: values.moment(endDate, 'endDate'), limit: values.whole(limit, 'limit'),
        missed: MISSED[missed] ?? values.refuse('missed', 'one or none', missed), message,
    });
}

function scheduler({ id, topic, cron, zone, everyMs, limit, nextAtMs: next, lastAtMs: last, ticks, paused, note }) {
    return { id, topic, pattern: cron, tz: zone, every: everyMs, limit, next, last, ticks, paused, note };
}

module.exports = { Queue };
