// record.js - structs of the library: what it gives is read from buffers that src/pack.c has written, and what it takes is
// put into the order of their fields.
'use strict';
const { native } = require('./native.js');

const HEAD = 1; // numbers before those of the first record: how many there are
const WIDTH = 4; // of the number before bytes

function part(at, bytes) {
    return bytes.subarray(at + WIDTH, at + WIDTH + bytes.readUInt32LE(at));
}

function text(at, bytes) {
    return at === 0 ? undefined : bytes.toString('utf8', at + WIDTH, at + WIDTH + bytes.readUInt32LE(at));
}

function headers(at, bytes) {
    const found = [];
    for (let left = bytes.readUInt32LE(at), next = at + WIDTH; left > 0; left--) {
        const value = next + WIDTH + bytes.readUInt32LE(next);
        found.push([text(next, bytes), Buffer.from(part(value, bytes))]);
        next = value + WIDTH + bytes.readUInt32LE(value);
    }
    return Object.fromEntries(found);
}

const number = (fact) => fact;
const numbers = (at, bytes) => Array.from({ length: part(at, bytes).length / 8 }, (_, index) =>
    Number(bytes.readBigUInt64LE(at + WIDTH + 8 * index)));
// By enum field_kind of src/addon.h.
const READERS = [number, number, number, Boolean, text, text, part, numbers, headers, () => undefined];

// Of each struct its fields, in their order: {name: (records, index) => value}.
const SHAPES = {};
for (const [struct, kinds] of Object.entries(native.fields)) {
    const size = Object.keys(kinds).length;
    SHAPES[struct] = {};
    Object.entries(kinds).forEach(([name, kind], at) => {
        const read = READERS[kind], place = HEAD + at;
        SHAPES[struct][name] = ({ facts, bytes }, index) => read(facts[place + index * size], bytes);
    });
}

// The records in a buffer, which the fields of SHAPES read.
class Records {
    constructor(buffer = new ArrayBuffer(8)) {
        this.facts = new Float64Array(buffer, 0, Math.floor(buffer.byteLength / 8));
        this.bytes = Buffer.from(buffer);
        this.length = this.facts[0];
    }
}

// All of them as objects.
function objects(struct, buffer) {
    const records = new Records(buffer), fields = Object.entries(SHAPES[struct]);
    return Array.from({ length: records.length }, (_, index) =>
        Object.fromEntries(fields.map(([name, read]) => [name, read(records, index)])));
}

// An object with fields of a struct, as the addon takes it.
const ordered = (struct, object) => Object.keys(SHAPES[struct]).map((name) => object[name]);

module.exports = { Records, SHAPES, objects, ordered };
