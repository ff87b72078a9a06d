// slotmq.js - send and consume in Node.js, on the thread of its loop: foreign.c calls the library,
// and slotmq.json says what its structs look like.  jobs.js uses it.
'use strict';
const fs = require('node:fs');
const os = require('node:os');

const AT_ONCE = 64;
const SIGN_OF_LIFE_MS = 60000; // less than max_poll_gap_ms

const upToNul = (buffer) => buffer.toString('utf8', 0, buffer.indexOf(0));

function cString(text) {
    if (text.includes('\0')) {
        throw new TypeError('a text for the library must not hold a NUL');
    }
    return Buffer.from(`${text}\0`);
}

// Any value as a text, also one that refuses to be one.
function textOf(value) {
    try {
        return String(value).replaceAll('\0', '\\0');
    } catch {
        return 'a value that has no text';
    }
}

// A word of a call: Buffers are passed by their address.
function word(value) {
    if (Buffer.isBuffer(value) || typeof value === 'bigint') {
        return value;
    }
    return typeof value === 'string' ? cString(value) : BigInt(value ?? 0);
}

class Library {
    // `addon`: foreign.c as a module.  `description`: the path of slotmq.json.
    constructor(addon, description) {
        const module = { exports: {} };
        const { RTLD_NOW, RTLD_GLOBAL } = os.constants.dlopen;
        const { structs, enums, constants } = JSON.parse(fs.readFileSync(description, 'utf8'));

        process.dlopen(module, addon, RTLD_NOW | RTLD_GLOBAL);
        this.foreign = module.exports;
        this.structs = new Map(structs.map((struct) => [struct.name, struct]));
        const named = [...constants, ...enums.flatMap((one) => one.values)];
        this.values = Object.fromEntries(named.map(({ name, value }) => [name, value]));
    }

    call(name, ...words) {
        return this.foreign.call(name, ...words.map(word));
    }

    // Call what returns a status and takes an error last.
    status(name, ...words) {
        const err = this.make('smq_error');
        const status = Number(BigInt.asIntN(32, this.call(name, ...words, err)));

        if (status !== this.values.SMQ_OK) {
            const code = this.text(this.call('smq_status_name', status));
            throw Object.assign(new Error(this.read('smq_error', err).text), { code });
        }
    }

    // The handle or array that the first parameter of a call gives.
    handle(name, ...words) {
        const out = Buffer.alloc(8);

        this.status(name, out, ...words);
        return out.readBigInt64LE();
    }

    // A struct as a Buffer, which keeps the Buffers that it points to.
    make(struct, values = {}) {
        const { size, fields } = this.structs.get(struct);
        const buffer = Object.assign(Buffer.alloc(size), { kept: values });

        for (const { name, offset, size: width } of fields) {
            const value = name === 'struct_size' ? size : (values[name] ?? 0);
            if (Buffer.isBuffer(value)) {
                buffer.writeBigInt64LE(this.call('memcpy', value, value, 0), offset);
                if (width === 16) {
                    buffer.writeBigInt64LE(BigInt(value.length), offset + 8); // smq_bytes
                }
            } else if (width === 8) {
                buffer.writeBigInt64LE(BigInt(value), offset);
            } else if (value !== 0) {
                buffer.writeIntLE(value, offset, width);
            }
        }
        return buffer;
    }

    // The fields of a struct that stands in the Buffer: numbers, texts, and copies of bytes.
    read(struct, buffer, at = 0) {
        const values = {};

        for (const { name, type, offset, size, array } of this.structs.get(struct).fields) {
            const begin = at + offset;
            if (array) {
                values[name] = upToNul(buffer.subarray(begin, begin + size));
            } else if (type === 'smq_bytes') {
                const address = buffer.readBigInt64LE(begin);
                values[name] = this.copy(address, Number(buffer.readBigInt64LE(begin + 8)));
            } else if (type === 'const char *') {
                values[name] = this.text(buffer.readBigInt64LE(begin));
            } else {
                values[name] = size === 8 ? buffer.readBigInt64LE(begin) : buffer.readIntLE(begin, size);
            }
        }
        return values;
    }

    copy(address, length) {
        const buffer = Buffer.alloc(length);

        this.call('memcpy', buffer, address, length);
        return buffer;
    }

    text(address) {
        return address ? this.copy(address, Number(this.call('strlen', address))).toString() : null;
    }
}

