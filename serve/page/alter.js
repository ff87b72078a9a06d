/* alter.js - changes an option of a topic. */
import { post } from './api.js';
import { el } from './dom.js';
import { exact } from './format.js';
import { ask, button, field, notice } from './parts.js';

/* Those that a topic keeps, and what is no option.  All others can be altered. */
const FIXED = ['name', 'type', 'layout', 'slots', 'shared', 'ties', 'paused', 'damaged'];

/* As slotmq topic alter takes it. */
function written(option, value) {
    if (Array.isArray(value)) {
        return value.join(',');
    }
    if (value === null) {
        return 'none';
    }
    return option.endsWith('_ms') ? exact(value) : String(value);
}

async function alter(page, topic, option, value) {
    const before = written(option, value);
    const answer = await ask(
        `Change ${option}?`,
        [
            el('p', {}, el('b', {}, topic), `: ${option} is now `, el('code', {}, before), '.'),
            option === 'groups' &&
                notice('A group that is left out is deleted with its messages.', 'bad'),
            field('Value', 'value', { required: true, value: before }, 'As 30s, 5, 1MiB, or none.'),
        ],
        'Change',
        option === 'groups' ? 'bad' : '',
    );
    if (answer) {
        await page.change(
            () => post('alter', { topic, option, value: answer.value.value.trim() }),
            `${option} is changed`,
        );
    }
}

/* The button of an option; nothing if it cannot be altered. */
export function alterButton(page, topic, option, value) {
    const can =
        page.self.write &&
        !topic.includes('/') &&
        !FIXED.includes(option) &&
        !(option === 'groups' && value.length === 0);
    return (
        can &&
        button('Change', () => alter(page, topic, option, value), {
            class: 'quiet',
            'aria-label': `Change ${option}`,
        })
    );
}
