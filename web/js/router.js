// Places are fragments: '#/runs/RUN?x=round'. Patterns have ':names'; what a person types never throws.

function decoded(text) {
    try {
        return decodeURIComponent(text);
    } catch {
        return null;
    }
}

// {segments, query}; segments is null where the link is malformed.
export function parsePlace(hash) {
    const text = hash.replace(/^#/, '');
    const mark = text.indexOf('?');
    const path = mark < 0 ? text : text.slice(0, mark);
    const segments = path.split('/').filter((s) => s !== '').map(decoded);
    return {
        segments: segments.includes(null) ? null : segments,
        query: Object.fromEntries(new URLSearchParams(mark < 0 ? '' : text.slice(mark + 1))),
    };
}

// path: segments, encoded here, or a text that is encoded already.
export function placeUrl(path, query) {
    const text = Array.isArray(path) ? `/${path.map((s) => encodeURIComponent(s)).join('/')}` : path;
    const parts = new URLSearchParams();
    for (const [key, value] of Object.entries(query || {}))
        if (value !== null && value !== undefined && value !== '')
            parts.append(key, value);
    const tail = parts.toString();
    return `#${text}${tail ? `?${tail.replace(/%2C/g, ',')}` : ''}`;
}

// The first route whose pattern fits, with the values of its names; null: none.
export function matchRoute(routes, segments) {
    for (const route of routes) {
        const parts = route.pattern.split('/').filter(Boolean);
        if (parts.length !== segments.length)
            continue;
        const params = {};
        const fits = parts.every((part, i) => {
            if (part.startsWith(':'))
                params[part.slice(1)] = segments[i];
            return part.startsWith(':') || part === segments[i];
        });
        if (fits)
            return { route, params };
    }
    return null;
}

export function go(place) {
    const target = place.startsWith('#') ? place : `#${place}`;
    if (location.hash === target)
        window.dispatchEvent(new Event('hashchange'));
    else
        location.hash = target;
}

// Settings of a view, kept in the link without a step back for each; null takes one out.
export function setQuery(changes) {
    const { segments, query } = parsePlace(location.hash);
    history.replaceState(null, '', placeUrl(segments || [], { ...query, ...changes }));
}

// show({route, params, query}) at each new place; route is null where there is none.
export function startRouter(routes, show) {
    const visit = () => {
        const { segments, query } = parsePlace(location.hash);
        const match = segments ? matchRoute(routes, segments) : null;
        show({ route: match ? match.route : null, params: match ? match.params : {}, query });
    };
    window.addEventListener('hashchange', visit);
    return { visit };
}
