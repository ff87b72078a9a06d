/* messages.js - messages of a topic: found by state, text and reason; dead ones can be selected. */
import { link } from './address.js';
import { get } from './api.js';
import { el } from './dom.js';
import { UNKNOWN, bytes, clock, count, distance, plural, short, text } from './format.js';
import { badge, button, heading, notice, table, topicTabs } from './parts.js';
import { purge } from './purge.js';
import { requeueAll, requeueThese } from './requeue.js';
import { isAll, keyOf, nameOf, selectionOf, words } from './selection.js';

const STATES = ['waiting', 'claimed', 'resting', 'dead'];
const LIMIT = 100;

/* What was selected, by the address of the list: it is forgotten with it. */
let selected = new Map();
let selectedIn = '';

export function stateBadge(state) {
    return badge(state, { dead: 'bad', resting: 'warn', claimed: 'accent' }[state] ?? '');
}

function messageLink(message) {
    const named = nameOf(message);
    return named && link('message', { topic: message.topic, ...named });
}

function label(message) {
    const id = text(message, 'id');
    const key = text(message, 'key');
    return (
        id ??
        key ??
        (message.hidden ? 'hidden' : short(text(message, 'body') ?? '', 40) || 'no text')
    );
}

function time(message) {
    if (message.state === 'dead') {
        return ['died ', distance(message.dead_at_ms)];
    }
    return message.state === 'claimed'
        ? ['lease ends ', distance(message.lease_at_ms)]
        : ['due ', distance(message.due_at_ms)];
}

function preview(message) {
    if (message.hidden) {
        return el('span', { class: 'soft' }, 'hidden without the token');
    }
    const body = text(message, 'body');
    return body === null || body === undefined ? UNKNOWN : el('code', {}, short(body, 90));
}

function row(message, page, choosing) {
    const named = nameOf(message);
    const address = messageLink(message);
    const key = keyOf(named ?? message);
    const box =
        choosing &&
        named &&
        el('input', {
            type: 'checkbox',
            checked: selected.has(key),
            'aria-label': `Select ${label(message)}`,
            onchange: (event) => {
                event.target.checked ? selected.set(key, named) : selected.delete(key);
                page.draw();
            },
        });
    const cells = [
        address ? el('a', { href: address, class: 'go' }, label(message)) : label(message),
        [stateBadge(message.state), ' ', time(message)],
        message.attempt > 0 ? count(message.attempt) : '0',
        bytes(message.body_size),
        preview(message),
        text(message, 'reason') ?? '',
    ];
    return {
        key,
        class: selected.has(key) ? 'chosen' : '',
        cells: choosing ? [box || '', ...cells] : cells,
    };
}

function columns(choosing, data, page) {
    const plain = [
        ['Message', 'name'],
        ['State', 'state'],
        ['Tries', 'number'],
        ['Size', 'number'],
        ['Body', 'body'],
        ['Reason', 'reason'],
    ];
    if (!choosing) {
        return plain;
    }
    const names = data.messages.map(nameOf).filter(Boolean);
    const all = names.length > 0 && names.every((named) => selected.has(keyOf(named)));
    const box = el('input', {
        type: 'checkbox',
        checked: all,
        'aria-label': 'Select all on this page',
        onchange: (event) => {
            names.forEach((named) =>
                event.target.checked
                    ? selected.set(keyOf(named), named)
                    : selected.delete(keyOf(named)),
            );
            page.draw();
        },
    });
    return [[box, 'choose'], ...plain];
}

function without(parameters, names) {
    return Object.fromEntries(
        Object.entries(parameters).filter(([name]) => !names.includes(name)),
    );
}

/* Those that are looked at: all of them when something is searched for and none is chosen. */
function statesOf(parameters) {
    const chosen = parameters.get('state');
    return chosen?.split(',') ?? (isAll(selectionOf(parameters)) ? ['waiting'] : STATES);
}

