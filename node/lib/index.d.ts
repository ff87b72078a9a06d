// index.d.ts - the types of the package.  What each does is in docs/node.md; fields of C are in slotmq/*.h.
/// <reference types="node" />
import { EventEmitter } from 'node:events';

type Bytes = string | Uint8Array;
type Option = string | number | boolean | null | undefined;
/** Options of docs/CONFIGURATION.md in camelCase, as maxInFlight. */
export interface Options { [name: string]: unknown }

export interface ClientOptions {
    redis: string;
    [name: string]: Option;
}
export type Connection = string | ClientOptions | Client;

export interface TopicOptions {
    type?: 'range_merge' | 'priority' | 'fixed_time' | 'fifo';
    shared?: boolean;
    slots?: number;
    attempts?: number;
    backoff?: string | number | { type: 'fixed' | 'exponential'; delay: number };
    [name: string]: unknown;
}

/** Times are milliseconds. */
export interface JobOptions {
    key?: Bytes;
    id?: Bytes;
    priority?: number;
    delay?: number;
    dueAt?: number | Date;
    ttl?: number;
    attempts?: number;
    headers?: Record<string, Bytes>;
    signal?: AbortSignal;
}
export type BulkJob<Data> = JobOptions & { body: Data };
export interface Receipt { id: Bytes; merged: boolean; slot: number }

export type State = 'waiting' | 'claimed' | 'resting' | 'dead';
export interface Filter { contains?: string; reason?: string; limit?: number }
export interface JobCounts { waiting: number; active: number; delayed: number; completed: number; failed: number }
/** smq_stats, smq_metrics and smq_health, with the names of their fields in camelCase. */
export type Stats = Record<string, number>;
export type Metrics = Record<string, number | number[]>;
export type Health = { wrong: string } & Record<string, number | string>;

export interface Repeat {
    pattern?: string;
    tz?: string;
    every?: number;
    startDate?: number | Date;
    endDate?: number | Date;
    limit?: number;
    missed?: 'one' | 'none';
}
export interface JobScheduler {
    id: string; topic: string; pattern?: string; tz?: string; every: number; limit: number; next: number; last: number;
    ticks: number; paused: boolean; note: string;
}

export interface Event {
    id: string; level: string; text: string; topic?: string; slot: number; status: number; attempt: number;
    messageId?: string; reason?: string; token?: string;
}

export class Client extends EventEmitter {
    constructor(redis: string | ClientOptions, options?: Record<string, Option>);
    waitUntilReady(): Promise<this>;
    limit(most: number): Limit;
    health(): Promise<Health>;
    metrics(): Promise<Metrics>;
    metricsText(topics?: string): Promise<string>;
    close(): Promise<void>;
    on(event: 'event', listener: (event: Event) => void): this;
}

export class Limit {
    private constructor();
    set(most: number): Promise<void>;
}

export interface QueueOptions extends Options {
    connection?: Connection;
    topic?: TopicOptions | false;
    defaultJobOptions?: JobOptions;
}

export class Queue<Data = any> {
    constructor(name: string, options?: QueueOptions);
    readonly name: string;
    readonly client: Client;
    waitUntilReady(): Promise<this>;
    add(body: Data, options?: JobOptions): Promise<Receipt>;
    addBulk(jobs: Iterable<BulkJob<Data>>): Promise<Receipt[]>;
    pause(): Promise<void>;
    resume(): Promise<void>;
    isPaused(): Promise<boolean>;
    stats(): Promise<Stats>;
    getJobCounts(): Promise<JobCounts>;
    jobs(filter?: Filter & { states?: State | State[] }): AsyncGenerator<StoredJob<Data>, void, undefined>;
    /** 100 at most, without a limit. */
    getDead(filter?: Filter): Promise<StoredJob<Data>[]>;
    requeueDead(filter?: Filter): Promise<number>;
    clean(states: State | State[], filter?: Filter): Promise<number>;
    getJob(id: Bytes, options?: { key?: Bytes }): Promise<StoredJob<Data> | undefined>;
    remove(id: Bytes, options?: { key?: Bytes }): Promise<void>;
    rank(id: Bytes, options?: { key?: Bytes }): Promise<number>;
    reschedule(id: Bytes, options: { key?: Bytes } & Pick<JobOptions, 'priority' | 'delay' | 'dueAt'>): Promise<void>;
    alter(options: TopicOptions): Promise<void>;
    obliterate(options?: { force?: boolean }): Promise<void>;
    upsertJobScheduler(id: string, repeat: Repeat, job?: Partial<BulkJob<Data>>):
        Promise<'made' | 'same' | 'changed' | 'restarted'>;
    getJobScheduler(id: string): Promise<JobScheduler | undefined>;
    getJobSchedulers(): Promise<JobScheduler[]>;
    removeJobScheduler(id: string): Promise<void>;
    pauseJobScheduler(id: string, note?: string): Promise<void>;
    resumeJobScheduler(id: string): Promise<void>;
    runJobScheduler(id: string): Promise<void>;
    close(): Promise<void>;
}

