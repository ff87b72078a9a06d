// values.js - what the application gives is checked, and becomes what the addon takes.
'use strict';

const JOB_OPTIONS = new Set(['key', 'id', 'priority', 'delay', 'dueAt', 'ttl', 'attempts', 'headers', 'signal']);
const NO_RETRY = -1;
const REASON_MOST = 1000;
const UNITS = { '': 1, ms: 1, s: 1000, m: 60000, h: 3600000, d: 86400000 };

// Any value as a text, also one that refuses to be one.
function shown(value) {
    try {
        return String(value instanceof Error ? value.message : value).slice(0, REASON_MOST).replaceAll('\0', '\\0');
    } catch {
        return 'a value that has no text';
    }
}

function refuse(what, expected, value) {
    const error = new TypeError(`${what} must be ${expected}, not ${shown(value).slice(0, 100)}`);
    throw Object.assign(error, { code: 'ERR_INVALID_ARG_TYPE' });
}

const isNone = (value) => value === undefined || value === null;

const whole = (value, what) => (isNone(value) ? 0 : Number.isSafeInteger(value) ? value : refuse(what, 'a whole number', value));
const moment = (value, what) => whole(value instanceof Date ? value.getTime() : value, what);

// What the library has as int32_t.
function count(value, what, least) {
    const number = whole(value, what);
    return number >= least && number < 2 ** 31 ? number : refuse(what, `${least} or more, and less than 2 ** 31`, value);
}

// A duration of the library, as 5000 or '1m30s', in milliseconds.
function duration(value, what) {
    const parts = [...shown(value).matchAll(/(\d+)([a-z]*)/g)];
    const sum = parts.reduce((before, [, number, unit]) => before + number * UNITS[unit], 0);
    return parts.length > 0 && parts.map(([part]) => part).join('') === shown(value) && sum < 2 ** 31 ? sum
        : refuse(what, 'a duration as 500 or 30s', value);
}

function text(value, what) {
    return typeof value === 'string' && !value.includes('\0') ? value : refuse(what, 'a text without NUL', value);
}

// A key, an id or the value of a header.
function bytes(value, what) {
    const isFit = isNone(value) || value instanceof Uint8Array || (typeof value === 'string' && !/\p{Surrogate}/u.test(value));
    return isFit ? value : refuse(what, 'a Buffer or a text that has UTF-8', value);
}

function object(value, what, known) {
    if (!isNone(value) && typeof value !== 'object') {
        refuse(what, 'an object', value);
    }
    for (const name in value) {
        if (known && !known.has(name)) {
            refuse(what, `of ${[...known].join(', ')}`, name);
        }
    }
    return value ?? {};
}

function body(value) {
    return value instanceof Uint8Array ? value : JSON.stringify(value) ?? refuse('a body', 'a Buffer or a value that JSON has', value);
}

// How often a job is tried; the library counts the retries after the first try.
function retries(attempts) {
    return isNone(attempts) ? 0 : count(attempts, 'attempts', 1) - 1 || NO_RETRY;
}

// The words of a message (src/addon.h).
function message(value, options) {
    const given = object(options, 'options of a job', JOB_OPTIONS);
    const headers = given.headers && Object.entries(object(given.headers, 'headers')).flatMap(([name, one]) =>
        [text(name, 'the name of a header'), bytes(one, `the header ${name}`) ?? '']);
    return [body(value), bytes(given.key, 'key'), bytes(given.id, 'id'), whole(given.priority, 'priority'),
        whole(given.delay, 'delay'), moment(given.dueAt, 'dueAt'), whole(given.ttl, 'ttl'), retries(given.attempts), headers];
}

// Options of the library in camelCase, as [name, text, ...].
function pairs(options) {
    return Object.entries(options).filter(([, value]) => !isNone(value)).flatMap(([name, value]) => [
        text(name, 'the name of an option').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        ['string', 'number', 'boolean'].includes(typeof value) ? text(String(value), name)
            : refuse(name, 'a text, a number or a boolean', value)]);
}

// Those of a topic.  attempts and backoff may have the form of BullMQ.
function topicPairs(options) {
    const { attempts, backoff, ...rest } = object(options, 'topic');
    const { type, delay } = object(typeof backoff === 'object' ? backoff : undefined, 'backoff');
    if (!isNone(type)) {
        rest.backoff = type === 'fixed' ? `fixed:${whole(delay, 'delay')}` : `exp:${whole(delay, 'delay')}:${24 * 3600000}`;
    } else if (!isNone(backoff)) {
        rest.backoff = typeof backoff === 'number' ? `fixed:${backoff}` : backoff;
    }
    return pairs(isNone(attempts) ? rest : { ...rest, maxRetries: retries(attempts) });
}

module.exports = { shown, refuse, whole, count, duration, moment, text, bytes, object, message, pairs, topicPairs };
