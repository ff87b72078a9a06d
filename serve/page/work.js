/* work.js - what is in work: since when, and at which process; of all topics, or of one. */
import { link } from './address.js';
import { get } from './api.js';
import { el } from './dom.js';
import { UNKNOWN, age, clock, count, moment, plural, text } from './format.js';
import { badge, heading, notice, table, topicTabs } from './parts.js';
import { nameOf } from './selection.js';

const COLUMNS = [
    ['Message', 'name'],
    ['State', 'state'],
    ['In work for', 'number'],
    ['Since', 'number'],
    ['Topic', 'name'],
    ['Slot', 'number'],
    ['Process', 'name'],
    ['Claimed', 'number'],
    ['Attempt', 'number'],
    ['Key', 'name'],
];

/* What its owner has noted; the id of layout inline is a body. */
function label(row, data) {
    const id = text(row, 'id');
    if (id === null) {
        return data.hidden && row.claimed_at_ms !== null ? 'hidden' : 'not known yet';
    }
    const named = { topic: row.topic, ...nameOf(row) };
    return el('a', { href: link('message', named), class: 'go' }, id);
}

function state(row) {
    if (row.gone === true) {
        return badge('gone', 'bad');
    }
    return row.stalled > 0 ? badge(`${count(row.stalled)} stalled`, 'bad') : badge('running');
}

function cells(row, data) {
    const key = text(row, 'key');
    return [
        label(row, data),
        state(row),
        age(row.age_ms),
        moment(row.claimed_at_ms),
        el('a', { href: link('topic', { topic: row.topic }) }, row.topic),
        String(row.slot),
        row.member ?? UNKNOWN,
        count(row.claimed),
        row.attempt === null ? UNKNOWN : count(row.attempt),
        key ?? (data.hidden && row.claimed_at_ms !== null ? 'hidden' : UNKNOWN),
    ];
}

export const work = {
    title: (parameters) =>
        parameters.has('topic') ? `In work in ${parameters.get('topic')}` : 'In work',
    refresh: 'reading',

    load(parameters, signal) {
        return get('work', { topic: parameters.get('topic') }, signal);
    },

    render(data, parameters) {
        const topic = parameters.get('topic');
        const rows = data.work.map((row) => ({
            key: `${row.topic} ${row.slot}`,
            cells: cells(row, data),
        }));
        const claimed = data.work.reduce((sum, row) => sum + row.claimed, 0);
        return [
            heading(topic ?? 'In work'),
            topic && topicTabs(topic, 'work', 0),
            !data.whole && notice('There is more in work than could be read or shown.', 'warn'),
            rows.length > 0
                ? table('In work', COLUMNS, rows, 'cards work')
                : notice('Nothing is in work.'),
            el(
                'p',
                { class: 'foot' },
                `${plural(claimed, 'message')} in work, read at ${clock(data.at_ms)}. A row is a slot and its oldest `,
                'message. Processes note it when they renew its lease, so of one that was claimed a moment ago only ',
                'the least time is known. It is stalled when its lease has ended: its process died or hangs.',
            ),
        ];
    },
};
