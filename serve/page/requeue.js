/* requeue.js - requeues dead letters: one, some, or all at a rate. */
import { post } from './api.js';
import { el } from './dom.js';
import { count, plural } from './format.js';
import { amounts, ask } from './parts.js';
import { bodyOf, words } from './selection.js';

export function requeueThese(page, topic, names) {
    return page.change(
        () => post('requeue', { topic, messages: names }),
        `${plural(names.length, 'message')} requeued`,
    );
}

/* Asks for a rate, and begins to requeue what is selected: `many` dead letters; null: not known. */
export async function requeueAll(page, topic, selection, many) {
    const answer = await ask(
        'Requeue dead letters?',
        [
            el(
                'p',
                {},
                many === null ? 'All dead letters of ' : `${count(many)} dead letters of `,
                el('b', {}, topic),
                words(selection),
                '.',
            ),
            amounts(100),
        ],
        'Requeue',
    );
    if (answer) {
        await page.change(
            () => post('requeue', bodyOf(topic, selection, answer)),
            'They are being requeued',
        );
    }
}
