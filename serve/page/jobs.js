/* jobs.js - long edits: progress, stop, and how they ended. */
import { link } from './address.js';
import { get, post } from './api.js';
import { el } from './dom.js';
import { age, count, moment, now, rate } from './format.js';
import { badge, button, heading, notice, table } from './parts.js';

const NAMES = { requeue: 'Requeue', purge: 'Purge' };
const COLUMNS = [
    ['Job', 'name'],
    ['Began', 'number'],
    ['Took', 'number'],
    ['Messages', 'number progress'],
    ['State', 'name'],
    ['', 'act'],
];

export function title(job) {
    return job.what === 'requeue'
        ? `Requeue dead letters of ${job.topic}`
        : `Purge messages of ${job.topic}`;
}

function speed(job) {
    const seconds = ((job.ended_at_ms ?? now()) - job.began_at_ms) / 1000;
    return seconds > 0.5 ? `${rate(job.changed / seconds)}/s` : '';
}

export function state(job) {
    if (job.state === 'running') {
        return job.stopping ? badge('stopping', 'warn') : badge('running', 'accent');
    }
    return badge(job.state, { ended: 'good', stopped: 'warn', failed: 'bad' }[job.state]);
}

export function stop(page, job) {
    return page.change(() => post('stop', { id: job.id }), 'It stops');
}

function stopButton(job, page) {
    return (
        page.self.write &&
        job.state === 'running' &&
        button('Stop', () => stop(page, job), {
            class: 'danger',
            disabled: job.stopping,
            'aria-label': `Stop: ${title(job)}`,
        })
    );
}

/* "7 of 9"; without the total where it is not known. */
function changed(job) {
    return job.total === null
        ? count(job.changed)
        : `${count(job.changed)} of ${count(Math.max(job.total, job.changed))}`;
}

/* Those that run, and those that ended while this page was looking. */
export function strip(jobs, page, hide) {
    return (
        jobs.length > 0 &&
        el(
            'section',
            { class: 'jobs', 'aria-label': 'Jobs' },
            jobs.map((job) => {
                return el(
                    'article',
                    { class: `job ${job.state}`, key: job.id, 'data-job': job.id },
                    el(
                        'div',
                        { class: 'line' },
                        el(
                            'a',
                            { href: link('jobs') },
                            el('b', {}, NAMES[job.what] ?? job.what),
                            ' ',
                            job.topic,
                        ),
                        state(job),
                        el('span', { class: 'number' }, changed(job)),
                        el('span', { class: 'number soft' }, speed(job)),
                        el('span', { class: 'gap' }),
                        stopButton(job, page),
                        job.state !== 'running' && button('Hide', () => hide(job.id)),
                    ),
                    job.total !== null &&
                        el('progress', {
                            max: Math.max(job.total, 1),
                            value: job.state === 'ended' ? Math.max(job.total, 1) : job.changed,
                            'aria-label': title(job),
                        }),
                    job.detail !== '' &&
                        el('small', { class: job.state === 'failed' ? 'bad' : '' }, job.detail),
                );
            }),
        )
    );
}

export const jobs = {
    title: () => 'Jobs',
    refresh: 'changes',

    load(parameters, signal) {
        return get('jobs', {}, signal);
    },

    render(data, parameters, page) {
        const rows = data.jobs.map((job) => ({
            key: job.id,
            cells: [
                title(job),
                moment(job.began_at_ms),
                age((job.ended_at_ms ?? now()) - job.began_at_ms),
                changed(job),
                [state(job), job.detail !== '' && el('small', { class: 'why' }, job.detail)],
                stopButton(job, page),
            ],
        }));
        return [
            heading('Jobs'),
            rows.length > 0
                ? table('Jobs', COLUMNS, rows, 'cards jobs-table')
                : notice('No long edit has run since slotmq serve began.'),
        ];
    },
};