/** What every job has.  Bodies that are no JSON are in `body`. */
export interface JobFields<Data = any> {
    readonly id: string;
    readonly key: string;
    readonly data: Data;
    readonly body: Buffer;
    readonly headers: Record<string, Buffer>;
    readonly slot: number;
    readonly attempt: number;
    readonly retriesLeft: number;
    readonly redelivered: boolean;
    readonly priority: number;
    readonly dueAt: number;
    readonly sentAt: number;
}

/** A job that a worker or consumer has. */
export interface Job<Data = any> extends JobFields<Data> {}
export class Job<Data = any> {
    private constructor();
    readonly queueName: string;
    readonly token: string;
    readonly signal: AbortSignal;
    readonly answered: boolean;
    done(): void;
    retry(options?: { delay?: number; reason?: unknown }): void;
    reject(reason?: unknown): void;
    release(options?: { delay?: number }): void;
}

/** A job that Redis holds. */
export interface StoredJob<Data = any> extends JobFields<Data> {}
export class StoredJob<Data = any> {
    private constructor();
    readonly topic: string;
    readonly state: State;
    readonly reason: string;
    readonly expiresAt: number;
    readonly deadAt: number;
    readonly claimedAt: number;
    readonly claimedBy: string;
    readonly whole: boolean;
}

export interface ConsumerOptions extends Options {
    connection?: Connection;
    topic?: TopicOptions | false;
    limit?: Limit;
    signal?: AbortSignal;
}
export interface WorkerOptions extends ConsumerOptions {
    concurrency?: number;
    autorun?: boolean;
}

export interface WorkerEvents<Data, Result> {
    ready: [];
    active: [job: Job<Data>];
    completed: [job: Job<Data>, result: Result];
    failed: [job: Job<Data>, error: unknown];
    dead: [death: { id: string; attempt: number; reason?: string; job?: Job<Data>; error?: unknown }];
    lost: [job: Job<Data>, error: SlotmqError];
    error: [error: Error];
    closed: [];
}

declare class Source extends EventEmitter {
    readonly name: string;
    readonly client: Client;
}

export class Worker<Data = any, Result = any> extends Source {
    constructor(name: string, handler: (job: Job<Data>) => Promise<Result> | Result, options?: WorkerOptions);
    concurrency: number;
    run(): this;
    waitUntilReady(): Promise<this>;
    close(force?: boolean): Promise<void>;
    on<Name extends keyof WorkerEvents<Data, Result>>(event: Name,
        listener: (...words: WorkerEvents<Data, Result>[Name]) => void): this;
    once<Name extends keyof WorkerEvents<Data, Result>>(event: Name,
        listener: (...words: WorkerEvents<Data, Result>[Name]) => void): this;
}

export class Consumer<Data = any> extends Source implements AsyncIterable<Job<Data>> {
    constructor(name: string, options?: ConsumerOptions);
    waitUntilReady(): Promise<void>;
    next(): Promise<IteratorResult<Job<Data>, undefined>>;
    close(): Promise<void>;
    [Symbol.asyncIterator](): AsyncIterator<Job<Data>, undefined>;
}

/** `code` is the status, as 'NO_TOPIC'.  `results`: of addBulk(), for each of its jobs. */
export class SlotmqError extends Error {
    readonly code: string;
    readonly results?: (Receipt | Error)[];
}
export class UsageError extends SlotmqError {}
export class RetryError extends SlotmqError {}
export class UnknownError extends SlotmqError {}
export class LostError extends SlotmqError {}
export class FatalError extends SlotmqError {}
export class UnrecoverableError extends Error {}

export const version: string;
