/* message.js - one message, and its body as text, JSON or hex. */
import { link } from './address.js';
import { Problem, get, post } from './api.js';
import { el } from './dom.js';
import { UNKNOWN, bytes, count, distance, moment, text } from './format.js';
import { acts, ask, button, choice, facts, heading, notice, table, topicTabs } from './parts.js';
import { stateBadge } from './messages.js';
import { requeueThese } from './requeue.js';
import { nameOf } from './selection.js';

const HEX_MOST = 65536;

function named(parameters) {
    return Object.fromEntries(
        ['id', 'id_base64', 'key', 'key_base64']
            .filter((name) => parameters.has(name))
            .map((name) => [name, parameters.get(name)]),
    );
}

function bodyBytes(message) {
    return message.body_base64 === undefined
        ? new TextEncoder().encode(message.body)
        : Uint8Array.from(atob(message.body_base64), (char) => char.charCodeAt(0));
}

/* The text of a document with a member a line.  Its tokens stay as they are: numbers beyond 2^53
 * keep their digits, and members that come twice stay twice.  null: it is no document. */
export function indented(whole) {
    try {
        if (typeof JSON.parse(whole) !== 'object') {
            return null;
        }
    } catch {
        return null;
    }
    let depth = 0;
    const out = [];
    const line = () => `\n${'  '.repeat(depth)}`;
    for (const token of whole.match(/"(?:[^"\\]|\\.)*"|[^\s"[\]{},:]+|[[\]{},:]/g)) {
        if (token === '{' || token === '[') {
            depth++;
            out.push(token, line());
        } else if (token === '}' || token === ']') {
            depth--;
            const empty = out.at(-2) === (token === '}' ? '{' : '[') && out.at(-1).startsWith('\n');
            empty ? out.splice(-1, 1, token) : out.push(line(), token);
        } else {
            out.push(token === ',' ? `,${line()}` : token === ':' ? ': ' : token);
        }
    }
    return out.join('');
}

function hex(data) {
    const lines = [];
    for (let at = 0; at < Math.min(data.length, HEX_MOST); at += 16) {
        const part = [...data.subarray(at, at + 16)];
        const codes = part.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
        const chars = part
            .map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '.'))
            .join('');
        lines.push(`${at.toString(16).padStart(8, '0')}  ${codes.padEnd(48)} ${chars}`);
    }
    return lines.join('\n');
}

/* Pairs of facts(). */
function headers(message) {
    const encoded = Object.entries(message.headers_base64 ?? {});
    return [
        ...Object.entries(message.headers ?? {}),
        ...encoded.map(([name, value]) => [name, `${value} in base64`]),
    ].map(([name, value]) => [`Header ${name}`, value]);
}

const ENDS = {
    retried: 'retried',
    rejected: 'rejected',
    lost: 'its consumer died or lost it',
    timed_out: 'its handler took too long',
};

/* How its last tries ended. */
function tries(message) {
    return (
        message.tries.length > 0 && [
            el('h2', {}, 'Last tries'),
            table(
                'Last tries',
                [
                    ['Ended', ''],
                    ['How', ''],
                    ['Reason', 'reason'],
                ],
                message.tries.map((one, index) => ({
                    key: `${index}`,
                    cells: [
                        one.at_ms > 0
                            ? [moment(one.at_ms), ', ', distance(one.at_ms)]
                            : UNKNOWN,
                        ENDS[one.how] ?? one.how,
                        text(one, 'reason'),
                    ],
                })),
            ),
        ]
    );
}

