// job.js - a job that a worker or consumer has, and one that is stored.
'use strict';
const native = require('./native.js');
const { FatalError, LostError, UsageError, closed } = require('./errors.js');
const values = require('./values.js');

// What the addon writes of each delivery, in this order (src/consumer.c).
const [NUMBER, SLOT, ATTEMPT, RETRIES_LEFT, PRIORITY, DUE_AT, SENT_AT, EXPIRES_AT, REDELIVERED, BASE, BODY, KEY, ID, TOKEN,
    HEADERS, FACTS] = Array(16).keys();
const DONE = 1, REJECT = 2, RELEASE = 3, RETRY = 5;
const BACKOFF = -1;
const ANSWERED = 1;
const STATES = { 1: 'waiting', 2: 'claimed', 4: 'resting', 8: 'dead' };
const STATUSES = { '-18': 'IN_WORK', '-20': 'LEASE_LOST', '-21': 'FENCED', '-23': 'CLOSED' };

// Why an answer changed nothing; undefined: it was accepted.
function refusal(status) {
    if (status === 0) {
        return undefined;
    }
    const code = STATUSES[status] ?? 'INVALID';
    if (status === ANSWERED) {
        return new UsageError('ANSWERED', 'the job was answered before');
    }
    if (code === 'CLOSED') {
        return new FatalError(code, 'the consumer was closed: the job is delivered again');
    }
    return code === 'INVALID' || code === 'IN_WORK'
        ? new UsageError(code, 'the answer cannot be given now: the lease is being extended')
        : new LostError(code, 'the job belongs to another consumer now');
}

function parsed(job) {
    try {
        return JSON.parse(job.body.toString());
    } catch (failure) {
        throw new SyntaxError(`the body of job ${values.shown(job.id)} is not JSON, and job.body has its bytes: ${failure.message}`);
    }
}

// Valid until it is answered: done(), retry(), reject() or release().  A worker answers by itself.
class Job {
    #source;
    #facts;
    #bytes;
    #at;
    #data;
    #controller;
    #extending;
    answered = false;

    constructor(source, facts, bytes, index) {
        this.#source = source;
        this.#facts = facts;
        this.#bytes = bytes;
        this.#at = index * FACTS;
    }

    // All of a poll.
    static all(source, buffer) {
        const first = new Float64Array(buffer, 0, FACTS);
        const facts = new Float64Array(buffer, 0, first[BASE] / 8);
        const bytes = Buffer.from(buffer);
        return Array.from({ length: facts.length / FACTS }, (_, index) => new Job(source, facts, bytes, index));
    }

    #part(part) {
        let begin = this.#facts[this.#at + BASE];
        for (let one = BODY; one < part; one++) {
            begin += this.#facts[this.#at + one];
        }
        return this.#bytes.subarray(begin, begin + this.#facts[this.#at + part]);
    }

    // Internal.
    get number() {
        return this.#facts[this.#at + NUMBER];
    }
    // The bytes, as they were sent.
    get body() {
        return Buffer.from(this.#part(BODY));
    }
    // What was sent as JSON.
    get data() {
        this.#data ??= { value: parsed({ id: this.id, body: this.#part(BODY) }) };
        return this.#data.value;
    }
    get queueName() {
        return this.#source.name;
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
    // How many attempts were made before this one, as BullMQ counts.
    get attemptsMade() {
        return this.attempt - 1;
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
    get expiresAt() {
        return this.#facts[this.#at + EXPIRES_AT];
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
    // Internal.
    abort(why) {
        this.#controller?.abort(why);
    }

    // It was handled, and is removed.
    done() {
        this.#answer(DONE);
    }
    // It failed: it comes again after the delay in milliseconds, by default the back-off of the topic.
    retry({ delay = BACKOFF, reason } = {}) {
        this.#answer(RETRY, delay, reason);
    }
    // It can never succeed: it becomes a dead letter.
    reject(reason) {
        this.#answer(REJECT, 0, reason);
    }
    // As if it was never claimed; uses no retry.
    release({ delay = 0 } = {}) {
        this.#answer(RELEASE, delay);
    }
    // Its lease lasts so many milliseconds from now, also if this process stalls.  Not needed for long handlers.
    async extend(lease) {
        if (this.answered) {
            throw refusal(ANSWERED);
        }
        const call = native.extend(this.#source.handle, this.number, Math.max(1, values.whole(lease, 'lease')));
        this.#extending = call.catch(() => {}).then(() => {
            this.#extending = undefined;
            if (!this.answered && !this.#source.closed) {
                native.extend(this.#source.handle, this.number);
            }
        });
        await call;
        await this.#extending;
    }
    // Throws if the job belongs to another consumer, or the consumer stops.
    check() {
        const failure = refusal(native.check(this.#source.handle, this.number));
        if (failure) {
            throw failure;
        }
    }
    // Internal: what must end before an answer.
    settled() {
        return this.#extending;
    }

    #answer(verdict, delay = 0, reason) {
        if (this.answered) {
            throw refusal(ANSWERED);
        }
        const late = values.whole(delay, 'delay');
        const failure = this.#source.answer(this, verdict, late, reason === undefined ? undefined : values.reason(reason));
        this.answered = failure?.code !== 'IN_WORK';
        if (failure) {
            throw failure;
        }
    }
    toString() {
        return `job ${this.id} of ${this.queueName}, attempt ${this.attempt}`;
    }
}

// A job that Redis holds: all that smq_message_info of slotmq/message.h has.
class StoredJob {
    constructor(info) {
        const { structSize, state, body, key, id, ...rest } = info;
        Object.assign(this, { state: STATES[state], body: body ?? Buffer.alloc(0), key: key?.toString() ?? '',
            id: id?.toString() ?? '' });
        for (const [name, value] of Object.entries(rest)) {
            this[name.replace(/Ms$/, '')] = value;
        }
    }
    get data() {
        return parsed(this);
    }
}

module.exports = { Job, StoredJob, refusal, closed, DONE, REJECT, RETRY, BACKOFF };
