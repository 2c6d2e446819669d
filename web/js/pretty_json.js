// JSON for reading: what fits on a line stands on one. Pure.

// The same JSON, in which nothing invisible changes how a line reads: what is copied is what was seen.
export function plainJson(json) {
    return json.replace(/[\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]/g,
        (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const LINE_MOST = 50;

const textOfJson = (value) => (value === undefined ? undefined : plainJson(JSON.stringify(value)));

// All of it on one line.
export function lineJson(value) {
    if (Array.isArray(value))
        return `[${value.map(lineJson).join(', ')}]`;
    if (value !== null && typeof value === 'object') {
        const parts = Object.entries(value).filter(([, v]) => v !== undefined).map(([k, v]) => `${textOfJson(k)}: ${lineJson(v)}`);
        return parts.length ? `{ ${parts.join(', ')} }` : '{}';
    }
    return textOfJson(value);
}

// The outermost object always has a line for each field.
export function prettyJson(value, indent = 0) {
    if (value === null || typeof value !== 'object')
        return textOfJson(value);
    const line = lineJson(value);
    if (indent > 0 && indent + line.length <= LINE_MOST)
        return line;
    const pad = ' '.repeat(indent + 2);
    const isList = Array.isArray(value);
    const parts = isList ? value.map((v) => `${pad}${prettyJson(v, indent + 2)}`)
        : Object.entries(value).filter(([, v]) => v !== undefined).map(([k, v]) => `${pad}${textOfJson(k)}: ${prettyJson(v, indent + 2)}`);
    if (!parts.length)
        return line;
    return `${isList ? '[' : '{'}\n${parts.join(',\n')}\n${' '.repeat(indent)}${isList ? ']' : '}'}`;
}
