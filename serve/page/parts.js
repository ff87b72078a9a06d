/* parts.js - pieces that several views show: heads, tables, labels, dialogs. */
import { link } from './address.js';
import { el } from './dom.js';

export function heading(title, ...beside) {
    return el(
        'header',
        { class: 'title' },
        el('h1', {}, title),
        el('div', { class: 'beside' }, beside),
    );
}

/* What can be done, at the end of the heading. */
export function acts(...buttons) {
    return el('div', { class: 'acts' }, buttons);
}

/* How marks of the server look: one rule with slotmq top. */
export const MARKS = { error: 'bad', warning: 'warn' };

export function badge(text, kind = '') {
    return el('span', { class: `badge ${kind}` }, text);
}

export function notice(text, kind = '') {
    return el('p', { class: `notice ${kind}` }, text);
}

export function button(text, onclick, more = {}) {
    return el('button', { type: 'button', onclick, ...more }, text);
}

/* Links of which one is chosen: [text, address, is it]. */
export function choice(label, options) {
    return el(
        'nav',
        { class: 'choice', 'aria-label': label },
        options.map(([text, href, chosen]) =>
            el('a', { href, 'aria-current': chosen ? 'true' : null }, text),
        ),
    );
}

/* A table in which each cell knows its column, so that a narrow screen can show a row as a card.
 * columns: [name, class]; rows: {key, class, cells}. */
export function table(caption, columns, rows, kind = '') {
    return el(
        'div',
        { class: 'scroll' },
        el(
            'table',
            { class: kind },
            el('caption', { class: 'unseen' }, caption),
            el(
                'thead',
                {},
                el(
                    'tr',
                    {},
                    columns.map(([name, type]) => el('th', { scope: 'col', class: type }, name)),
                ),
            ),
            el(
                'tbody',
                {},
                rows.map((row) =>
                    el(
                        'tr',
                        { key: row.key, class: row.class },
                        row.cells.map((cell, index) =>
                            el(
                                'td',
                                {
                                    class: columns[index][1],
                                    'data-name':
                                        typeof columns[index][0] === 'string'
                                            ? columns[index][0]
                                            : null,
                                },
                                cell,
                            ),
                        ),
                    ),
                ),
            ),
        ),
    );
}

/* Names and values below each other. */
export function facts(pairs) {
    return el(
        'dl',
        { class: 'facts' },
        pairs.filter(Boolean).map(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]),
    );
}

/* The views of a topic. */
export function topicTabs(topic, shown, dead) {
    const tabs = [
        ['topic', 'Overview'],
        ['work', 'In work'],
        ['messages', 'Messages'],
        ['dead', 'Dead letters'],
        ['schedules', 'Schedules'],
    ];
    return el(
        'nav',
        { class: 'tabs', 'aria-label': 'Topic' },
        tabs.map(([view, name]) =>
            el(
                'a',
                {
                    href: link(view, { topic }),
                    'aria-current': view === shown ? 'page' : null,
                },
                name,
                view === 'dead' &&
                    dead > 0 &&
                    el('span', { class: 'badge bad' }, dead.toLocaleString('en')),
            ),
        ),
    );
}

/* Asks with a form, and gives its elements, or null.  `fields` are labels with inputs. */
export function ask(title, fields, action, kind = '') {
    return new Promise((resolve) => {
        const close = (result) => {
            dialog.close();
            dialog.remove();
            resolve(result);
        };
        const form = el(
            'form',
            {
                onsubmit: (event) => {
                    event.preventDefault();
                    close(event.target.elements);
                },
            },
            el('h2', {}, title),
            fields,
            el(
                'div',
                { class: 'actions' },
                button('Cancel', () => close(null)),
                action && el('button', { type: 'submit', class: `main ${kind}` }, action),
            ),
        );
        const dialog = el('dialog', {}, form);
        dialog.addEventListener('cancel', (event) => {
            event.preventDefault();
            close(null);
        });
        document.body.append(dialog);
        dialog.showModal();
        (
            dialog.querySelector('input') ??
            dialog.querySelector('button.main') ??
            dialog.querySelector('button')
        ).focus();
    });
}

/* How fast a long edit goes, and how far; `rate` is offered. */
export function amounts(rate) {
    const number = { type: 'number', min: 1, step: 1, inputmode: 'numeric' };
    return [
        field(
            'Messages per second',
            'rate',
            { ...number, value: rate },
            'Empty: as fast as Redis takes them.',
        ),
        field('At most', 'limit', { ...number, value: '' }, 'Empty: all of them.'),
    ];
}

export function field(label, name, more = {}, hint = '') {
    return el(
        'label',
        { class: 'field' },
        el('span', {}, label),
        el('input', { name, autocomplete: 'off', ...more }),
        hint && el('small', {}, hint),
    );
}
