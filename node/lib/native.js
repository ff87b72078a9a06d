// native.js - the addon, and the errors of its calls: a class for each class of status, whose `code` is the status.
'use strict';

// `code` is the name of the status in C, without SMQ_, as 'NO_TOPIC'.
class SlotmqError extends Error {
    constructor(code, text) {
        super(text);
        this.code = code;
        this.name = new.target.name;
    }
}
class UsageError extends SlotmqError {} // correct the program or the set-up
class RetryError extends SlotmqError {} // nothing was done: repeat the call later
class UnknownError extends SlotmqError {} // it may have been done
class LostError extends SlotmqError {} // the message belongs to another consumer
class FatalError extends SlotmqError {} // close the object and make a new one

const CLASSES = [SlotmqError, UsageError, RetryError, UnknownError, LostError, FatalError];
// One that was built here, or else the one that the package has for this machine.
const PLACES = ['../build/slotmq.node', `../prebuilds/${process.platform}-${process.arch}/slotmq.node`];

function load() {
    const why = [];
    for (const place of process.env.SLOTMQ_ADDON ? [process.env.SLOTMQ_ADDON] : PLACES) {
        try {
            return require(place);
        } catch (failure) {
            why.push(failure.message.split('\n')[0]);
        }
    }
    throw new Error(`slotmq: its addon cannot be loaded, and "npm rebuild slotmq" builds it: ${why.join('; ')}`);
}

const native = load();
native.init((status, name, kind, text) => new CLASSES[kind](name.replace('SMQ_', ''), text));

const closed = (what) => new FatalError('CLOSED', `the ${what} was closed`);

module.exports = { native, closed, errors: { SlotmqError, UsageError, RetryError, UnknownError, LostError, FatalError } };
