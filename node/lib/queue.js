// queue.js - sends, and all that can be asked of a queue and done with it.
'use strict';
const { native, closed, errors } = require('./native.js');
const { connect, disconnect, once } = require('./client.js');
const { StoredJob, STATES } = require('./job.js');
const values = require('./values.js');

const PAGE = 100;
const FACTS = 3;
const CHANGES = ['same', 'made', 'changed', 'restarted'];
const MISSED = { one: 1, none: 2 };

// A send ends once, with an error or a receipt.
class Sending {
    constructor(words, ended) {
        this.words = words;
        this.ended = ended;
    }
    end(...result) {
        this.ended?.(...result);
        this.ended = undefined;
    }
}

class Queue {
    #topic;
    #defaults;
    #options;
    #producer;
    #number = 0;
    #pending = new Map(); // what Redis has not answered, by number
    #waiting = []; // for a connection, or for room
    #onIdle;

    // The options of a producer in docs/CONFIGURATION.md in camelCase, and:
    //   connection         a Client, or 'host:port,...', or {redis, ...options of a client}
    //   topic              options with which it is created; false: it is not created
    //   defaultJobOptions  of each job
    constructor(name, given) {
        const { connection, topic, defaultJobOptions, ...options } = values.object(given, 'options of a queue');
        this.name = values.text(name, 'the name of a queue');
        this.#topic = topic;
        this.#defaults = defaultJobOptions;
        this.#options = values.pairs(options);
        this.client = connect(connection);
    }

    async waitUntilReady() {
        await this.#open();
        return this;
    }

