// tls.test.js - the same over TLS, with the OpenSSL of the addon.
'use strict';
const assert = require('node:assert');
const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const tls = require('node:tls');
const { Queue, Worker, test, events, until } = require('./help.js');

async function freePort() {
    const server = net.createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address();
    await new Promise((resolve) => server.close(resolve));
    return port;
}

// One reply of the server, or undefined.
function ask(port, ca, command) {
    return new Promise((resolve) => {
        const socket = tls.connect({ port, host: '127.0.0.1', ca, checkServerIdentity: () => undefined }, () => socket.write(`${command}\r\n`));
        socket.on('data', (data) => { resolve(data.toString()); socket.destroy(); });
        socket.on('error', () => resolve(undefined));
    });
}

test('jobs are sent and handled over TLS, beside the TLS of Node.js', async (t) => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'slotmq-tls-'));
    const [cert, key] = [`${folder}/cert.pem`, `${folder}/key.pem`];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-keyout', key,
        '-out', cert, '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'], { stdio: 'ignore' });
    const [port, bus] = [await freePort(), await freePort()];
    const env = { ...process.env, LD_PRELOAD: '' };
    const server = spawn('redis-server', ['--port', 0, '--tls-port', port, '--cluster-port', bus, '--bind', '127.0.0.1', '--dir', folder,
        '--cluster-enabled', 'yes', '--tls-cluster', 'yes', '--tls-replication', 'yes', '--tls-auth-clients', 'no', '--tls-cert-file', cert,
        '--tls-key-file', key, '--tls-ca-cert-file', cert, '--save', ''].map(String), { stdio: 'ignore', env });
    t.after(() => new Promise((resolve) => {
        server.once('close', resolve);
        server.kill('SIGKILL');
    }).then(() => fs.rmSync(folder, { recursive: true })));
    const ca = fs.readFileSync(cert);
    await until(async () => (await ask(port, ca, 'PING')) === '+PONG\r\n');
    await ask(port, ca, 'CLUSTER ADDSLOTSRANGE 0 16383');
    await until(async () => (await ask(port, ca, 'CLUSTER INFO'))?.includes('cluster_state:ok'));

    const connection = { redis: `rediss://127.0.0.1:${port}`, tlsCa: cert };
    const queue = new Queue('tls', { connection });
    const worker = new Worker('tls', (job) => job.data, { connection, concurrency: 10 });
    const completed = events(worker, 'completed', 500);
    const [receipts] = await Promise.all([
        queue.addBulk(Array.from({ length: 500 }, (_, body) => ({ body }))), ask(port, ca, 'PING'), ask(port, ca, 'PING')]);
    assert.strictEqual(receipts.length, 500);
    assert.strictEqual(new Set((await completed).map(([, result]) => result)).size, 500);
    await Promise.all([worker.close(), queue.close()]);
    const untrusted = new Queue('tls', { connection: `rediss://127.0.0.1:${port}` });
    await assert.rejects(untrusted.add(1), /certificate/);
    await untrusted.close();
});
