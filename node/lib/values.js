// values.js - what the application gives is checked, and becomes what the addon takes.
'use strict';

const refuse = (what, expected, value) => {
    throw Object.assign(new TypeError(`${what} must be ${expected}, not ${shown(value)}`), {
        code: 'ERR_INVALID_ARG_TYPE',
    });
};

// Any value as a short text, also one that refuses to be one.
function shown(value) {
    try {
        const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
        return text.slice(0, 100);
    } catch {
        return `a value of type ${typeof value}`;
    }
}

// Why a handler failed, as a text for the library.
function reason(failure) {
    try {
        const text = failure instanceof Error ? failure.message : failure;
        return String(text).slice(0, 1000).replaceAll('\0', '\\0');
    } catch {
        return 'a value that has no text';
    }
}

function whole(value, what) {
    if (value === undefined || value === null) {
        return 0;
    }
    return Number.isSafeInteger(value) ? value : refuse(what, 'a whole number', value);
}

// Milliseconds, or a Date.
function moment(value, what) {
    return whole(value instanceof Date ? value.getTime() : value, what);
}

function text(value, what) {
    if (typeof value !== 'string' || value.includes('\0')) {
        refuse(what, 'a text without NUL', value);
    }
    return value;
}

// A key, an id or a value of a header.
function bytes(value, what) {
    if (value === undefined || value === null || value instanceof Uint8Array) {
        return value;
    }
    if (typeof value !== 'string' || /\p{Surrogate}/u.test(value)) {
        refuse(what, 'a text that has UTF-8, or a Buffer', value);
    }
    return value;
}

function object(value, what, known) {
    if (value === undefined || value === null) {
        return {};
    }
    if (typeof value !== 'object') {
        refuse(what, 'an object', value);
    }
    for (const name in value) {
        if (known && !known.has(name)) {
            throw Object.assign(new TypeError(`${what} have no ${name}; they may have ${[...known].join(', ')}`), {
                code: 'ERR_INVALID_ARG_VALUE',
            });
        }
    }
    return value;
}

function headers(value) {
    return value && Object.entries(object(value, 'headers'))
        .flatMap(([name, one]) => [text(name, 'the name of a header'), bytes(one, `the header ${name}`)]);
}

function body(value) {
    if (value instanceof Uint8Array) {
        return value;
    }
    const json = JSON.stringify(value);
    return json === undefined ? refuse('a body', 'a Buffer or a value that JSON has', value) : json;
}

const JOB_OPTIONS = new Set(['key', 'id', 'priority', 'delay', 'dueAt', 'ttl', 'attempts', 'headers', 'signal']);
const NO_RETRY = -1;

// attempts: how often a job is tried; the library counts the retries after the first.
function retries(attempts) {
    const count = whole(attempts, 'attempts');
    if (attempts !== undefined && count < 1) {
        refuse('attempts', '1 or more', attempts);
    }
    return attempts === undefined ? 0 : count - 1 || NO_RETRY;
}

// The words of a message: body, key, id, priority, delay, dueAt, ttl, maxRetries, headers.
function message(value, options) {
    const given = options === undefined ? {} : object(options, 'options of a job', JOB_OPTIONS);
    return [
        body(value), bytes(given.key, 'key'), bytes(given.id, 'id'), whole(given.priority, 'priority'),
        whole(given.delay, 'delay'), moment(given.dueAt, 'dueAt'), whole(given.ttl, 'ttl'), retries(given.attempts),
        headers(given.headers),
    ];
}

const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

// Options of the library by their names in camelCase, as [name, text, ...].
function pairs(options) {
    const found = [];
    for (const [name, value] of Object.entries(options)) {
        if (value === undefined || value === null) {
            continue;
        }
        if (!['string', 'number', 'boolean'].includes(typeof value)) {
            refuse(name, 'a text, a number or a boolean', value);
        }
        found.push(snake(name), text(String(value), name));
    }
    return found;
}

// Options of a topic.  attempts and backoff may have the form of BullMQ.
function topicPairs(options) {
    const { attempts, backoff, ...rest } = object(options, 'topic');
    if (attempts !== undefined) {
        rest.maxRetries = retries(attempts);
    }
    if (backoff !== null && typeof backoff === 'object') {
        const delay = whole(backoff.delay, 'backoff.delay');
        rest.backoff = backoff.type === 'fixed' ? `fixed:${delay}` : `exp:${delay}:${Math.max(delay, 600000)}`;
    } else if (backoff !== undefined) {
        rest.backoff = typeof backoff === 'number' ? `fixed:${backoff}` : backoff;
    }
    return pairs(rest);
}

module.exports = {
    refuse, shown, reason, whole, moment, text, bytes, object, headers, body, message, pairs, snake, topicPairs,
};
