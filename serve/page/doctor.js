/* doctor.js - what is wrong and what to do; and the Redis masters. */
import { get } from './api.js';
import { el } from './dom.js';
import { UNKNOWN, bytes, clock, count, text } from './format.js';
import { acts, badge, button, heading, notice, table } from './parts.js';

const KINDS = { ok: 'good', unknown: 'warn', warning: 'warn', error: 'bad' };
const ORDER = ['error', 'warning', 'unknown', 'ok'];

function finding(found, index) {
    const subject = text(found, 'subject');
    const advice = text(found, 'advice');
    return el(
        'li',
        { class: `finding ${KINDS[found.severity]}`, key: `${found.check} ${subject} ${index}` },
        el(
            'div',
            { class: 'line' },
            badge(found.severity, KINDS[found.severity]),
            el('b', {}, found.check),
            subject && el('span', { class: 'soft' }, subject),
        ),
        el('p', {}, text(found, 'finding') ?? ''),
        advice && el('p', { class: 'advice' }, advice),
    );
}

export const doctor = {
    title: () => 'Doctor',
    refresh: 'none',

    load(parameters, signal) {
        return get('doctor', {}, signal);
    },

    render(data, parameters, page) {
        const sorted = [...data.findings].sort(
            (one, other) => ORDER.indexOf(one.severity) - ORDER.indexOf(other.severity),
        );
        return [
            heading(
                'Doctor',
                badge(data.severity, KINDS[data.severity]),
                el('small', {}, `looked at ${clock(data.at_ms)}`),
                acts(button('Look again', page.reload)),
            ),
            sorted.length > 0
                ? el('ul', { class: 'findings' }, sorted.map(finding))
                : notice('Nothing is wrong.', 'good'),
        ];
    },
};

const COLUMNS = [
    ['Server', 'name'],
    ['Version', 'name'],
    ['Role', 'name'],
    ['Memory', 'number'],
    ['Most', 'number'],
    ['Policy', 'name'],
    ['Persistence', 'name'],
    ['Replicas', 'number'],
    ['Behind', 'number'],
    ['Cluster', 'name'],
    ['Clock', 'number'],
];

function serverRow(server) {
    const memory = server.maxmemory === 0 ? 'no limit' : bytes(server.maxmemory);
    const append =
        server.appendonly === null
            ? UNKNOWN
            : server.appendonly
              ? `AOF, ${server.appendfsync}`
              : server.save === ''
                ? 'none'
                : 'RDB';
    const bad = server.code !== 'SMQ_OK';
    return {
        key: server.address,
        cells: [
            [
                el('b', {}, server.address),
                bad && [' ', badge(server.code, 'bad'), el('small', { class: 'why' }, server.why)],
                server.write_failed && badge('writes fail', 'bad'),
            ],
            server.kind === null ? UNKNOWN : `${server.kind} ${server.version || UNKNOWN}`,
            server.role || UNKNOWN,
            bytes(server.used_memory),
            memory,
            server.maxmemory_policy || UNKNOWN,
            append,
            server.replicas === null ? UNKNOWN : `${count(server.replicas)}`,
            server.lag_bytes === null ? UNKNOWN : bytes(server.lag_bytes),
            server.cluster
                ? [
                      server.cluster_state || UNKNOWN,
                      server.cluster_why !== '' &&
                          el('small', { class: 'why' }, server.cluster_why),
                  ]
                : server.cluster === null
                  ? UNKNOWN
                  : 'single',
            server.clock_offset_ms === null ? UNKNOWN : `${count(server.clock_offset_ms)} ms`,
        ],
    };
}

export const servers = {
    title: () => 'Servers',
    refresh: 'none',

    load(parameters, signal) {
        return get('servers', {}, signal);
    },

    render(data, parameters, page) {
        return [
            heading(
                'Servers',
                el('small', {}, `asked at ${clock(data.at_ms)}`),
                acts(button('Ask again', page.reload)),
            ),
            table('Redis masters', COLUMNS, data.servers.map(serverRow), 'cards'),
        ];
    },
};
