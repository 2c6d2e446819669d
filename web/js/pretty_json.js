// JSON for reading: what fits on a line stands on one. Pure.

const LINE_MOST = 50;

// All of it on one line.
export function lineJson(value) {
    if (Array.isArray(value))
        return `[${value.map(lineJson).join(', ')}]`;
    if (value !== null && typeof value === 'object') {
        const parts = Object.entries(value).filter(([, v]) => v !== undefined).map(([k, v]) => `${JSON.stringify(k)}: ${lineJson(v)}`);
        return parts.length ? `{ ${parts.join(', ')} }` : '{}';
    }
    return JSON.stringify(value);
}

// The outermost object always has a line for each field.
export function prettyJson(value, indent = 0) {
    if (value === null || typeof value !== 'object')
        return JSON.stringify(value);
    const line = lineJson(value);
    if (indent > 0 && indent + line.length <= LINE_MOST)
        return line;
    const pad = ' '.repeat(indent + 2);
    const isList = Array.isArray(value);
    const parts = isList ? value.map((v) => `${pad}${prettyJson(v, indent + 2)}`)
        : Object.entries(value).filter(([, v]) => v !== undefined).map(([k, v]) => `${pad}${JSON.stringify(k)}: ${prettyJson(v, indent + 2)}`);
    if (!parts.length)
        return line;
    return `${isList ? '[' : '{'}\n${parts.join(',\n')}\n${' '.repeat(indent)}${isList ? ']' : '}'}`;
}