function body(message, parameters) {
    if (message.hidden) {
        return notice('Bodies, keys and headers are personal data. They are shown with the token.');
    }
    if (message.body === null && message.body_base64 === undefined) {
        return notice('Its body is missing.', 'bad');
    }
    const document = message.body_base64 === undefined ? indented(message.body) : null;
    const kinds = [
        ['json', 'JSON', document !== null],
        ['text', 'Text', message.body_base64 === undefined],
        ['hex', 'Hex', true],
    ];
    const wanted = parameters.get('as');
    const kind = (kinds.find(([name, , can]) => can && name === wanted) ??
        kinds.find(([, , can]) => can))[0];
    const data = kind === 'hex' ? bodyBytes(message) : null;
    const others = Object.fromEntries(parameters);
    return [
        choice(
            'Body as',
            kinds
                .filter(([, , can]) => can)
                .map(([name, label]) => [
                    label,
                    link('message', { ...others, as: name }),
                    name === kind,
                ]),
        ),
        el(
            'pre',
            { class: 'body', tabindex: 0, 'aria-label': 'Body' },
            kind === 'json' ? document : kind === 'text' ? message.body : hex(data),
        ),
        data !== null &&
            data.length > HEX_MOST &&
            notice(`These are the first ${bytes(HEX_MOST)}.`),
        message.body_cut &&
            notice(`The body has ${bytes(message.body_size)}; this is its beginning.`),
    ];
}

async function remove(page, message) {
    const answer = await ask(
        'Remove this message for ever?',
        [el('p', {}, 'It is not handled, and cannot be brought back.')],
        'Remove',
        'bad',
    );
    if (answer) {
        await page.change(
            () => post('remove', { topic: message.topic, ...nameOf(message) }),
            'It is removed',
        );
    }
}

export const message = {
    title: (parameters) => `Message of ${parameters.get('topic')}`,
    refresh: 'reading',

    /* A message that is gone is no fault: a handled one is. */
    async load(parameters, signal) {
        try {
            return await get(
                'message',
                { topic: parameters.get('topic'), ...named(parameters) },
                signal,
            );
        } catch (error) {
            if (error instanceof Problem && error.code === 'SMQ_NO_MESSAGE') {
                return null;
            }
            throw error;
        }
    },

    render(data, parameters, page) {
        const topic = parameters.get('topic');
        if (data === null) {
            return [
                heading(topic),
                topicTabs(topic, 'message', 0),
                notice(
                    'This message is not there: it is done, has expired, or was removed.',
                    'good gone',
                ),
            ];
        }
        const reason = text(data, 'reason');
        const may = page.self.write && nameOf(data) !== null;
        return [
            heading(
                topic,
                stateBadge(data.state),
                acts(
                    may &&
                        data.state === 'dead' &&
                        button('Requeue', () => requeueThese(page, topic, [nameOf(data)]), {
                            class: 'main',
                        }),
                    may &&
                        data.state !== 'claimed' &&
                        button('Remove', () => remove(page, data), { class: 'danger' }),
                ),
            ),
            topicTabs(topic, 'message', 0),
            reason &&
                notice(
                    [el('b', {}, data.state === 'dead' ? 'It died: ' : 'It failed last: '), reason],
                    'bad',
                ),
            facts([
                ['Id', text(data, 'id') ?? (data.hidden ? 'hidden' : 'the body names it')],
                ['Key', data.hidden ? 'hidden' : (text(data, 'key') ?? 'none')],
                ['Slot', count(data.slot)],
                ['Priority', count(data.priority)],
                [
                    'Sent',
                    [
                        moment(data.sent_at_ms),
                        data.sent_at_ms ? [', ', distance(data.sent_at_ms)] : '',
                    ],
                ],
                [
                    'Due',
                    [
                        moment(data.due_at_ms),
                        data.due_at_ms ? [', ', distance(data.due_at_ms)] : '',
                    ],
                ],
                data.expires_at_ms > 0 && [
                    'Expires',
                    [moment(data.expires_at_ms), ', ', distance(data.expires_at_ms)],
                ],
                data.state === 'claimed' && [
                    'Lease ends',
                    [moment(data.lease_at_ms), ', ', distance(data.lease_at_ms)],
                ],
                data.dead_at_ms > 0 && [
                    'Died',
                    [moment(data.dead_at_ms), ', ', distance(data.dead_at_ms)],
                ],
                ['Tries', `${count(data.attempt)}, ${count(data.retries_left)} left`],
                ...headers(data),
                ['Token', data.token || UNKNOWN],
                ['Size', bytes(data.body_size)],
            ]),
            tries(data),
            el('h2', {}, 'Body'),
            body(data, parameters),
        ];
    },
};
