// job.js - a job that a worker or consumer has, and one that is stored.
'use strict';
const { errors } = require('./native.js');
const { Records, SHAPES } = require('./record.js');
const values = require('./values.js');

const FIELDS = SHAPES.message_info;
const VERDICTS = { done: 1, reject: 2, release: 3, retry: 5 };
const BACKOFF = -1;
const MARK_MOST = 61;
const STATES = { waiting: 1, claimed: 2, resting: 4, dead: 8 };

function parsed(id, body) {
    try {
        return JSON.parse(body.toString());
    } catch (failure) {
        throw new SyntaxError(`the body of job ${id} is not JSON, and job.body has its bytes: ${failure.message}`);
    }
}

// As events name a message: see line_escape() and delivery_id() of libsrc.
function escaped(bytes) {
    let found = '';
    for (let at = 0; at < bytes.length && found.length < MARK_MOST; at++) {
        const isPlain = bytes[at] >= 0x20 && bytes[at] < 0x7f && bytes[at] !== 0x5c;
        found += isPlain ? String.fromCharCode(bytes[at]) : `\\x${bytes[at].toString(16).padStart(2, '0')}`;
    }
    return found;
}

const mark = (slot, attempt, id) => `${slot} ${attempt} ${id}`;

// It has one answer: done(), retry(), reject() or release().  A worker answers by itself.
class Job {
    #records;
    #index;
    #data;
    #controller;
    #answered = false;

    constructor(source, records, index, place) {
        this._source = source;
        this.#records = records;
        this.#index = index;
        this._place = place;
    }

    // All of a poll.
    static _all(source, buffer, places) {
        const records = new Records(buffer);
        return Array.from({ length: records.length }, (_, index) => new Job(source, records, index, places[index]));
    }

    static {
        for (const name of ['slot', 'attempt', 'retriesLeft', 'redelivered', 'priority', 'token', 'headers']) {
            const read = FIELDS[name];
            Object.defineProperty(Job.prototype, name, { get() { return read(this.#records, this.#index); } });
        }
    }

    get answered() {
        return this.#answered;
    }
    // Its place, for its one answer.
    _take() {
        this.#answered = true;
        this._source._forget(this);
        return this._place;
    }
    // The bytes that were sent.
    get body() {
        return Buffer.from(FIELDS.body(this.#records, this.#index));
    }
    // What was sent as JSON.
    get data() {
        this.#data ??= { value: parsed(this.id, FIELDS.body(this.#records, this.#index)) };
        return this.#data.value;
    }
    get queueName() {
        return this._source.name;
    }
    get id() {
        return FIELDS.id(this.#records, this.#index).toString();
    }
    get key() {
        return FIELDS.key(this.#records, this.#index).toString();
    }
    get dueAt() {
        return FIELDS.dueAtMs(this.#records, this.#index);
    }
    get sentAt() {
        return FIELDS.sentAtMs(this.#records, this.#index);
    }
    // Aborted when the job belongs to another consumer, or its time is over.
    get signal() {
        this.#controller ??= new AbortController();
        return this.#controller.signal;
    }
    _abort(code, why) {
        this.#controller ??= new AbortController();
        this.#controller.abort(new errors.LostError(code, why));
    }
    // Of jobs with long ids several may have the same.
    get _mark() {
        return mark(this.slot, this.attempt, escaped(FIELDS.id(this.#records, this.#index)));
    }

    // It was handled, and is removed.
    done() {
        this.#answer('done');
    }
    // It failed: it comes again after the delay in milliseconds, by default the back-off of the topic.
    retry({ delay = BACKOFF, reason } = {}) {
        this.#answer('retry', delay, reason);
    }
    // It can never succeed: it becomes a dead letter.
    reject(reason) {
        this.#answer('reject', 0, reason);
    }
    // As if it was never claimed; this uses no retry.
    release({ delay = 0 } = {}) {
        this.#answer('release', delay);
    }
    #answer(verdict, delay = 0, reason) {
        const failure = this._answer(verdict, values.whole(delay, 'delay'), reason);
        if (failure) {
            throw failure;
        }
    }
    // Returns why it changed nothing.  `error`: what the handler has thrown.
    _answer(verdict, delay, reason, error) {
        if (this.#answered) {
            return new errors.UsageError('ANSWERED', 'the job was answered before');
        }
        const lost = this._source._answer([this._take()], verdict, delay, reason === undefined ? reason : values.shown(reason))[0];
        if (!lost && (verdict === 'reject' || (verdict === 'retry' && this.retriesLeft === 0))) {
            this._source._dies(this, error);
        }
        return lost;
    }
}

// A job that Redis holds, with what smq_message_info of slotmq/message.h has.
class StoredJob {
    constructor({ state, key, id, dueAtMs: dueAt, sentAtMs: sentAt, expiresAtMs: expiresAt, deadAtMs: deadAt,
        claimedAtMs: claimedAt, leaseAtMs, ...rest }) {
        const name = Object.keys(STATES).find((one) => STATES[one] === state);
        Object.assign(this, rest, { state: name, key: key.toString(), id: id.toString(), dueAt, sentAt, expiresAt, deadAt,
            claimedAt });
    }
    get data() {
        return parsed(this.id, this.body);
    }
}

module.exports = { Job, StoredJob, mark, VERDICTS, BACKOFF, STATES };
