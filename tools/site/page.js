/* Of each page: the search, and the buttons that copy code.  UP is the way to the folder of parts.js, whose PARTS are
 * {page, heading, name, link, text, weight}; only what is looked up by its name has one, such as a function. */

/* What users of other queues call the things of slotmq. */
const ALSO = {
    ack: ['smq_done', 'done'], acknowledge: ['smq_done', 'done'], backlog: ['waiting'], 'back-pressure': ['max_waiting', 'smq_full'],
    backpressure: ['max_waiting', 'smq_full'], broker: ['server'], cpp: ['hpp'], cron: ['schedules'], dedup: ['dedup_window_ms'],
    deduplication: ['dedup_window_ms'], dequeue: ['consume'], dlq: ['dead letter'], docker: ['container'], enqueue: ['send'],
    exactly: ['guaranteed'], exporter: ['prometheus'], failover: ['fault'], helm: ['kubernetes'], graceful: ['stop'], job: ['message'],
    k8s: ['kubernetes'], leader: ['assigner'], limit: ['rate'], lose: ['guaranteed'], loss: ['guaranteed'], lost: ['guaranteed'],
    migrate: ['coming'], monitoring: ['prometheus'], nack: ['smq_retry', 'retry'], outage: ['fault'], partition: ['slot'], password: ['credentials'],
    podman: ['container'], poll: ['smq_consumer_poll'], publish: ['smq_send', 'send'], queue: ['topic'], rebalance: ['move'],
    retention: ['ttl'], shutdown: ['stop'], ssl: ['tls'], stunnel: ['tunnel'], subscribe: ['consume'], throttle: ['rate'], tutorial: ['start'],
    upgrade: ['upgrading'], visibility: ['lease_ms', 'lease'],
};
const STOP = new Set(['a', 'an', 'and', 'are', 'can', 'do', 'does', 'for', 'how', 'i', 'in', 'is', 'it', 'my', 'of', 'on', 'or',
    'the', 'to', 'what', 'when', 'which', 'with']);
const MOST = 20;

function plain(text) {
    return ` ${text.toLowerCase().replaceAll('c++', 'cpp').replace(/[^\w-]+/g, ' ').trim()} `;
}

function has(text, word) {
    return text.includes(` ${word} `) || text.includes(` ${word}s `) || (word.endsWith('s') && text.includes(` ${word.slice(0, -1)} `));
}

let index;
function parts() {
    index ??= PARTS.map(part => ({ part, name: (part.name ?? '').toLowerCase().replace(/^smq_/, ''),
        heading: plain(part.heading), page: plain(part.page), text: plain(part.text) }));
    return index;
}

/* A name counts most, then a word of a heading, of the title of the page, of the text. */
function points(known, asked) {
    const word = asked.replace(/^smq_/, ''), flag = known.name.replace(/^-+/, ''), length = known.heading.trim().split(' ').length;
    if (known.name === word) {
        return known.part.name === asked || word === asked ? 100 : 90;
    }
    if (flag !== known.name) {
        return flag === asked.replace(/^-+/, '') ? asked.startsWith('-') ? 100 : 25 : has(known.text, asked) ? 2 : 0;
    }
    if (has(known.heading, asked)) {
        return 30 + 30 / length;
    }
    if (known.name.startsWith(`${word}_`)) {
        return 40;
    }
    if (known.heading.includes(` ${asked.replace(/e$/, '')}`)) {
        return 15 + 10 / length;
    }
    if (has(known.page, asked)) {
        return 12;
    }
    return has(known.text, asked) ? 4 + Math.min(4, known.text.split(` ${asked}`).length) :
        known.text.includes(asked) ? 1 : 0;
}

/* Of what a word means here, the first counts most. */
function weigh(known, words, question) {
    let sum = 0, found = 0;
    for (const word of words) {
        const best = Math.max(points(known, word),
            ...(ALSO[word] ?? []).map((other, at) => points(known, other) * (0.9 - at / 10)));
        sum += best;
        found += best > 0;
    }
    if (question.trim().includes(' ')) {
        sum += (known.text.includes(question) ? 15 : 0) + (known.heading.includes(question) ? 30 : 0) +
            (known.heading === question ? 30 : 0);
    }
    sum *= known.heading === known.page ? 1.2 : 1;
    return sum * (found / words.length) ** 3 * known.part.weight;
}

/* The parts that answer a question best, best first. */
function answers(question) {
    const all = plain(question).trim().split(' ').filter(word => word);
    const told = all.filter(word => !STOP.has(word));
    const words = told.length ? told : all;
    if (!words.length || question.trim().length < 2) {
        return [];
    }
    return parts().map(known => [weigh(known, words, plain(question)), known.part]).filter(([weight]) => weight > 0)
        .sort(([a], [b]) => b - a).slice(0, MOST).map(([, part]) => part);
}

function shown(part) {
    const item = document.createElement('li'), link = document.createElement('a'), page = document.createElement('small');
    link.href = UP + part.link;
    link.textContent = part.heading;
    page.textContent = part.page === part.heading ? part.text.slice(0, 80) : part.page;
    link.append(page);
    item.append(link);
    return item;
}

const box = document.getElementById('search'), list = document.getElementById('found');
box.addEventListener('input', () => list.replaceChildren(...answers(box.value).map(shown)));
box.addEventListener('keydown', event => {
    if (event.key === 'Enter') {
        list.querySelector('a')?.click();
    }
});
document.addEventListener('keydown', event => {
    if (event.key === '/' && !/INPUT|TEXTAREA/.test(document.activeElement.tagName)) {
        event.preventDefault();
        box.focus();
    }
});

/* Of a dialogue the commands are copied, without what they print. */
function code(block) {
    const text = block.textContent.replace(/\n$/, '');
    return !block.querySelector('.language-console') ? text :
        text.split('\n').filter(line => line.startsWith('$ ')).map(line => line.slice(2)).join('\n');
}

for (const block of document.querySelectorAll('main pre')) {
    const around = document.createElement('div'), button = document.createElement('button');
    around.className = 'copied';
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
        try {
            await navigator.clipboard.writeText(code(block));
            button.textContent = 'Copied';
        } catch {
            getSelection().selectAllChildren(block);
            button.textContent = 'Press Ctrl+C';
        }
    });
    block.replaceWith(around);
    around.append(block, button);
}

/* A link of the two boxes closes them again. */
for (const fold of document.querySelectorAll('.fold')) {
    fold.parentElement.addEventListener('click', event => {
        if (event.target.closest('a')) {
            fold.checked = false;
        }
    });
}
