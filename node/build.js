// build.js - npm runs it when the package is installed: the addon that the package has is used if this machine can load it,
// else one is built from the sources of the library: the clone around this folder, or the folder `library` of a package.
//
// SLOTMQ_BUILD=source builds it always, SLOTMQ_ZOOKEEPER=enabled with the client of ZooKeeper, NODE_HEADERS=FOLDER with
// other headers of Node.js.
'use strict';
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const READY = path.join(__dirname, 'prebuilds', `${process.platform}-${process.arch}`, 'slotmq.node');
const LIBRARY = path.join(__dirname, 'library');
const SOURCES = fs.existsSync(LIBRARY) ? LIBRARY : path.dirname(__dirname);
const FOLDER = path.join(__dirname, 'build');
const OPTIONS = ['cli', 'tests', 'bench', 'demo'].map((part) => `-D${part}=false`);

function fail(text) {
    console.error(`slotmq: ${text}`);
    process.exit(1);
}

function run(program, ...words) {
    try {
        execFileSync(program, words, { stdio: 'inherit' });
    } catch (failure) {
        fail(failure.code === 'ENOENT' ? `the program ${program} is not installed; docs/node.md lists what the build needs`
            : `${program} ${words.join(' ')} has failed`);
    }
}

function canLoad(addon) {
    try {
        return Boolean(require(addon));
    } catch {
        return false;
    }
}

function headers() {
    const places = [process.env.NODE_HEADERS, path.resolve(process.execPath, '../../include/node'), '/usr/include/node'];
    try {
        places.push(require('node-api-headers').include_dir);
    } catch {
        // it is not installed
    }
    return places.find((place) => place && fs.existsSync(path.join(place, 'node_api.h'))) ??
        fail('there is no node_api.h: install the headers of Node.js, or the package node-api-headers beside this one');
}

if (process.env.SLOTMQ_BUILD === 'source' || !canLoad(READY)) {
    if (!fs.existsSync(path.join(SOURCES, 'meson.build'))) {
        fail(`the sources of the library are not in ${SOURCES}: install from a clone with npm install --install-links=false ./node`);
    }
    const meson = path.join(FOLDER, 'library');
    fs.rmSync(meson, { recursive: true, force: true });
    run('meson', 'setup', meson, SOURCES, '--buildtype=release', ...OPTIONS, '-Dnode=enabled', `-Dnode_headers=${headers()}`,
        `-Dzookeeper=${process.env.SLOTMQ_ZOOKEEPER ?? 'disabled'}`);
    run('ninja', '-C', meson, 'node-addon');
    run('strip', '-o', path.join(FOLDER, 'slotmq.node'), path.join(meson, 'node', 'slotmq.node'));
}
