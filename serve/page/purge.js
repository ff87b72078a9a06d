/* purge.js - deletes messages for ever: some, or all that are selected. */
import { post } from './api.js';
import { el } from './dom.js';
import { count } from './format.js';
import { amounts, ask, field, notice } from './parts.js';
import { bodyOf, words } from './selection.js';

/* Asks for the name of the topic, and begins to delete what is selected in these states: `many`
 * messages; null: not known. */
export async function purge(page, topic, states, selection, many) {
    const answer = await ask(
        'Delete messages for ever?',
        [
            el(
                'p',
                {},
                many === null ? 'All ' : `${count(many)} `,
                states.join(' and '),
                ' messages of ',
                el('b', {}, topic),
                words(selection),
                '.',
            ),
            notice('They are not handled, and cannot be brought back.', 'bad'),
            field('Name of the topic', 'confirmed', {
                required: true,
                pattern: topic.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'),
                title: topic,
            }),
            amounts(''),
        ],
        'Delete',
        'bad',
    );
    if (answer) {
        await page.change(
            () => post('purge', { ...bodyOf(topic, selection, answer), states }),
            'They are being deleted',
        );
    }
}