function filters(parameters, states, page) {
    const kept = () => without(Object.fromEntries(page.parameters), ['cursor']);
    const box = (name, placeholder, more = {}) =>
        el('input', {
            type: 'search',
            name,
            value: parameters.get(name) ?? '',
            placeholder,
            'aria-label': placeholder,
            oninput: (event) => page.replace('messages', { ...kept(), [name]: event.target.value }),
            ...more,
        });
    const choice = STATES.map((state) =>
        el(
            'label',
            { class: 'check' },
            el('input', {
                type: 'checkbox',
                checked: states.includes(state),
                onchange: (event) => {
                    const chosen = STATES.filter((other) =>
                        other === state ? event.target.checked : states.includes(other),
                    );
                    page.go('messages', { ...kept(), state: chosen.join(',') || state });
                },
            }),
            state,
        ),
    );
    const whole = ['reason_is', 'reason_is_base64'].filter((name) => parameters.has(name));
    const exact =
        whole.length > 0 && Object.fromEntries(whole.map((name) => [name, parameters.get(name)]));
    return el(
        'form',
        { class: 'filters', role: 'search', onsubmit: (event) => event.preventDefault() },
        el('fieldset', {}, el('legend', { class: 'unseen' }, 'States'), choice),
        box(
            'contains',
            page.self.personal ? 'Id, key, or text in a body' : 'Text in bodies: needs the token',
            page.self.personal ? { id: 'search' } : { disabled: true },
        ),
        page.self.personal && box('header', 'Header NAME=VALUE'),
        exact
            ? el(
                  'span',
                  { class: 'exact' },
                  'those',
                  words(exact),
                  ' ',
                  el('a', { href: link('messages', without(kept(), Object.keys(exact))) }, 'any'),
              )
            : box('reason', 'Text in the reason', page.self.personal ? {} : { id: 'search' }),
    );
}

/* Nothing was found: says where. */
function nothing(parameters, states) {
    if (isAll(selectionOf(parameters))) {
        return notice(`No message is ${states.join(' or ')}.`);
    }
    const all = link('messages', { ...Object.fromEntries(parameters), state: null, cursor: null });
    return notice([
        `No message matches. These were looked at: ${states.join(', ')}. `,
        states.length < STATES.length
            ? el('a', { href: all }, 'Look at all')
            : 'A message that is done is not kept.',
    ]);
}

/* `states` are those that are shown and not claimed; dead letters alone can be requeued. */
function actions(data, parameters, states, choosing, page) {
    const selection = selectionOf(parameters);
    const names = [...selected.values()];
    const all = isAll(selection) ? 'all' : 'all that match';
    const requeue = choosing && [
        button(
            names.length > 0 ? `Requeue ${count(names.length)} selected` : 'Requeue selected',
            async () => {
                selected = new Map();
                await requeueThese(page, data.topic, names);
            },
            { class: 'main', disabled: names.length === 0 },
        ),
        button(`Requeue ${all}`, () => requeueAll(page, data.topic, selection, null)),
    ];
    return el(
        'div',
        { class: 'actions' },
        requeue,
        button(`Purge ${all}`, () => purge(page, data.topic, states, selection, null), {
            class: 'danger',
        }),
    );
}

export const messages = {
    title: (parameters) => `Messages of ${parameters.get('topic')}`,
    refresh: 'changes',

    load(parameters, signal) {
        const { topic, older_than_ms, cursor } = Object.fromEntries(parameters);
        const state = statesOf(parameters).join(',');
        return get(
            'messages',
            { topic, state, ...selectionOf(parameters), older_than_ms, cursor, limit: LIMIT },
            signal,
        );
    },

    render(data, parameters, page) {
        if (selectedIn !== page.address) {
            selected = new Map();
            selectedIn = page.address;
        }
        const states = statesOf(parameters);
        const idle = states.filter((state) => state !== 'claimed');
        const choosing = page.self.write && states.length === 1 && states[0] === 'dead';
        const others = Object.fromEntries(parameters);
        const rows = data.messages.map((message) => row(message, page, choosing));
        return [
            heading(data.topic),
            topicTabs(data.topic, 'messages', 0),
            filters(parameters, states, page),
            page.self.write &&
                data.messages.some((one) => one.state !== 'claimed') &&
                !parameters.has('older_than_ms') &&
                actions(data, parameters, idle, choosing, page),
            rows.length > 0
                ? table('Messages', columns(choosing, data, page), rows, 'cards messages')
                : nothing(parameters, states),
            el(
                'nav',
                { class: 'pages', 'aria-label': 'Pages' },
                parameters.get('cursor') &&
                    el('a', { href: link('messages', { ...others, cursor: null }) }, 'First page'),
                el(
                    'span',
                    {},
                    `${plural(data.messages.length, 'message')}, slot by slot, read at ${clock(data.at_ms)}`,
                ),
                data.next !== null &&
                    el(
                        'a',
                        { href: link('messages', { ...others, cursor: data.next }) },
                        'Next page',
                    ),
                data.next === null &&
                    data.more &&
                    el('span', {}, 'There are more, for those who have the token.'),
            ),
        ];
    },
};