    #open() {
        return this._closing ? Promise.reject(closed('queue')) : once(this, '_opening', async () => {
            const client = await this.client._open();
            await this.client._ensure(this.name, this.#topic);
            this.#producer = native.producerNew(client, this.#options);
            native.watch(this.#producer, () => this.#take());
            native.hold(this.#producer, false);
            native.listen(this.#producer, true);
        });
    }

    // === Sends ===

    // Resolves to {id, merged, slot} when the job is stored.  `body`: a Buffer as it is, all else as JSON.
    add(body, options, ...more) {
        return new Promise((resolve, reject) => {
            if (more.length > 0) {
                values.refuse('a job', 'add(body, options): it has no name', body);
            }
            const given = this.#defaults ? { ...this.#defaults, ...values.object(options, 'options of a job') } : options;
            this.#send(values.message(body, given), given?.signal, (failure, receipt) => (failure ? reject(failure) : resolve(receipt)));
        });
    }

    // Send [{body, ...options}, ...].  If one of them fails the error has `results`: a receipt or an error of each.
    addBulk(jobs) {
        return new Promise((resolve, reject) => {
            const all = Array.from(jobs, (job) => {
                const { body, ...options } = values.object(job, 'a job');
                return [values.message(body, { ...this.#defaults, ...options }), options.signal];
            });
            const results = [];
            let left = all.length, first;
            const check = () => left === 0 && (first ? reject(Object.assign(first, { results })) : resolve(results));
            all.forEach((words, index) => this.#send(...words, (failure, receipt) => {
                results[index] = failure ?? receipt;
                first ??= failure;
                left -= 1;
                check();
            }));
            check();
        });
    }

    #send(words, signal, ended) {
        const sending = new Sending(words, ended);
        if (this._closing) {
            sending.end(closed('queue'));
        } else if (signal?.aborted) {
            sending.end(signal.reason);
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

    // What was sent is not taken back.
    #obey(sending, signal) {
        const { ended } = sending;
        const stop = () => {
            this.#waiting = this.#waiting.filter((one) => one !== sending);
            sending.end(signal.reason);
        };
        sending.ended = (...result) => {
            signal.removeEventListener('abort', stop);
            ended(...result);
        };
        signal.addEventListener('abort', stop);
    }

    #beginWaiting() {
        let begun = 0;
        while (begun < this.#waiting.length && this.#begin(this.#waiting[begun])) {
            begun += 1;
        }
        this.#waiting.splice(0, begun);
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
            sending.end(failure);
        }
        return true;
    }

    #take() {
        try {
            const [facts, ids, failures] = native.producerPoll(this.#producer);
            const made = ids.split('\n');
            for (let index = 0; index < facts.length / FACTS; index++) {
                const [number, merged, slot] = facts.subarray(index * FACTS, index * FACTS + FACTS);
                const sending = this.#pending.get(number);
                this.#pending.delete(number);
                sending.end(failures[index], { id: made[index] || sending.words[2], merged: merged !== 0, slot });
            }
            this.#beginWaiting();
        } catch (failure) {
            this.#fail(failure);
        }
    }

    #checkIdle() {
        const isIdle = this.#pending.size === 0;
        if (this.#producer) {
            native.hold(this.#producer, !isIdle);
        }
        if (isIdle && this.#waiting.length === 0) {
            this.#onIdle?.();
        }
    }

    #fail(failure) {
        const all = [...this.#pending.values(), ...this.#waiting.splice(0)];
        this.#pending.clear();
        all.forEach((sending) => sending.end(failure));
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

    async #call(kind, words) {
        if (this._closing) {
            throw closed('queue');
        }
        await this.client._ensure(this.name, this.#topic);
        return this.client._call(kind, { topic: this.name, ...words });
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
    // smq_stats of slotmq/admin.h.
    stats() {
        return this.#call('stats');
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
            const page = await this.#call('messages', { filter: filterOf({ states, limit: size, ...filter }, cursor) });
            yield* page.map((info) => new StoredJob(info));
            left = page.length < size ? 0 : left - size;
            cursor = page.at(-1)?.cursor;
        }
    }
    async getDead(filter) {
        const found = [];
        for await (const job of this.jobs({ limit: PAGE, ...values.object(filter, 'a filter'), states: 'dead' })) {
            found.push(job);
        }
        return found;
    }
    // Resolves to how many.
    requeueDead(filter) {
        return this.#call('requeue', { filter: filterOf(filter) });
    }
    // Delete jobs for ever that are 'waiting', 'resting' or 'dead'.
    clean(states, filter) {
        return this.#call('purge', { filter: filterOf({ ...values.object(filter, 'a filter'), states }) });
    }
    // undefined: there is none.  `key`: if it was sent with one.
    async getJob(id, { key } = {}) {
        const found = await this.#call('get', { which: which(id, key) }).catch(without('NO_MESSAGE'));
        return found && new StoredJob(found[0]);
    }
    remove(id, { key } = {}) {
        return this.#call('remove', { which: which(id, key) });
    }
    // How many waiting jobs come before it.
    rank(id, { key } = {}) {
        return this.#call('rank', { which: which(id, key) });
    }
    // Give a waiting job another priority, delay or dueAt.
    reschedule(id, given) {
        const { key, ...place } = values.object(given, 'a place');
        return this.#call('reschedule', { which: which(id, key), message: values.message('', place) });
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

    // Store a job at times that repeat, each time once: at those of `pattern` (cron) and `tz`, or `every` so many ms; with
    // startDate, endDate, limit, and missed: 'one' or 'none'.  Resolves to 'made', 'same', 'changed' or 'restarted'.
    async upsertJobScheduler(id, repeat, job) {
        const { body = null, ...options } = values.object(job, 'a job');
        const words = { text: values.text(id, 'id'), schedule: schedule(repeat), message: values.message(body, options) };
        return CHANGES[await this.#call('schedulePut', words)];
    }
    // undefined: there is none.
    async getJobScheduler(id) {
        const found = await this.#call('scheduleGet', { text: values.text(id, 'id') }).catch(without('NO_SCHEDULE'));
        return found && scheduler(...found);
    }
    async getJobSchedulers() {
        const found = await this.#call('schedules');
        return found.filter((_, at) => at % 2 === 0).map((known, index) => scheduler(known, found[2 * index + 1]));
    }
    removeJobScheduler(id) {
        return this.#call('scheduleRemove', { text: values.text(id, 'id') });
    }
    pauseJobScheduler(id, note) {
        return this.#call('schedulePause', { text: values.text(id, 'id'), note });
    }
    resumeJobScheduler(id) {
        return this.#call('scheduleResume', { text: values.text(id, 'id') });
    }
    // Store its job now.
    runJobScheduler(id) {
        return this.#call('scheduleRun', { text: values.text(id, 'id') });
    }
}

const without = (code) => (failure) => {
    if (failure.code !== code) {
        throw failure;
    }
};

const which = (id, key) => [values.bytes(key, 'key'), values.bytes(id, 'id')];

function filterOf({ states = [], contains, reason, limit } = {}, cursor = undefined) {
    const found = [states].flat().map((one) => STATES[one] ?? values.refuse('states', Object.keys(STATES).join(', '), one));
    return [found.reduce((sum, one) => sum | one, 0), contains, reason, values.whole(limit, 'limit'), cursor];
}

function schedule({ pattern, tz, every, startDate, endDate, limit, missed = 'one' }) {
    return [pattern, tz, values.whole(every, 'every'), values.moment(startDate, 'startDate'), values.moment(endDate, 'endDate'),
        values.whole(limit, 'limit'), MISSED[missed] ?? values.refuse('missed', 'one or none', missed)];
}

function scheduler({ id, topic, nextAtMs: next, lastAtMs: last, ticks, paused, note }, { cron, zone, everyMs, limit }) {
    return { id, topic, pattern: cron, tz: zone, every: everyMs, limit, next, last, ticks, paused, note };
}

module.exports = { Queue };
