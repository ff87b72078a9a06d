/* dead.js - the dead letters of a topic, by cause and by reason. */
import { link } from './address.js';
import { get } from './api.js';
import { el } from './dom.js';
import { clock, count, distance, plural, text } from './format.js';
import { acts, button, heading, notice, table, topicTabs } from './parts.js';
import { purge } from './purge.js';
import { requeueAll } from './requeue.js';
import { reasonOf } from './selection.js';

const COLUMNS = [
    ['Reason', 'name reason'],
    ['Messages', 'number'],
    ['Share', 'share'],
    ['First', 'number'],
    ['Last', 'number'],
    ['', 'act'],
];

function share(group, data) {
    const part = data.looked_at > 0 ? group.count / data.looked_at : 0;
    return el('meter', { min: 0, max: 1, value: part, title: `${Math.round(part * 100)} %` });
}

function row(group, data, page) {
    const reason = text(group, 'reason');
    const shown = reason === '' ? 'no reason was given' : reason;
    const selection = reasonOf(group);
    const many = data.whole && group.common === null ? group.count : null;
    const href = link('messages', { topic: data.topic, state: 'dead', ...selection });
    const edits = [
        button('Requeue', () => requeueAll(page, data.topic, selection, many), {
            'aria-label': `Requeue ${shown}`,
        }),
        ' ',
        button('Purge', () => purge(page, data.topic, ['dead'], selection, many), {
            class: 'danger',
            'aria-label': `Purge ${shown}`,
        }),
    ];
    const cells = [
        selection === null
            ? shown
            : el('a', { href, class: reason === '' ? 'go soft' : 'go' }, shown),
        count(group.count),
        share(group, data),
        distance(group.first_dead_at_ms),
        distance(group.last_dead_at_ms),
        page.self.write && selection !== null && edits,
    ];
    return { key: `${group.reason_base64 ?? ''} ${group.reason}`, cells };
}

export const dead = {
    title: (parameters) => `Dead letters of ${parameters.get('topic')}`,
    /* Groups are read from Redis, so they are read anew when something has changed. */
    refresh: 'dead',

    load(parameters, signal) {
        return get('dead', { topic: parameters.get('topic') }, signal);
    },

    render(data, parameters, page) {
        const causes = Object.entries(data.causes).filter(([, number]) => number > 0);
        const all = link('messages', { topic: data.topic, state: 'dead' });
        return [
            heading(
                data.topic,
                acts(
                    data.dead > 0 && el('a', { class: 'button', href: all }, 'List them'),
                    page.self.write &&
                        data.dead > 0 && [
                            button('Requeue all', () => requeueAll(page, data.topic, {}, data.dead), {
                                class: 'main',
                            }),
                            button(
                                'Purge all',
                                () => purge(page, data.topic, ['dead'], {}, data.dead),
                                { class: 'danger' },
                            ),
                        ],
                ),
            ),
            topicTabs(data.topic, 'dead', data.dead),
            el(
                'p',
                { class: 'foot' },
                `${plural(data.dead, 'dead letter')}, read at ${clock(data.at_ms)}. `,
                !data.whole && `The reasons are those of ${count(data.looked_at)} of them. `,
                causes.length > 0 && [
                    'Since the topic was created: ',
                    causes.map(([cause, number], index) => [
                        index > 0 && ', ',
                        `${count(number)} ${cause.replace('_', ' ')}`,
                    ]),
                    '.',
                ],
            ),
            data.reasons.length > 0
                ? table(
                      'Reasons',
                      COLUMNS,
                      data.reasons.map((group) => row(group, data, page)),
                      'cards dead',
                  )
                : notice('There are no dead letters.', 'good'),
        ];
    },
};
