/* format.js - numbers, ages, times and bytes as they are shown. */
import { el } from './dom.js';

export const UNKNOWN = '–';

/* How far the clock of the server is ahead of this one. */
let ahead = 0;

export function setNow(serverMs) {
    ahead = serverMs - Date.now();
}

/* By the clock of the server. */
export function now() {
    return Date.now() + ahead;
}

export function count(number) {
    return number === null || number === undefined ? UNKNOWN : number.toLocaleString('en');
}

export function rate(perSecond) {
    if (perSecond === null || perSecond === undefined) {
        return UNKNOWN;
    }
    const digits =
        perSecond > 0 && perSecond < 0.095 ? 2 : perSecond > 0 && perSecond < 9.95 ? 1 : 0;
    return perSecond.toLocaleString('en', {
        minimumFractionDigits: digits,
        maximumFractionDigits: digits,
    });
}

const TIMES = [
    ['d', 86400000],
    ['h', 3600000],
    ['m', 60000],
    ['s', 1000],
    ['ms', 1],
];

/* Two units at most, as the command prints it: 1m5s. */
export function age(ms) {
    if (ms === null || ms === undefined) {
        return UNKNOWN;
    }
    const whole = Math.max(0, Math.floor(ms));
    const first = Math.max(
        0,
        TIMES.findIndex(([, unit]) => whole >= unit),
    );
    if (whole === 0) {
        return '0';
    }
    const [name, unit] = TIMES[first];
    const rest = first + 2 < TIMES.length ? Math.floor((whole % unit) / TIMES[first + 1][1]) : 0;
    return `${Math.floor(whole / unit)}${name}${rest > 0 ? `${rest}${TIMES[first + 1][0]}` : ''}`;
}

/* The whole of it in one unit, as the command takes it: 90s. */
export function exact(ms) {
    const [name, unit] = TIMES.find(([, one]) => ms % one === 0);
    return ms === 0 ? '0' : `${ms / unit}${name}`;
}

export function bytes(size) {
    if (size === null || size === undefined) {
        return UNKNOWN;
    }
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let unit = 0;
    let left = size;
    while (left >= 1024 && unit + 1 < units.length) {
        left /= 1024;
        unit++;
    }
    return `${left.toLocaleString('en', { maximumFractionDigits: left < 10 && unit > 0 ? 1 : 0 })} ${units[unit]}`;
}

function two(number) {
    return String(number).padStart(2, '0');
}

/* Of the day in the time of the person who looks; of another day with its date. */
export function clock(ms, today = now()) {
    const at = new Date(ms);
    const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
    if (at.toDateString() === new Date(today).toDateString()) {
        return time;
    }
    return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

/* A time, with its whole text when it is pointed at; 0 and null are no time. */
export function moment(ms) {
    if (!ms) {
        return UNKNOWN;
    }
    const whole = new Date(ms).toISOString();
    return el('time', { datetime: whole, title: whole }, clock(ms));
}

/* How long ago, or in how long. */
export function distance(ms) {
    if (!ms) {
        return UNKNOWN;
    }
    const past = now() - ms;
    const words =
        past >= 0 ? `${age(past < 1000 ? past : past - (past % 1000))} ago` : `in ${age(-past)}`;
    return el('time', { datetime: new Date(ms).toISOString(), title: clock(ms, 0) }, words);
}

/* A text that may have come as base64, because it is no UTF-8: its bytes are shown as escapes. */
export function text(object, name) {
    const found = object[name];
    const coded = object[`${name}_base64`];
    if (coded === undefined) {
        return found;
    }
    return Array.from(atob(coded), (char) => {
        const code = char.charCodeAt(0);
        return code >= 32 && code < 127 ? char : `\\x${code.toString(16).padStart(2, '0')}`;
    }).join('');
}

/* Some bytes of a text, for a list. */
export function short(whole, length = 120) {
    const line = whole.replace(/\s+/g, ' ');
    return line.length > length ? `${line.slice(0, length)}…` : line;
}

export function plural(number, one, more = `${one}s`) {
    return `${count(number)} ${number === 1 ? one : more}`;
}
