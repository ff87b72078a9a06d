/* chart.js - the last hour of a number, as plain SVG. */
import { el, svg } from './dom.js';
import { UNKNOWN, clock } from './format.js';

const HOUR_MS = 3600000;
/* A server that has just begun shows its first minutes over the whole width. */
const LEAST_MS = 60000;

/* From when to when a chart is drawn. */
function span(times, end) {
    const first = times.length > 0 ? times[0] : end;
    return [Math.max(end - HOUR_MS, Math.min(first, end - LEAST_MS)), end];
}

/* A round number that is not smaller. */
function ceiling(number) {
    if (!(number > 0)) {
        return 1;
    }
    const power = 10 ** Math.floor(Math.log10(number));
    return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= number * 0.9999);
}

/* Runs of known values as [x, y] within the box; y grows downward. */
function runs(times, values, [begin, end], top, width, height) {
    const found = [];
    let run = null;
    values.forEach((value, index) => {
        if (value === null || value === undefined || times[index] < begin) {
            run = null;
            return;
        }
        if (!run) {
            run = [];
            found.push(run);
        }
        run.push([
            ((times[index] - begin) / (end - begin)) * width,
            height - (value / top) * height,
        ]);
    });
    return found;
}

function path(points) {
    return points
        .map(([x, y], index) => `${index ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`)
        .join('');
}

function drawing(times, values, box, top, width, height) {
    return runs(times, values, box, top, width, height).map((points) => {
        const closed = `${path(points)}L${points.at(-1)[0].toFixed(1)} ${height}L${points[0][0].toFixed(1)} ${height}Z`;
        const dotted = points.length === 1 ? 'h0.01' : '';
        return [
            svg('path', { class: 'area', d: closed }),
            svg('path', { class: 'line', d: path(points) + dotted }),
        ];
    });
}

function most(values) {
    return values.reduce((so, value) => Math.max(so, value ?? 0), 0);
}

function latest(values) {
    return values.length > 0 ? values.at(-1) : null;
}

/* A small one beside a number. */
export function spark(name, kind, history, values, format, end) {
    const times = history?.at_ms ?? [];
    const width = 96;
    const height = 22;
    const top = ceiling(most(values));
    const label = `${name}: now ${format(latest(values))}, at most ${format(most(values))} in the last hour`;
    return svg(
        'svg',
        {
            class: `spark ${kind} ${most(values) > 0 ? '' : 'flat'}`,
            viewBox: `0 -1 ${width} ${height + 2}`,
            preserveAspectRatio: 'none',
            role: 'img',
            'aria-label': label,
        },
        svg('path', { class: 'base', d: `M0 ${height}H${width}` }),
        drawing(times, values, span(times, end), top, width, height),
    );
}

/* A large one, with its largest value, its times, and the value at the pointer. */
export function chart(name, kind, history, values, format, unit, end) {
    const times = history?.at_ms ?? [];
    const width = 600;
    const height = 120;
    const top = ceiling(most(values));
    const box = span(times, end);
    const value = el('output', {}, `${format(latest(values))}${unit}`);
    const rule = svg('path', { class: 'rule', d: '' });
    const move = (event) => {
        const area = event.currentTarget.getBoundingClientRect();
        const at = box[0] + ((event.clientX - area.left) / area.width) * (box[1] - box[0]);
        const nearest = times.reduce(
            (so, time, index) => (Math.abs(time - at) < Math.abs(times[so] - at) ? index : so),
            0,
        );
        const figure = event.currentTarget.closest('figure');
        if (times.length > 0 && values[nearest] !== null) {
            figure.querySelector('output').textContent =
                `${clock(times[nearest])}  ${format(values[nearest])}${unit}`;
            const x = (((times[nearest] - box[0]) / (box[1] - box[0])) * width).toFixed(1);
            figure.querySelector('.rule').setAttribute('d', `M${x} 0V${height}`);
        }
    };
    const leave = (event) => {
        const figure = event.currentTarget.closest('figure');
        figure.querySelector('output').textContent = `${format(latest(values))}${unit}`;
        figure.querySelector('.rule').setAttribute('d', '');
    };
    const label = `${name}: now ${format(latest(values))}${unit}, at most ${format(most(values))}${unit}`;
    return el(
        'figure',
        { class: `chart ${kind}`, key: name },
        el('figcaption', {}, el('span', {}, name), value),
        el(
            'div',
            { class: 'plot' },
            el('span', { class: 'top' }, `${format(top)}${unit}`),
            svg(
                'svg',
                {
                    viewBox: `0 -1 ${width} ${height + 2}`,
                    preserveAspectRatio: 'none',
                    role: 'img',
                    'aria-label': label,
                    onpointermove: move,
                    onpointerleave: leave,
                },
                svg('path', {
                    class: 'base',
                    d: `M0 0H${width}M0 ${height / 2}H${width}M0 ${height}H${width}`,
                }),
                drawing(times, values, box, top, width, height),
                rule,
            ),
        ),
        el('div', { class: 'times' }, el('span', {}, clock(box[0])), el('span', {}, clock(box[1]))),
        times.length === 0 && el('p', { class: 'none' }, `${UNKNOWN} no reading yet`),
    );
}
