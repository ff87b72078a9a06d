/* selection.js - which messages an edit is about: the members of its request, and words for them. */
import { el } from './dom.js';
import { text } from './format.js';

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

/* The dead letters of a group: of one reason, or of several by what they have in common; null: no text
 * selects these alone. */
export function reasonOf(group) {
    if (group.common !== null) {
        return group.common === '' ? null : { reason: group.common };
    }
    return group.reason_base64 === undefined
        ? { reason_is: group.reason }
        : { reason_is_base64: group.reason_base64 };
}

const NAMES = ['contains', 'header', 'reason', 'reason_is', 'reason_is_base64'];

/* What the parameters of a view select. */
export function selectionOf(parameters) {
    return Object.fromEntries(
        [...parameters].filter(
            ([name, value]) => NAMES.includes(name) && (value !== '' || name === 'reason_is'),
        ),
    );
}

export function isAll(selection) {
    return Object.keys(selection).length === 0;
}

/* "with the reason ...": behind "dead letters of a topic". */
export function words(selection) {
    const quoted = (before, value) => [before, el('q', {}, value)];
    const exact = text(selection, 'reason_is');
    const parts = [
        exact === '' && ' without a reason',
        exact && quoted(' whose reason is ', exact),
        selection.reason && quoted(' whose reason contains ', selection.reason),
        selection.contains && quoted(' that contain ', selection.contains),
        selection.header && quoted(' with the header ', selection.header),
    ].filter(Boolean);
    return parts.map((part, index) => [index > 0 && ' and', part]);
}

/* The body of a request about them. */
export function bodyOf(topic, selection, form) {
    const number = (name) => Number(form[name].value) || undefined;
    return {
        topic,
        ...selection,
        all: isAll(selection) || undefined,
        rate_per_s: number('rate'),
        limit: number('limit'),
    };
}
