/* dom.js - elements, and how what is shown becomes what is new.
 *
 * Every text is set as text.  Nothing that comes from a server is ever read as HTML, and no element
 * has a style or a script of its own, so the strict content security policy holds. */

const SVG = 'http://www.w3.org/2000/svg';
const HANDLERS = ['onclick', 'onchange', 'oninput', 'onsubmit', 'onpointermove', 'onpointerleave'];

function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes ?? {})) {
        if (value === null || value === undefined || value === false) {
            continue;
        }
        if (name === 'key' || name === 'checked' || name === 'value' || name.startsWith('on')) {
            node[name] = value;
        } else {
            node.setAttribute(name, value === true ? '' : value);
        }
    }
    for (const child of children.flat(Infinity)) {
        if (child !== null && child !== undefined && child !== false) {
            node.append(child);
        }
    }
    return node;
}

/* An element.  A `key` names it among its siblings; a child is an element, a text, a list of both,
 * or nothing. */
export function el(name, attributes, ...children) {
    return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes, ...children) {
    return fill(document.createElementNS(SVG, name), attributes, children);
}

function isSame(one, other) {
    return (
        one.nodeType === other.nodeType && one.nodeName === other.nodeName && one.key === other.key
    );
}

function renewAttributes(shown, fresh) {
    for (const { name } of [...shown.attributes]) {
        const kept = name === 'open' && shown.nodeName === 'DETAILS';
        if (!fresh.hasAttribute(name) && !kept) {
            shown.removeAttribute(name);
        }
    }
    for (const { name, value } of fresh.attributes) {
        if (shown.getAttribute(name) !== value) {
            shown.setAttribute(name, value);
        }
    }
    for (const name of HANDLERS) {
        shown[name] = fresh[name];
    }
}

/* What a person types is kept. */
function renewInput(shown, fresh) {
    if (shown.type === 'checkbox') {
        shown.checked = fresh.checked;
    } else if (shown !== document.activeElement && 'value' in shown) {
        shown.value = fresh.value;
    }
}

function renewChildren(shown, fresh) {
    const keyed = new Map();
    for (const child of shown.childNodes) {
        if (child.key !== undefined) {
            keyed.set(child.key, child);
        }
    }
    const wanted = new Set([...fresh.childNodes].map((child) => child.key));
    let at = shown.firstChild;
    for (const child of [...fresh.childNodes]) {
        /* What has a key is not moved past what goes: moving it would take its focus. */
        while (child.key !== undefined && keyed.has(child.key) && at && !wanted.has(at.key ?? {})) {
            const next = at.nextSibling;
            at.remove();
            at = next;
        }
        const known = child.key !== undefined ? keyed.get(child.key) : at;
        if (!known || !isSame(known, child)) {
            shown.insertBefore(child, at);
            continue;
        }
        if (known === at) {
            at = at.nextSibling;
        } else {
            shown.insertBefore(known, at);
        }
        renew(known, child);
    }
    while (at) {
        const next = at.nextSibling;
        at.remove();
        at = next;
    }
}

/* Make what is shown like the fresh one, which is used up; focus, selected text and places of
 * scroll bars stay. */
export function renew(shown, fresh) {
    if (shown.nodeType !== Node.ELEMENT_NODE) {
        if (shown.data !== fresh.data) {
            shown.data = fresh.data;
        }
        return;
    }
    renewAttributes(shown, fresh);
    if (['INPUT', 'SELECT', 'TEXTAREA'].includes(shown.nodeName)) {
        if (shown.nodeName === 'SELECT') {
            renewChildren(shown, fresh);
        }
        renewInput(shown, fresh);
        return;
    }
    renewChildren(shown, fresh);
}
