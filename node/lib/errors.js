// errors.js - what a failed call throws: a class for each class of status, whose `code` is the status.
'use strict';

// `code` is the name of the status in C, without SMQ_, as 'NO_TOPIC'.
class SlotmqError extends Error {
    constructor(code, text) {
        super(text);
        this.code = code;
    }
    get name() {
        return this.constructor.name;
    }
}
class UsageError extends SlotmqError {} // correct the program or the set-up
class RetryError extends SlotmqError {} // nothing was done: repeat the call later
class UnknownError extends SlotmqError {} // it may have been done
class LostError extends SlotmqError {} // the message belongs to another consumer
class FatalError extends SlotmqError {} // close the object and make a new one

// A handler throws it to make its job a dead letter now.
class UnrecoverableError extends Error {
    get name() {
        return 'UnrecoverableError';
    }
}

const CLASSES = [SlotmqError, UsageError, RetryError, UnknownError, LostError, FatalError];

// The addon makes its errors with it.
function error(status, name, kind, text) {
    return new CLASSES[kind](name.replace(/^SMQ_/, ''), text);
}

const closed = (what) => new FatalError('CLOSED', `the ${what} was closed`);

module.exports = {
    SlotmqError, UsageError, RetryError, UnknownError, LostError, FatalError, UnrecoverableError, error, closed,
};
