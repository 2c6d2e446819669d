// JSON Schema as forms need it: references followed, "or null" taken out, one kind for each node. Pure.

function follow(schema, root) {
    let node = schema;
    for (let i = 0; node && node.$ref && i < 32; i++) {
        node = node.$ref.replace(/^#\//, '').split('/')
            .reduce((at, key) => (at ? at[key.replace(/~1/g, '/').replace(/~0/g, '~')] : undefined), root);
    }
    return node || {};
}

function isNullType(schema) {
    return schema.type === 'null' || (schema.enum && schema.enum.every((v) => v === null));
}

// The alternatives without null; whether null was among them.
function withoutNull(schema, root) {
    const node = follow(schema, root);
    const options = (node.oneOf || node.anyOf || []).map((s) => follow(s, root));
    const others = options.filter((s) => !isNullType(s));
    let isNullable = others.length < options.length;
    let { type, enum: values } = node;
    if (Array.isArray(type)) {
        isNullable = isNullable || type.includes('null');
        const named = type.filter((t) => t !== 'null');
        type = named.length === 1 ? named[0] : undefined;
    }
    if (values) {
        isNullable = isNullable || values.includes(null);
        values = values.filter((v) => v !== null);
    }
    return { node: { ...node, type, enum: values }, others, isNullable };
}

function titleOf(schema, root) {
    const node = follow(schema, root);
    const [only] = node.required || [];
    return node.title || (node.type === 'object' && only ? only : node.type) || 'other';
}

function kindOf(node) {
    if ('const' in node || node.enum)
        return 'enum';
    if (node.type === 'object' || node.properties) {
        if (node.properties)
            return 'object';
        return node.additionalProperties && node.additionalProperties.type === 'string' ? 'map' : 'json';
    }
    if (node.type === 'array')
        return node.items && node.items.type === 'integer' ? 'integers' : 'json';
    return ['string', 'number', 'integer', 'boolean'].includes(node.type) ? node.type : 'json';
}

function common(node, outer, isNullable) {
    return {
        isNullable,
        description: outer.description || node.description || '',
        default: outer.default !== undefined ? outer.default : node.default,
        schema: node,
    };
}

function objectNode(node, root) {
    const required = node.required || [];
    const properties = Object.entries(node.properties)
        .map(([name, schema]) => ({ name, isRequired: required.includes(name), node: readSchema(schema, root) }));
    return { properties, isOpen: node.additionalProperties !== false };
}

// → {kind, description, default, isNullable, schema, ...}: 'object' has properties [{name, node, isRequired}] and isOpen,
// 'choice' has options [{title, node}], 'enum' has values; the others are 'string', 'number', 'integer', 'boolean',
// 'integers' (a list), 'map' (of texts) and 'json' (anything else).
export function readSchema(schema, root) {
    const { node, others, isNullable } = withoutNull(schema, root);
    if (others.length === 1) {
        const inner = readSchema(others[0], root);
        return { ...inner, ...common(inner.schema, node, true), isNullable: isNullable || inner.isNullable };
    }
    if (others.length > 1) {
        return { kind: 'choice', ...common(node, node, isNullable),
            options: others.map((s) => ({ title: titleOf(s, root), node: readSchema(s, root) })) };
    }
    const kind = kindOf(node);
    const read = { kind, ...common(node, node, isNullable) };
    if (kind === 'object')
        return { ...read, ...objectNode(node, root) };
    return kind === 'enum' ? { ...read, values: 'const' in node ? [node.const] : node.enum } : read;
}

function typeOfValue(value) {
    if (value === null)
        return 'null';
    return Array.isArray(value) ? 'array' : typeof value;
}

// Whether a value could be meant for this node, by its outer form alone.
export function couldBe(node, value) {
    const type = typeOfValue(value);
    switch (node.kind) {
    case 'object': return type === 'object' && node.properties.every((p) => !p.isRequired || p.name in value);
    case 'map': return type === 'object';
    case 'number':
    case 'integer': return type === 'number';
    case 'integers': return type === 'array';
    case 'enum': return node.values.includes(value);
    case 'choice': return node.options.some((o) => couldBe(o.node, value));
    case 'json': return node.schema.type === undefined || node.schema.type === type;
    default: return type === node.kind;
    }
}

// Which option of a choice a value belongs to; the first where it fits none.
export function optionOf(node, value) {
    return Math.max(0, node.options.findIndex((o) => couldBe(o.node, value)));
}

// ---- values by path ----

export function valueAt(value, path) {
    return path.reduce((at, key) => (at === null || typeof at !== 'object' ? undefined : at[key]), value);
}

// A new value with that at `path`; undefined takes it out, and with it the objects that it leaves empty, as far as
// mayDrop(path) allows.
export function withValueAt(value, path, next, mayDrop = () => true) {
    if (!path.length)
        return next;
    const [key, ...rest] = path;
    const whole = typeOfValue(value) === 'object' ? { ...value } : {};
    const inner = withValueAt(whole[key], rest, next, (below) => mayDrop([key, ...below]));
    if (inner === undefined)
        delete whole[key];
    else
        whole[key] = inner;
    return next === undefined && Object.keys(whole).length === 0 && mayDrop([]) ? undefined : whole;
}

// The same value with its fields in the order of the schema; what the schema does not know comes last.
export function inOrder(node, value) {
    if (node.kind !== 'object' || typeOfValue(value) !== 'object')
        return value;
    const known = node.properties.filter((p) => p.name in value);
    const names = known.map((p) => p.name);
    return Object.fromEntries([...known.map((p) => [p.name, inOrder(p.node, value[p.name])]),
        ...Object.entries(value).filter(([name]) => !names.includes(name))]);
}
