/* schedules.js - the schedules of a topic: when they are due, and which are paused or late. */
import { get, post } from './api.js';
import { el } from './dom.js';
import { age, clock, count, exact, moment, plural, text } from './format.js';
import { ask, badge, button, field, heading, notice, table, topicTabs } from './parts.js';

/* A tick that is late by less is on its way. */
const LATE_MS = 5000;
const COLUMNS = [
    ['Schedule', 'name'],
    ['State', 'state'],
    ['When', 'code'],
    ['Next', 'code'],
    ['Last', 'number'],
    ['Ticks', 'number'],
    ['Note', 'reason'],
    ['', 'act'],
];

async function pause(page, named) {
    const answer = await ask(
        'Pause this schedule?',
        [
            el('p', {}, el('b', {}, named.id), ': it makes no ticks until it is resumed.'),
            field('Note', 'note', { maxlength: 200 }, 'Why, for others who look.'),
        ],
        'Pause',
    );
    if (answer) {
        await page.change(
            () => post('schedule', { ...named, action: 'pause', note: answer.note.value }),
            `${named.id} is paused`,
        );
    }
}

function acts(page, row) {
    const named = { topic: row.topic, id: row.id };
    const change = (action, words) =>
        page.change(() => post('schedule', { ...named, action }), `${row.id} ${words}`);
    return [
        row.paused
            ? button('Resume', () => change('resume', 'is resumed'), { class: 'quiet' })
            : button('Pause', () => pause(page, named), { class: 'quiet' }),
        button('Run now', () => change('run', 'was run'), { class: 'quiet' }),
    ];
}

function state(row) {
    if (row.paused) {
        return badge('paused', 'warn');
    }
    if (row.next_at_ms === null) {
        return badge('ended');
    }
    return row.late_ms >= LATE_MS ? badge(`${age(row.late_ms)} late`, 'bad') : badge('active');
}

function cells(page, row) {
    return [
        text(row, 'id'),
        state(row),
        row.cron === null ? `every ${exact(row.every_ms)}` : `${row.cron} ${row.zone}`,
        row.times_at_ms.length > 0
            ? el('span', {}, row.times_at_ms.map((at, index) => [index > 0 && ', ', moment(at)]))
            : moment(row.next_at_ms),
        moment(row.last_at_ms),
        count(row.ticks),
        text(row, 'note') || null,
        page.self.write && row.id !== undefined && acts(page, row),
    ];
}

export const schedules = {
    title: (parameters) => `Schedules of ${parameters.get('topic') ?? ''}`,
    refresh: 'reading',

    load(parameters, signal) {
        return get('schedules', { topic: parameters.get('topic') }, signal);
    },

    render(data, parameters, page) {
        const topic = parameters.get('topic');
        const rows = data.schedules.map((row) => ({
            key: `${row.topic} ${text(row, 'id')}`,
            cells: cells(page, row),
        }));
        return [
            heading(topic),
            topicTabs(topic, 'schedules', 0),
            !data.whole && notice('There are more schedules than are shown.', 'warn'),
            rows.length > 0
                ? table('Schedules', COLUMNS, rows, 'cards')
                : notice('This topic has no schedules.'),
            el(
                'p',
                { class: 'foot' },
                `${plural(rows.length, 'schedule')}, read at ${clock(data.at_ms)}. The consumers of the topic make the `,
                'ticks. Times are those of this browser.',
            ),
        ];
    },
};
