// hostile.test.js - what hostile applications leave behind.
'use strict';
const assert = require('node:assert');
const { spawn } = require('node:child_process');
const path = require('node:path');
const { test, isLong } = require('./help.js');

test('hostile applications leave nothing claimed, and lose no job', async () => {
    const words = isLong ? ['--count', '1500'] : ['--seed', '1', '--count', '40'];
    const child = spawn(process.execPath, [path.join(__dirname, 'hostile.js'), ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
    const lines = [];
    child.stdout.on('data', (data) => lines.push(data));
    const code = await new Promise((resolve) => child.once('close', resolve));
    assert.strictEqual(code, 0, Buffer.concat(lines).toString());
});
