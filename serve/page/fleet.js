/* fleet.js - the members of the fleet, who owns which slots, and what moves. */
import { link } from './address.js';
import { get } from './api.js';
import { el, svg } from './dom.js';
import { clock, count, distance, plural } from './format.js';
import { badge, facts, heading, notice, table } from './parts.js';

const MEMBERS = [
    ['Member', 'name'],
    ['Host', 'name'],
    ['Process', 'number'],
    ['State', 'name'],
    ['Weight', 'number'],
    ['Topics', 'number'],
    ['Slots', 'number'],
    ['Giving up', 'number'],
    ['Standing by', 'number'],
    ['Since', 'number'],
];
const MOVES = [
    ['Topic', 'name'],
    ['From', 'name'],
    ['Slots', 'number'],
    ['Which', 'code'],
    ['Waits for', 'name'],
    ['Since', 'number'],
    ['Why', 'reason'],
];
const SHARES = [
    ['Member', 'name'],
    ['Slots', 'number'],
    ['Which', 'code'],
    ['', 'name'],
];
const WAITS = {
    acknowledge: 'the member to notice',
    drain: 'handlers to end',
    assigner: 'the assigner',
};

function memberRow(member) {
    const kind = { active: 'good', leaving: 'warn', unreachable: 'bad', unreadable: 'bad' }[
        member.state
    ];
    return {
        key: member.name,
        cells: [
            el('b', {}, member.name),
            member.host,
            String(member.pid),
            [
                badge(member.state, kind),
                member.why !== '' && el('small', { class: 'why' }, member.why),
            ],
            count(member.weight),
            count(member.topics),
            count(member.slots),
            count(member.giving_up),
            count(member.standing_by),
            distance(member.since_at_ms),
        ],
    };
}

/* Who has how much, and how much moves, as one bar. */
function bar(topic) {
    let at = 0;
    const piece = (kind, slots, name) => {
        const rect = svg(
            'rect',
            {
                class: kind,
                x: at,
                y: 0,
                width: Math.max(0, slots - topic.slots / 400),
                height: 10,
            },
            svg('title', {}, `${name}: ${slots}`),
        );
        at += slots;
        return rect;
    };
    const pieces = topic.shares
        .filter((share) => share.slots > 0)
        .map((share, index) => piece(index % 2 ? 'odd' : 'even', share.slots, share.member));
    if (topic.moving > 0) {
        pieces.push(piece('moving', topic.moving, 'moving'));
    }
    return svg(
        'svg',
        {
            class: 'bar',
            viewBox: `0 0 ${topic.slots || 1} 10`,
            preserveAspectRatio: 'none',
            role: 'img',
            'aria-label': `${topic.shares.map((share) => `${share.member} ${share.slots}`).join(', ')}, moving ${topic.moving}, without owner ${topic.unowned}`,
        },
        svg('rect', { class: 'empty', x: 0, y: 0, width: topic.slots || 1, height: 10 }),
        pieces,
    );
}

function topicPart(topic) {
    const rows = topic.shares.map((share) => ({
        key: share.member,
        cells: [
            share.member,
            count(share.slots),
            share.ranges,
            [share.leaving && badge('leaving', 'warn'), share.stands_by],
        ],
    }));
    return el(
        'details',
        { class: 'share', key: topic.topic },
        el(
            'summary',
            {},
            el('a', { href: link('topic', { topic: topic.topic }) }, topic.topic),
            el(
                'span',
                { class: 'number soft' },
                `${plural(topic.slots, 'slot')}, ${plural(topic.members, 'member')}`,
            ),
            topic.unowned > 0 && badge(`${count(topic.unowned)} without owner`, 'bad'),
            topic.moving > 0 && badge(`${count(topic.moving)} moving`, 'warn'),
            topic.why !== '' && el('small', { class: 'why' }, topic.why),
            bar(topic),
        ),
        table(`Shares of ${topic.topic}`, SHARES, rows, 'cards'),
    );
}

function moves(data) {
    const rows = data.topics.flatMap((topic) =>
        topic.moves.map((move) => ({
            key: `${topic.topic} ${move.from} ${move.ranges}`,
            cells: [
                topic.topic,
                move.from,
                count(move.slots),
                move.ranges,
                WAITS[move.waits_for] ?? move.waits_for,
                distance(move.since_at_ms),
                move.why,
            ],
        })),
    );
    return rows.length > 0 ? table('Moves', MOVES, rows, 'cards') : notice('Nothing moves.');
}

export const fleet = {
    title: () => 'Fleet',
    refresh: 'reading',

    load(parameters, signal) {
        return get('fleet', {}, signal);
    },

    render(data) {
        if (data.identity === '') {
            return [heading('Fleet'), notice(`There is no fleet at ${data.root || 'this root'}.`)];
        }
        return [
            heading('Fleet', el('small', {}, `read at ${clock(data.at_ms)}`)),
            facts([
                ['Root', data.root],
                ['Nodes in', data.kind === 'redis' ? `Redis, at ${data.server}` : 'ZooKeeper'],
                ['Identity', data.identity],
                ['Generation', count(data.generation)],
                ['Epoch', count(data.epoch)],
                [
                    'Assigner',
                    [
                        data.assigner || 'none',
                        data.assigner_since_at_ms
                            ? [', since ', distance(data.assigner_since_at_ms)]
                            : '',
                    ],
                ],
            ]),
            data.unreadable > 0 && notice(`${plural(data.unreadable, 'node')} cannot be read.`, 'bad'),
            el('h2', {}, 'Members'),
            data.members.length > 0
                ? table('Members', MEMBERS, data.members.map(memberRow), 'cards')
                : notice('There is no member.'),
            el('h2', {}, 'Moves'),
            moves(data),
            el('h2', {}, 'Topics'),
            data.topics.map(topicPart),
        ];
    },
};
