/* topics.js - all topics, with small charts of the last hour. */
import { link } from './address.js';
import { get } from './api.js';
import { spark } from './chart.js';
import { el } from './dom.js';
import { age, clock, count, now, plural, rate } from './format.js';
import { MARKS, badge, choice, heading, notice, table } from './parts.js';

const ORDERS = ['need', 'name', 'activity', 'waiting', 'lag', 'dead'];
const LIMIT = 50;
const POINTS = 60;
const COLUMNS = [
    ['Topic', 'name'],
    ['Sent/s', 'plotted'],
    ['Done/s', 'plotted'],
    ['Failed/s', 'plotted'],
    ['Lag', 'plotted'],
    ['Waiting', 'number'],
    ['Claimed', 'number'],
    ['Resting', 'number'],
    ['Dead', 'number'],
    ['Consumers', 'number'],
];

/* The members that say of how many slots or messages a state is. */
const COUNTED = {
    damaged: 'slots_damaged',
    silent: 'slots_silent',
    stalled: 'stalled',
    unowned: 'slots_unowned',
};

/* The state of a topic or slot, as the server judges it; nothing if it is as it should be. */
export function amiss(one) {
    const many = one[COUNTED[one.state]];
    return (
        one.state !== null &&
        badge(many > 0 ? `${count(many)} ${one.state}` : one.state, MARKS[one.marks.state])
    );
}

export function badges(topic) {
    return [
        topic.unreadable !== null && badge('unreadable', 'bad'),
        topic.unlisted && badge('not listed', 'bad'),
        amiss(topic),
        topic.owners > 0 &&
            topic.slots_unowned > 0 &&
            badge(`${count(topic.slots_unowned)} unowned`),
    ];
}

function plotted(name, kind, topic, values, format, end) {
    const shown = values ?? [];
    const latest = shown.length > 0 ? shown.at(-1) : null;
    return el(
        'span',
        { class: 'pair' },
        el('b', { class: kind === 'late' ? kind : '' }, format(latest)),
        spark(name, kind, topic.history, shown, format, end),
    );
}

function row(topic, end) {
    const history = topic.history ?? {};
    const name = el('a', { href: link('topic', { topic: topic.topic }), class: 'go' }, topic.topic);
    const cells = [
        [
            name,
            badges(topic),
            topic.unreadable !== null && el('small', { class: 'why' }, topic.unreadable),
        ],
        plotted('sent', '', topic, history.sent_per_s, rate, end),
        plotted('done', '', topic, history.done_per_s, rate, end),
        plotted('failed', 'bad', topic, history.failed_per_s, rate, end),
        plotted('lag', topic.marks.lag === null ? '' : 'late', topic, history.oldest_due_age_ms, age, end),
        count(topic.waiting),
        count(topic.claimed),
        count(topic.resting),
        topic.dead > 0
            ? el(
                  'a',
                  { href: link('dead', { topic: topic.topic }), class: MARKS[topic.marks.dead] },
                  count(topic.dead),
              )
            : '0',
        count(topic.owners),
    ];
    return { key: topic.topic, class: topic.read_at_ms === null ? 'unread' : '', cells };
}

/* First of all the page says whether a person must act. */
function need(data) {
    return data.needing > 0
        ? notice(`${plural(data.needing, 'topic needs', 'topics need')} you.`, 'warn need')
        : notice('No topic needs you.', 'good need');
}

function pages(total, offset, others) {
    const from = (at) => link('topics', { ...others, offset: at > 0 ? at : null });
    return (
        total > LIMIT &&
        el(
            'nav',
            { class: 'pages', 'aria-label': 'Pages' },
            offset > 0 && el('a', { href: from(Math.max(0, offset - LIMIT)) }, 'Previous'),
            el(
                'span',
                {},
                `${count(offset + 1)} to ${count(Math.min(total, offset + LIMIT))} of ${count(total)}`,
            ),
            offset + LIMIT < total && el('a', { href: from(offset + LIMIT) }, 'Next'),
        )
    );
}

export const topics = {
    title: () => 'Topics',
    refresh: 'reading',

    load(parameters, signal) {
        const { search, order, offset } = Object.fromEntries(parameters);
        const parts = { search, order: order ?? 'need', offset };
        return get('topics', { ...parts, limit: LIMIT, points: POINTS }, signal);
    },

    render(data, parameters, page) {
        const order = parameters.get('order') ?? 'need';
        const search = parameters.get('search') ?? '';
        const offset = Number(parameters.get('offset') ?? 0);
        const chosen = order === 'need' ? null : order;
        const box = el('input', {
            type: 'search',
            id: 'search',
            value: search,
            placeholder: 'Name of a topic',
            'aria-label': 'Search topics',
            oninput: (event) =>
                page.replace('topics', { search: event.target.value, order: chosen }),
        });
        const address = (name) => link('topics', { search, order: name === 'need' ? null : name });
        const orders = choice(
            'Order',
            ORDERS.map((name) => [name, address(name), name === order]),
        );
        const end = data.reading.at_ms ?? now();
        return [
            heading('Topics', box, orders),
            data.reading.topics > 0 && need(data),
            data.topics.length > 0
                ? table(
                      'Topics',
                      COLUMNS,
                      data.topics.map((topic) => row(topic, end)),
                      'cards topics',
                  )
                : notice(
                      search
                          ? 'No topic has this text in its name.'
                          : 'There is no topic yet: slotmq topic create NAME makes one.',
                  ),
            pages(data.total, offset, { search, order: chosen }),
            el(
                'p',
                { class: 'foot' },
                `${plural(data.total, 'topic')}. The charts have the last hour at most. slotmq serve keeps it in `,
                `memory, so nothing is older than its start at ${clock(data.reading.since_at_ms)}. Lag is the age of the oldest due message.`,
            ),
        ];
    },
};
