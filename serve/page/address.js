/* address.js - addresses of views and of what the page asks for. */

/* Parameters as they stand in an address, without those that have no value.  An empty reason_is is a
 * value: it means messages without a reason. */
export function queryOf(parameters) {
    const given = Object.entries(parameters).filter(
        ([name, value]) =>
            value !== null && value !== undefined && (value !== '' || name === 'reason_is'),
    );
    const query = new URLSearchParams(given).toString();
    return query ? `?${query}` : '';
}

/* The address of a view, which can be sent to a colleague.  What stands behind # is not sent to
 * servers, so no log of a proxy has the texts that were searched for. */
export function link(view, parameters = {}) {
    return `#/${view}${queryOf(parameters)}`;
}
