// What of a run's spec was chosen, and what is as it always is: pure, from the spec and the API's own schema.

// The schema behind $ref and behind "this or null"; {} where there is none.
export function resolveSchema(schema, schemas) {
    let found = schema ?? {};
    for (let i = 0; i < 20; i++) {
        if (found.$ref)
            found = schemas[found.$ref.split('/').pop()] ?? {};
        else if (found.oneOf)
            found = found.oneOf.find((s) => s.type !== 'null') ?? {};
        else
            return found;
    }
    return {};
}

const isObject = (v) => v !== null && typeof v === 'object' && !Array.isArray(v);

// Equal as JSON, whatever the order of the members.
export function sameJson(a, b) {
    if (!isObject(a) || !isObject(b))
        return JSON.stringify(a) === JSON.stringify(b);
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length && keys.every((k) => Object.hasOwn(b, k) && sameJson(a[k], b[k]));
}

// What the server fills in where the schema has no default.
const NO_VALUE = [null, '', undefined];

function leafOf(path, value, schema, required) {
    const hasDefault = schema.default !== undefined;
    const isDefault = hasDefault ? sameJson(schema.default, value) : NO_VALUE.includes(value) || sameJson(value, {});
    return { path, value, default: hasDefault ? schema.default : null, kind: required ? 'required' : isDefault ? 'default' : 'chosen' };
}

function walkSpec(value, schema, path, schemas, out) {
    const resolved = resolveSchema(schema, schemas);
    if (isObject(value) && resolved.properties) {
        for (const [key, member] of Object.entries(value)) {
            const inner = resolved.properties[key];
            const isRequired = (resolved.required ?? []).includes(key) && !resolveSchema(inner, schemas).properties;
            if (isRequired)
                out.push(leafOf([...path, key], member, inner ?? {}, true));
            else
                walkSpec(member, inner, [...path, key], schemas, out);
        }
        return;
    }
    // A default may stand beside a $ref or a oneOf, so the schema as written comes first.
    out.push(leafOf(path, value, { ...resolved, ...(schema ?? {}) }, false));
}

// Rows {path: [names], value, default, kind: 'default' | 'chosen' | 'required'} of a run's spec. openapi: the API's
// description; strategies: items of /api/v1/strategies, whose schemas have the defaults of strategy.params.
export function specRows(spec, openapi, strategies = []) {
    const schemas = openapi.components?.schemas ?? {};
    const rows = [];
    walkSpec(spec, { $ref: 'RunSpec' }, [], schemas, rows);
    const params = strategies.find((s) => s.name === spec.strategy?.name)?.params;
    if (!params)
        return rows;
    const inParams = (row) => row.path[0] === 'strategy' && row.path[1] === 'params';
    const own = [];
    for (const [key, value] of Object.entries(spec.strategy.params ?? {}))
        own.push(leafOf(['strategy', 'params', key], value, params.properties?.[key] ?? {}, false));
    const at = rows.findIndex(inParams);
    const others = rows.filter((row) => !inParams(row));
    others.splice(at < 0 ? others.length : at, 0, ...own);
    return others;
}