// A topic.  send() gives a promise of the receipt.  `handle` is called with each delivery, and may
// return a promise: when it is kept the message is done, and when it is broken it is retried.
class Queue {
    constructor(library, redis, topic, handle) {
        const options = (kind, values) => library.make(`smq_${kind}_options`, values);
        const name = cString(topic);

        Object.assign(this, { library, topic, handle, sends: new Map(), number: 0n, emptyWakes: 0 });
        this.client = library.handle('smq_client_new', options('client', { redis: cString(redis) }));
        library.status('smq_topic_create', this.client, options('topic', { name }), null);
        this.producer = library.handle(
            'smq_producer_new',
            this.client,
            options('producer', { poll_receipts: 1 }),
        );
        this.consumer = library.handle(
            'smq_consumer_new',
            this.client,
            options('consumer', { topic: name }),
        );
        this.watches = [
            this.watch('smq_producer_fd', this.producer, () => this.takeReceipts()),
            this.watch('smq_consumer_fd', this.consumer, () => this.takeDeliveries()),
        ];
        this.life = setInterval(() => this.showLife(), SIGN_OF_LIFE_MS);
        this.ended = new Promise((resolve, reject) => Object.assign(this, { resolve, reject }));
    }

    watch(descriptor, handle, take) {
        return this.library.foreign.watch(Number(this.library.call(descriptor, handle)), () => {
            try {
                take();
            } catch (error) {
                this.close(error);
            }
        });
    }

    // `body`: a string, or a Uint8Array, such as a Buffer.
    async send(body) {
        if (this.closed) {
            throw this.closed;
        }
        if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
            throw new TypeError(`a body is a string or a Uint8Array, not ${textOf(body)}`);
        }
        const message = this.library.make('smq_message', { body: Buffer.from(body) });
        const number = ++this.number;

        this.library.status('smq_send_async', this.producer, this.topic, message, null, number);
        return new Promise((resolve, reject) => this.sends.set(number, { resolve, reject }));
    }

    // What there is for a descriptor, as parts of `size` bytes.
    poll(name, handle, size, ...words) {
        const parts = Buffer.alloc(AT_ONCE * size);
        const count = Buffer.alloc(8);

        this.library.status(name, handle, parts, AT_ONCE, count, ...words, 0);
        const length = Number(count.readBigInt64LE());
        this.emptyWakes += length === 0 ? 1 : 0;
        return Array.from({ length }, (_, i) => parts.subarray(i * size, (i + 1) * size));
    }

    takeReceipts() {
        const { size } = this.library.structs.get('smq_receipt');

        for (const part of this.poll('smq_producer_poll', this.producer, size, null)) {
            const receipt = this.library.read('smq_receipt', part);
            const { resolve, reject } = this.sends.get(receipt.user);
            this.sends.delete(receipt.user);
            if (receipt.status === this.library.values.SMQ_OK) {
                resolve(receipt);
            } else {
                reject(new Error(receipt.text));
            }
        }
    }

    takeDeliveries() {
        for (const part of this.poll('smq_consumer_poll', this.consumer, 8)) {
            this.answer(part.readBigInt64LE());
        }
    }

    // An answer that comes too late changes nothing, and the message is delivered again.
    async answer(delivery) {
        const { library } = this;
        const err = library.make('smq_error');

        try {
            const { size } = library.structs.get('smq_message_info');
            const info = library.copy(library.call('smq_delivery_info', delivery), size);
            await this.handle(library.read('smq_message_info', info));
            library.call('smq_done', delivery, err);
        } catch (error) {
            library.call('smq_retry', delivery, library.values.SMQ_BACKOFF, textOf(error), err);
        }
    }

    showLife() {
        this.library.call('smq_consumer_poll', this.consumer, null, 0, Buffer.alloc(8), 0, null);
    }

    // Gives a promise that all answers are stored.  Call it when all sends have their receipts.  A
    // handler may call it, and not wait for the promise, which waits for the handler.
    stop() {
        if (!this.closed) {
            this.library.call('smq_consumer_stop', this.consumer);
        }
        return this.ended;
    }

    // SMQ_CLOSED is the end of a stop.
    close(error) {
        const { library } = this;
        const free = library.call('dlsym', 0, 'free');

        this.closed = error;
        clearInterval(this.life);
        this.watches.forEach((watch) => library.call('uv_close', watch, free));
        library.call('smq_consumer_free', this.consumer);
        library.call('smq_producer_free', this.producer);
        library.call('smq_client_free', this.client);
        this.sends.forEach((send) => send.reject(error));
        if (error.code === 'SMQ_CLOSED') {
            this.resolve();
        } else {
            this.reject(error);
        }
    }
}

module.exports = { Library, Queue };
