/* topic.js - one topic: its last hour, its numbers, its definition, its slots. */
import { alterButton } from './alter.js';
import { get, post } from './api.js';
import { chart } from './chart.js';
import { el } from './dom.js';
import { age, bytes, clock, count, moment, now, rate } from './format.js';
import { MARKS, acts, ask, badge, button, facts, heading, notice, table, topicTabs } from './parts.js';
import { purge } from './purge.js';
import { badges, amiss } from './topics.js';

const POINTS = 240;
const DEATHS = ['rejected', 'failed', 'crashed', 'timed_out', 'expired', 'bodiless'];
const SLOTS = [
    ['Slot', 'number'],
    ['Owner', 'name'],
    ['Token', 'code'],
    ['Waiting', 'number'],
    ['Due', 'number'],
    ['Claimed', 'number'],
    ['Resting', 'number'],
    ['Dead', 'number'],
    ['Lag', 'number'],
    ['Done', 'number'],
    ['State', 'name'],
];

async function turn(page, topic, verb) {
    if (
        verb === 'pause' &&
        !(await ask(
            'Pause this topic?',
            [
                el(
                    'p',
                    {},
                    el('b', {}, topic),
                    ': what is claimed is finished, and nothing more is claimed until it is resumed.',
                ),
            ],
            'Pause',
        ))
    ) {
        return;
    }
    await page.change(
        () => post(verb, { topic }),
        verb === 'pause' ? `${topic} is paused` : `${topic} is resumed`,
    );
}

function tile(name, value, kind = '') {
    return el('div', { class: `tile ${kind}` }, el('span', {}, name), el('b', {}, value));
}

function tiles(topic) {
    return el(
        'div',
        { class: 'tiles' },
        tile('Waiting', count(topic.waiting)),
        tile('Due', count(topic.due)),
        tile('Claimed', count(topic.claimed)),
        tile('Resting', count(topic.resting)),
        tile('Dead', count(topic.dead), MARKS[topic.marks.dead]),
        tile('Lag', age(topic.oldest_due_age_ms), MARKS[topic.marks.lag]),
        tile('Consumers', count(topic.owners)),
        tile('Sent', count(topic.sent)),
        tile('Done', count(topic.done)),
    );
}

function charts(topic, end) {
    const history = topic.history ?? {};
    const values = (name) => history[name] ?? [];
    return el(
        'div',
        { class: 'charts' },
        chart('Sent', '', history, values('sent_per_s'), rate, '/s', end),
        chart('Done', '', history, values('done_per_s'), rate, '/s', end),
        chart('Failed', 'bad', history, values('failed_per_s'), rate, '/s', end),
        chart('Lag', topic.marks.lag === null ? '' : 'late', history, values('oldest_due_age_ms'), age, '', end),
        chart('Waiting', '', history, values('waiting'), count, '', end),
        chart('Dead letters', MARKS[topic.marks.dead] ?? '', history, values('dead'), count, '', end),
    );
}

function counters(topic) {
    return facts([
        ['Sent', count(topic.sent)],
        ['Merged', count(topic.merged)],
        ['Duplicates', count(topic.duplicates)],
        ['Done', count(topic.done)],
        ['Retried', count(topic.retried)],
        ['Rejected', count(topic.rejected)],
        ['Expired', count(topic.expired)],
        ['Released', count(topic.released)],
        ['Lease lost', count(topic.lease_lost)],
        ...DEATHS.map((cause) => [
            `Died: ${cause.replace('_', ' ')}`,
            count(topic[`dead_${cause}`]),
        ]),
    ]);
}

function shown(name, value) {
    if (value === null) {
        return 'none';
    }
    if (Array.isArray(value)) {
        return value.join(', ') || 'none';
    }
    if (name.endsWith('_ms')) {
        return value === 0 ? '0' : age(value);
    }
    if (name === 'max_body') {
        return bytes(value);
    }
    return typeof value === 'number'
        ? count(value)
        : typeof value === 'boolean'
          ? value
              ? 'yes'
              : 'no'
          : value;
}

function slotState(slot) {
    return slot.code === 'SMQ_OK'
        ? amiss(slot)
        : [badge(slot.code, 'bad'), el('small', { class: 'why' }, slot.why)];
}

function slots(data) {
    const rows = data.slots.map((slot) => ({
        key: slot.slot,
        cells: [
            slot.slot,
            slot.owner || '–',
            slot.token,
            count(slot.waiting),
            count(slot.due),
            count(slot.claimed),
            count(slot.resting),
            count(slot.dead),
            age(slot.oldest_due_age_ms),
            count(slot.done),
            slotState(slot),
        ],
    }));
    return [
        el('h2', {}, 'Slots', el('small', {}, ` read at ${clock(data.slots_at_ms)}`)),
        table('Slots', SLOTS, rows, 'cards slots'),
        data.definition.slots > data.slots.length &&
            notice(
                `These are the first ${count(data.slots.length)} of ${count(data.definition.slots)}.`,
            ),
    ];
}

export const topic = {
    title: (parameters) => parameters.get('topic') ?? '',
    refresh: 'reading',

    load(parameters, signal) {
        return get('topic', { topic: parameters.get('topic'), points: POINTS }, signal);
    },

    render(data, parameters, page) {
        const { topic: known, definition } = data;
        const name = known.topic;
        const end = data.reading.at_ms ?? now();
        const paused = definition.paused;
        return [
            heading(
                name,
                badges({ ...known, paused }),
                acts(
                    page.self.write && [
                        paused
                            ? button('Resume', () => turn(page, name, 'resume'), { class: 'main' })
                            : button('Pause', () => turn(page, name, 'pause')),
                        button(
                            'Purge',
                            () => purge(page, name, ['waiting', 'resting'], {}, known.waiting + known.resting),
                            { class: 'danger' },
                        ),
                    ],
                ),
            ),
            topicTabs(name, 'topic', known.dead),
            known.unreadable !== null && notice(known.unreadable, 'bad'),
            tiles(known),
            charts(known, end),
            el(
                'p',
                { class: 'foot' },
                `The last hour at most, kept in the memory of slotmq serve, which began at ${clock(data.reading.since_at_ms)}. `,
                'Numbers were read at ',
                moment(known.read_at_ms),
                '.',
            ),
            slots(data),
            el(
                'div',
                { class: 'columns' },
                el('section', {}, el('h2', {}, 'Since it was created'), counters(known)),
                el(
                    'section',
                    {},
                    el('h2', {}, 'Definition'),
                    facts(
                        Object.entries(definition)
                            .filter(([key]) => key !== 'name')
                            .map(([key, value]) => [
                                key,
                                [shown(key, value), ' ', alterButton(page, name, key, value)],
                            ]),
                    ),
                ),
            ),
        ];
    },
};
