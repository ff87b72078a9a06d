/* retry.js - sends dead letters back: one, some, or all at a rate. */
import { post } from './api.js';
import { el } from './dom.js';
import { count, plural } from './format.js';
import { amounts, ask } from './parts.js';
import { bodyOf, words } from './selection.js';

export function retryThese(page, topic, names) {
    return page.change(
        () => post('requeue', { topic, messages: names }),
        `${plural(names.length, 'message')} sent back`,
    );
}

/* Asks for a rate, and begins to send back what is selected: `many` dead letters; null: not known. */
export async function retryAll(page, topic, selection, many) {
    const answer = await ask(
        'Send dead letters back?',
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
        'Send back',
    );
    if (answer) {
        await page.change(
            () => post('requeue', bodyOf(topic, selection, answer)),
            'They are being sent back',
        );
    }
}
