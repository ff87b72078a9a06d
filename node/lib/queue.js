// queue.js - sends, and all that can be asked of a queue and done with it.
'use strict';
const native = require('./native.js');
const { error, closed, UnknownError } = require('./errors.js');
const { connect } = require('./client.js');
const { StoredJob } = require('./job.js');
const values = require('./values.js');

const FULL = -17;
const PAGE = 100;
const STATES = { waiting: 1, claimed: 2, resting: 4, dead: 8 };
const CHANGES = ['same', 'made', 'changed', 'restarted'];
const MISSED = { one: 1, none: 2 };

class Queue {
    #client;
    #topic;
    #defaults;
    #options;
    #producer;
    #opening;
    #closing;
    #next = 0;
    #pending = new Map(); // what Redis has not answered, by number
    #waiting = []; // for a connection, or for room
    #onIdle;

    // The options of a producer in docs/CONFIGURATION.md in camelCase, and:
    //   connection         a Client, or 'host:port,...', or {redis, ...the options of a client}
    //   topic              options with which it is created; false: it is not created
    //   defaultJobOptions  for each job
    constructor(name, { connection, topic, defaultJobOptions, ...options } = {}) {
        this.name = values.text(name, 'the name of a queue');
        this.#topic = topic;
        this.#defaults = defaultJobOptions;
        this.#options = values.pairs(options);
        this.#client = connect(connection);
    }

    get client() {
        return this.#client;
    }

    // Resolves when the queue can be used.
    async waitUntilReady() {
        await this.#open();
        return this;
    }

