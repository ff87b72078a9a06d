/* retry.js - sends dead letters back: one, some, or all at a rate. */
import { post } from './api.js';
import { el } from './dom.js';
import { count, plural } from './format.js';
import { ask, field, notice } from './parts.js';

/* How a message is named in a request; null: not by this page.  In layout inline the body names it. */
export function nameOf(message) {
    const named = {};
    if (message.id_base64 !== undefined || message.id !== null) {
        Object.assign(
            named,
            message.id_base64 === undefined ? { id: message.id } : { id_base64: message.id_base64 },
        );
    } else if (message.hidden || message.body_cut || message.body === undefined) {
        return null;
    } else {
        Object.assign(
            named,
            message.body_base64 === undefined
                ? { id: message.body }
                : { id_base64: message.body_base64 },
        );
    }
    if (message.key_base64 !== undefined) {
        named.key_base64 = message.key_base64;
    } else if (message.key !== null && message.key !== undefined) {
        named.key = message.key;
    }
    return named;
}

export function keyOf(named) {
    return JSON.stringify(named);
}

export function retryThese(page, topic, names) {
    return page.change(
        () => post('requeue', { topic, messages: names }),
        `${plural(names.length, 'message')} sent back`,
    );
}

/* Asks for a rate, and begins to send back what has these texts.  `many` is how many there may be. */
export async function retryAll(page, topic, { reason, contains }, many, warning) {
    const scope = [
        reason && ['with the reason ', el('q', {}, reason)],
        contains && [' that contain ', el('q', {}, contains)],
    ].filter(Boolean);
    const answer = await ask(
        'Send dead letters back?',
        [
            el(
                'p',
                {},
                many === null ? 'All dead letters of ' : `${count(many)} dead letters of `,
                el('b', {}, topic),
                ' ',
                scope,
                scope.length > 0 && '.',
            ),
            warning && notice(warning, 'warn'),
            field(
                'Messages per second',
                'rate',
                { type: 'number', min: 1, step: 1, value: 100, inputmode: 'numeric' },
                'Empty: as fast as Redis takes them.',
            ),
            field(
                'At most',
                'limit',
                { type: 'number', min: 1, step: 1, value: '', inputmode: 'numeric' },
                'Empty: all of them.',
            ),
        ],
        'Send back',
    );
    if (!answer) {
        return;
    }
    const body = { topic, reason: reason || undefined, contains: contains || undefined };
    body.rate_per_s = Number(answer.rate.value) || undefined;
    body.limit = Number(answer.limit.value) || undefined;
    if (!body.reason && !body.contains) {
        body.all = true;
    }
    await page.change(() => post('requeue', body), 'They are being sent back');
}
