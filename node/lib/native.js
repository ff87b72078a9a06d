// native.js - the addon: one that was built here, or else the one that the package has for this machine.
'use strict';
const { error } = require('./errors.js');

const PLACES = [
    process.env.SLOTMQ_ADDON,
    '../build/slotmq.node',
    `../prebuilds/${process.platform}-${process.arch}/slotmq.node`,
];

function load() {
    const why = [];
    for (const place of PLACES.filter(Boolean)) {
        try {
            return require(place);
        } catch (failure) {
            why.push(failure.message.split('\n')[0]);
        }
    }
    throw new Error(`slotmq: its addon cannot be loaded; npm rebuild slotmq builds it: ${why.join('; ')}`);
}

const native = load();
native.init(error);
module.exports = native;