    #open() {
        if (this.#closing) {
            return Promise.reject(closed('queue'));
        }
        this.#opening ??= this.#start().catch((failure) => {
            this.#opening = undefined;
            throw failure;
        });
        return this.#opening;
    }

    async #start() {
        const client = await this.#client.open();
        await this.#client.ensure(this.name, this.#topic);
        this.#producer = native.producerNew(client, this.#options);
        native.watch(this.#producer, () => this.#take());
        native.hold(this.#producer, false);
        native.listen(this.#producer, true);
    }

    // === Sends ===

    // Send a job: resolves to {id, merged, slot} when it is stored.  `body`: a Buffer as it is, all else as JSON.
    add(body, options, ...more) {
        try {
            if (more.length > 0) {
                throw new TypeError('add(body, options): a job has no name here; put it into the body');
            }
            const given = this.#defaults ? { ...this.#defaults, ...values.object(options, 'options') } : options;
            const words = values.message(body, given);
            return new Promise((resolve, reject) => this.#send(words, given?.signal, (failure, receipt) =>
                failure ? reject(failure) : resolve(receipt)));
        } catch (failure) {
            return Promise.reject(failure);
        }
    }

    // Send several: [{body, ...options}, ...].  If one fails the error has `results`: a receipt or an error of each.
    addBulk(jobs) {
        try {
            const all = Array.from(jobs, (job) => {
                const { body, ...options } = values.object(job, 'a job');
                return [values.message(body, { ...this.#defaults, ...options }), options.signal];
            });
            return new Promise((resolve, reject) => {
                const results = [];
                let left = all.length, first;
                const one = (index) => (failure, receipt) => {
                    results[index] = failure ?? receipt;
                    first ??= failure;
                    left -= 1;
                    if (left === 0) {
                        first ? reject(Object.assign(first, { results })) : resolve(results);
                    }
                };
                all.forEach(([words, signal], index) => this.#send(words, signal, one(index)));
                if (left === 0) {
                    resolve(results);
                }
            });
        } catch (failure) {
            return Promise.reject(failure);
        }
    }

    // `ended` is called once, with an error or a receipt.
    #send(words, signal, ended) {
        if (this.#closing) {
            ended(closed('queue'));
            return;
        }
        const entry = { words, ended, number: 0 };
        if (signal) {
            this.#obey(entry, signal);
        }
        if (!entry.ended) {
            return;
        }
        if (this.#producer && this.#waiting.length === 0) {
            this.#begin(entry);
            return;
        }
        this.#waiting.push(entry);
        if (!this.#producer) {
            this.#open().then(() => this.#beginWaiting(), (failure) => this.#waiting.splice(0).forEach((one) => finish(one, failure)));
        }
    }

    // What was sent is not taken back.
    #obey(entry, signal) {
        const stop = () => {
            this.#waiting = this.#waiting.filter((one) => one !== entry);
            finish(entry, signal.reason);
        };
        const { ended } = entry;
        entry.ended = (...words) => {
            signal.removeEventListener('abort', stop);
            ended(...words);
        };
        if (signal.aborted) {
            stop();
        } else {
            signal.addEventListener('abort', stop);
        }
    }

    // false: there is no room.
    #begin(entry) {
        this.#next += 1;
        try {
            if (native.send(this.#producer, this.name, this.#next, ...entry.words) === FULL) {
                this.#waiting.unshift(entry);
                return false;
            }
        } catch (failure) {
            finish(entry, failure);
            return true;
        }
        if (this.#pending.size === 0) {
            native.hold(this.#producer, true);
        }
        this.#pending.set(this.#next, entry);
        return true;
    }

    #beginWaiting() {
        while (this.#waiting.length > 0 && this.#producer) {
            if (!this.#begin(this.#waiting.shift())) {
                break;
            }
        }
        this.#checkIdle();
    }

    #take() {
        let polled;
        try {
            polled = native.producerPoll(this.#producer);
        } catch (failure) {
            this.#fail(failure);
            return;
        }
        const { facts, ids, texts } = polled;
        const made = facts.length > 0 ? ids.split('\n') : [];
        for (let at = 0, index = 0; at < facts.length; at += 4, index++) {
            const entry = this.#pending.get(facts[at]);
            this.#pending.delete(facts[at]);
            if (facts[at + 1] !== 0) {
                finish(entry, failed(facts[at + 1], texts[index]));
            } else {
                finish(entry, undefined, { id: made[index] || entry.words[2], merged: facts[at + 2] !== 0, slot: facts[at + 3] });
            }
        }
        this.#beginWaiting();
    }

    #checkIdle() {
        if (this.#pending.size === 0 && this.#producer) {
            native.hold(this.#producer, false);
        }
        if (this.#pending.size === 0 && this.#waiting.length === 0) {
            this.#onIdle?.();
        }
    }

    #fail(failure) {
        const all = [...this.#pending.values(), ...this.#waiting.splice(0)];
        this.#pending.clear();
        all.forEach((entry) => finish(entry, failure));
        this.#checkIdle();
    }

    // === The queue ===

    async #call(kind, words) {
        if (this.#closing) {
            throw closed('queue');
        }
        await this.#client.open();
        await this.#client.ensure(this.name, this.#topic);
        return this.#client.call(kind, { topic: this.name, ...words });
    }

    // No worker takes jobs from it, until resume().
    pause() {
        return this.#call('pause');
    }
    resume() {
        return this.#call('resume');
    }
    async isPaused() {
        return (await this.stats()).slotsPaused > 0;
    }
    // All of smq_stats of slotmq/admin.h.
    stats() {
        return this.#call('stats');
    }
    // By the words of BullMQ; those that rest after a failure are delayed.
    async getJobCounts() {
        const { due, claimed, stalled, waiting, resting, done, dead } = await this.stats();
        const ready = Math.min(waiting, due - stalled);
        return { waiting: ready, active: claimed, delayed: waiting - ready + resting, completed: done, failed: dead };
    }
    async count() {
        const { waiting, resting } = await this.stats();
        return waiting + resting;
    }

    // The stored jobs in these states, slot by slot: by `for await`.  It is no snapshot.
    async *jobs({ states = ['waiting'], contains, reason, limit = Infinity } = {}) {
        const wanted = [states].flat().reduce((found, state) => found | (STATES[state] ?? values.refuse('states',
            Object.keys(STATES).join(', '), state)), 0);
        for (let left = limit, cursor; left > 0;) {
            const size = Math.min(PAGE, left);
            const page = await this.#call('messages', { filter: [wanted, contains, reason, size, cursor] });
            yield* page.map((info) => new StoredJob(info));
            left = page.length < size ? 0 : left - size;
            cursor = page.at(-1)?.cursor;
        }
    }
    // Dead letters.
    async getDead({ limit = PAGE, ...filter } = {}) {
        const found = [];
        for await (const job of this.jobs({ ...filter, states: 'dead', limit })) {
            found.push(job);
        }
        return found;
    }
    // How many were requeued.
    requeueDead({ contains, reason, limit } = {}) {
        return this.#call('requeue', { filter: [0, contains, reason, values.whole(limit, 'limit')] });
    }
    // Delete jobs for ever: 'waiting', 'resting', 'dead'.
    clean(states, { contains, reason, limit } = {}) {
        const wanted = [states].flat().reduce((found, state) => found | (STATES[state] ?? 0), 0);
        return this.#call('purge', { filter: [wanted, contains, reason, values.whole(limit, 'limit')] });
    }
    // All that waits or rests.
    drain() {
        return this.clean(['waiting', 'resting']);
    }
    // undefined: there is none.  `key`: if it was sent with one.
    async getJob(id, { key } = {}) {
        try {
            return new StoredJob((await this.#call('get', { which: which(id, key) }))[0]);
        } catch (failure) {
            if (failure.code === 'NO_MESSAGE') {
                return undefined;
            }
            throw failure;
        }
    }
    remove(id, { key } = {}) {
        return this.#call('remove', { which: which(id, key) });
    }
    // How many waiting jobs come before this one.
    rank(id, { key } = {}) {
        return this.#call('rank', { which: which(id, key) });
    }
    // Give a waiting job another priority, delay or dueAt.
    reschedule(id, { key, priority, delay, dueAt } = {}) {
        return this.#call('reschedule', { which: which(id, key), message: values.message('', { priority, delay, dueAt }) });
    }
    // Change options of the topic.
    alter(options) {
        const pairs = values.topicPairs(options);
        return this.#call('alter', { options: pairs, text: pairs.filter((_, index) => index % 2 === 0).join(',') });
    }
    // Delete the topic; without `force` it must be empty.
    obliterate({ force = false } = {}) {
        return this.#call('delete', { flag: force });
    }

    // === Schedules ===

    // Store a job at times that repeat, each time once: `repeat` has pattern (cron) and tz, or every (ms), and startDate,
    // endDate, limit, missed ('one', 'none').  Resolves to 'made', 'same', 'changed' or 'restarted'.
    async upsertJobScheduler(id, repeat, { body = null, ...options } = {}) {
        const change = await this.#call('schedulePut', { text: values.text(id, 'id'), schedule: schedule(repeat),
            message: values.message(body, options) });
        return CHANGES[change];
    }
    // undefined: there is none.
    async getJobScheduler(id) {
        try {
            return scheduler(await this.#call('scheduleGet', { text: values.text(id, 'id') }));
        } catch (failure) {
            if (failure.code === 'NO_SCHEDULE') {
                return undefined;
            }
            throw failure;
        }
    }
    // Without their bodies.
    async getJobSchedulers() {
        const found = await this.#call('schedules');
        return Array.from({ length: found.length / 2 }, (_, index) => scheduler(found.slice(2 * index, 2 * index + 2)));
    }
    removeJobScheduler(id) {
        return this.#call('scheduleRemove', { text: values.text(id, 'id') });
    }
    pauseJobScheduler(id, note) {
        return this.#call('schedulePause', { text: values.text(id, 'id'), more: note });
    }
    resumeJobScheduler(id) {
        return this.#call('scheduleResume', { text: values.text(id, 'id') });
    }
    // Store its job now.
    runJobScheduler(id) {
        return this.#call('scheduleRun', { text: values.text(id, 'id') });
    }

    // Wait until all that was sent is stored or has failed, and close.
    close() {
        this.#closing ??= this.#close();
        return this.#closing;
    }

    async #close() {
        if (this.#pending.size > 0 || this.#waiting.length > 0) {
            await new Promise((resolve) => (this.#onIdle = resolve));
        }
        await this.#opening?.catch(() => {});
        if (this.#producer) {
            const producer = this.#producer;
            this.#producer = undefined;
            await native.close(producer);
            this.#fail(new UnknownError('UNKNOWN', 'the queue was closed before the receipt came'));
        }
        await this.#client.release?.();
    }
}

function finish(entry, ...words) {
    const { ended } = entry ?? {};
    if (ended) {
        entry.ended = undefined;
        ended(...words);
    }
}

const USAGE = 1, RETRY = 2, UNKNOWN = 3, FATAL = 5;
// Of receipts: the statuses that a send can have.
const SENT = { '-4': ['NO_TOPIC', USAGE], '-5': ['TOPIC_DIFFERS', USAGE], '-7': ['WRONG_TYPE', USAGE], '-8': ['TOO_BIG', USAGE],
    '-10': ['DAMAGED', USAGE], '-11': ['DENIED', USAGE], '-12': ['BAD_SERVER', USAGE], '-14': ['NO_MEMORY', RETRY],
    '-15': ['TIMED_OUT', RETRY], '-16': ['UNAVAILABLE', RETRY], '-17': ['FULL', RETRY], '-19': ['UNKNOWN', UNKNOWN],
    '-23': ['CLOSED', FATAL], '-25': ['DUPLICATE', USAGE] };
const failed = (status, text) => error(status, ...(SENT[status] ?? ['INVALID', USAGE]), text);

const which = (id, key) => [values.bytes(key, 'key'), values.bytes(id, 'id')];

function schedule({ pattern, every, tz, startDate, endDate, limit, missed = 'one' }) {
    return [pattern, values.whole(every, 'every'), tz, values.moment(startDate, 'startDate'), values.moment(endDate, 'endDate'),
        values.whole(limit, 'limit'), MISSED[missed] ?? values.refuse('missed', 'one or none', missed)];
}

function scheduler([{ id, nextAtMs, lastAtMs, ticks, paused, note, topic }, { cron, everyMs, zone, startAtMs, endAtMs, limit }, sent]) {
    return { id, topic, pattern: cron, every: everyMs, tz: zone, startDate: startAtMs, endDate: endAtMs, limit, next: nextAtMs,
        last: lastAtMs, ticks, paused, note, ...(sent ? { job: new StoredJob(sent) } : {}) };
}

// The first `count` times after `after` at which a schedule is due.  It asks no server.
function nextTimes(repeat, { count = 1, after = Date.now() } = {}) {
    return native.scheduleNext(schedule(repeat), values.moment(after, 'after'), count).map((time) => new Date(time));
}

module.exports = { Queue, nextTimes };
