// job.js - a job that a worker or consumer has, and one that is stored.
'use strict';
const { errors } = require('./native.js');
const values = require('./values.js');

// What the addon writes of each delivery, in this order (src/consumer.c).
const [PLACE, SLOT, ATTEMPT, RETRIES_LEFT, PRIORITY, DUE_AT, SENT_AT, REDELIVERED, BASE, BODY, KEY, ID, TOKEN, HEADERS, FACTS] =
    Array(15).keys();
const VERDICTS = { done: 1, reject: 2, release: 3, retry: 5 };
const BACKOFF = -1;
const STATES = { waiting: 1, claimed: 2, resting: 4, dead: 8 };

function parsed(id, body) {
    try {
        return JSON.parse(body.toString());
    } catch (failure) {
        throw new SyntaxError(`the body of job ${id} is not JSON, and job.body has its bytes: ${failure.message}`);
    }
}

// It has one answer: done(), retry(), reject() or release().  A worker answers by itself.
class Job {
    #facts;
    #bytes;
    #at;
    #data;
    #controller;
    #answered = false;

    constructor(source, facts, bytes, at) {
        this._source = source;
        this.#facts = facts;
        this.#bytes = bytes;
        this.#at = at;
    }

    // All of a poll.
    static _all(source, buffer) {
        const facts = new Float64Array(buffer, 0, new Float64Array(buffer, 0, FACTS)[BASE] / 8);
        const bytes = Buffer.from(buffer);
        return Array.from({ length: facts.length / FACTS }, (_, index) => new Job(source, facts, bytes, index * FACTS));
    }

    #part(part) {
        let begin = this.#facts[this.#at + BASE];
        for (let one = BODY; one < part; one++) {
            begin += this.#facts[this.#at + one];
        }
        return this.#bytes.subarray(begin, begin + this.#facts[this.#at + part]);
    }

    get answered() {
        return this.#answered;
    }
    get _place() {
        return this.#facts[this.#at + PLACE];
    }
    // Its place, for its one answer.
    _take() {
        this.#answered = true;
        this._source._forget(this);
        return this._place;
    }
    // The bytes that were sent.
    get body() {
        return Buffer.from(this.#part(BODY));
    }
    // What was sent as JSON.
    get data() {
        this.#data ??= { value: parsed(this.id, this.#part(BODY)) };
        return this.#data.value;
    }
    get queueName() {
        return this._source.name;
    }
    get id() {
        return this.#part(ID).toString();
    }
    get key() {
        return this.#part(KEY).toString();
    }
    get slot() {
        return this.#facts[this.#at + SLOT];
    }
    // 1 is the first.
    get attempt() {
        return this.#facts[this.#at + ATTEMPT];
    }
    get retriesLeft() {
        return this.#facts[this.#at + RETRIES_LEFT];
    }
    get redelivered() {
        return this.#facts[this.#at + REDELIVERED] !== 0;
    }
    get priority() {
        return this.#facts[this.#at + PRIORITY];
    }
    get dueAt() {
        return this.#facts[this.#at + DUE_AT];
    }
    get sentAt() {
        return this.#facts[this.#at + SENT_AT];
    }
    // Of the owner of its slot, of which a newer one is larger; '' in a shared topic.
    get token() {
        return this.#part(TOKEN).toString();
    }
    get headers() {
        const found = {}, part = this.#part(HEADERS);
        for (let at = 0; at < part.length;) {
            const name = at + 8, value = name + part.readUInt32LE(at), end = value + part.readUInt32LE(at + 4);
            found[part.toString('utf8', name, value)] = Buffer.from(part.subarray(value, end));
            at = end;
        }
        return found;
    }
    // Aborted when the job belongs to another consumer, or its time is over.
    get signal() {
        this.#controller ??= new AbortController();
        return this.#controller.signal;
    }
    _abort(why) {
        this.#controller?.abort(new errors.LostError('LEASE_LOST', why));
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
    // Returns why it changed nothing.
    _answer(verdict, delay, reason) {
        if (this.#answered) {
            return new errors.UsageError('ANSWERED', 'the job was answered before');
        }
        return this._source._answer([this._take()], verdict, delay, reason === undefined ? reason : values.shown(reason))[0];
    }
}

// A job that Redis holds, with what smq_message_info of slotmq/message.h has.
class StoredJob {
    constructor({ state, key, id, dueAtMs: dueAt, sentAtMs: sentAt, expiresAtMs: expiresAt, deadAtMs: deadAt,
        claimedAtMs: claimedAt, structSize, leaseAtMs, ...rest }) {
        const name = Object.keys(STATES).find((one) => STATES[one] === state);
        Object.assign(this, rest, { state: name, key: key.toString(), id: id.toString(), dueAt, sentAt, expiresAt, deadAt,
            claimedAt });
    }
    get data() {
        return parsed(this.id, this.body);
    }
}

module.exports = { Job, StoredJob, VERDICTS, BACKOFF, STATES };
