/* api.js - what the page asks slotmq serve for: answers, changes, and the stream of events.
 *
 * The token is kept for this tab alone, and ends with it.  Addresses are relative, so that a reverse
 * proxy may put the page into a folder. */
import { queryOf } from './address.js';

const KEPT = 'slotmq token';
/* Readings come more often than that; a stream that is silent for longer is broken. */
const SILENT_MS = 90000;
const AGAIN_MS = [1000, 2000, 5000, 10000];

/* What the server refused, or that there is none: status is 0 then. */
export class Problem extends Error {
    constructor(status, code, detail) {
        super(detail);
        this.status = status;
        this.code = code;
    }
}

export const token = {
    get: () => sessionStorage.getItem(KEPT),
    set: (text) => sessionStorage.setItem(KEPT, text),
    drop: () => sessionStorage.removeItem(KEPT),
};

function headers(others) {
    const given = token.get();
    return given ? { ...others, Authorization: `Bearer ${given}` } : others;
}

async function ask(path, options) {
    let response = null;
    try {
        response = await fetch(path, {
            cache: 'no-store',
            credentials: 'same-origin',
            redirect: 'error',
            ...options,
        });
    } catch (error) {
        if (error.name === 'AbortError') {
            throw error;
        }
        throw new Problem(0, '', 'slotmq serve does not answer');
    }
    if (response.ok) {
        return response;
    }
    let said = {};
    try {
        said = await response.json();
    } catch {
        /* a proxy answers in words of its own */
    }
    throw new Problem(
        response.status,
        said.code ?? '',
        said.detail ?? `the answer was ${response.status}`,
    );
}

/* A document of /api/v1. */
export async function get(what, parameters = {}, signal = undefined) {
    const response = await ask(`api/v1/${what}${queryOf(parameters)}`, {
        signal,
        headers: headers({}),
    });
    return response.json();
}

export async function post(what, body) {
    const response = await ask(`api/v1/${what}`, {
        method: 'POST',
        headers: headers({ 'Content-Type': 'application/json' }),
        body: JSON.stringify(body),
    });
    return response.json();
}

/* Reads events from text as it comes, and gives each to `take`. */
export function eventReader(take) {
    let rest = '';
    let event = {};
    const line = (text) => {
        if (text === '') {
            if (event.data !== undefined) {
                take(event);
            }
            event = {};
            return;
        }
        const found = /^([^:]+)(?:: ?(.*))?$/s.exec(text);
        if (found) {
            const value = found[2] ?? '';
            event[found[1]] =
                found[1] === 'data' && event.data !== undefined ? `${event.data}\n${value}` : value;
        }
    };
    return (chunk) => {
        const lines = (rest + chunk).split(/\r\n|\n|\r(?!$)/);
        rest = lines.pop();
        lines.forEach(line);
    };
}

/* Follows the events until the function that it returns is called: on(name, data) for each, and
 * state(problem) when the stream begins (null) or breaks.  EventSource cannot send a token, so the
 * stream is read by fetch(). */
export function follow(on, state) {
    let stopped = false;
    let last = null;
    let failures = 0;
    let control = null;
    let silence = null;

    async function once() {
        control = new AbortController();
        const given = headers({
            Accept: 'text/event-stream',
            ...(last === null ? {} : { 'Last-Event-ID': last }),
        });
        const response = await ask('events', { headers: given, signal: control.signal });
        const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
        const feed = eventReader((event) => {
            last = event.id ?? last;
            on(event.event ?? 'message', JSON.parse(event.data));
        });
        failures = 0;
        state(null);
        for (;;) {
            clearTimeout(silence);
            silence = setTimeout(() => control.abort(), SILENT_MS);
            const { value, done } = await reader.read();
            if (done) {
                return;
            }
            feed(value);
        }
    }

    async function run() {
        while (!stopped) {
            let problem = new Problem(0, '', 'slotmq serve does not answer');
            try {
                await once();
            } catch (error) {
                problem = error instanceof Problem ? error : problem;
            }
            clearTimeout(silence);
            if (!stopped) {
                state(problem);
                const wait = AGAIN_MS[Math.min(failures, AGAIN_MS.length - 1)];
                failures++;
                await new Promise((resolve) => {
                    setTimeout(resolve, wait);
                });
            }
        }
    }

    run();
    return () => {
        stopped = true;
        control?.abort();
    };
}
