// A model of dense layers from three fields: what goes in, what lies between, what comes out.

// {input, hidden, classes, init} of a model that is dense layers with ReLU between them; null for any other.
export function modelFacts(model) {
    if (!model || !Array.isArray(model.input) || !Array.isArray(model.layers) || !model.layers.length)
        return null;
    if (Object.keys(model).some((key) => !['input', 'layers', 'init', 'loss'].includes(key)))
        return null;
    const units = [];
    for (const [i, layer] of model.layers.entries()) {
        const isDense = i % 2 === 0;
        if (!layer || layer.type !== (isDense ? 'dense' : 'relu'))
            return null;
        if (isDense)
            units.push(layer.units);
    }
    if (model.layers.length % 2 === 0)
        return null;
    return { input: model.input, hidden: units.slice(0, -1), classes: units[units.length - 1], init: model.init, loss: model.loss };
}

// The reverse; what is not known yet is left out, and the check then says that it is needed.
export function modelOfFacts({ input, hidden, classes, init, loss }) {
    const layers = hidden.flatMap((units) => [{ type: 'dense', units }, { type: 'relu' }]);
    if (classes !== undefined)
        layers.push({ type: 'dense', units: classes });
    const model = { input, layers, loss, init };
    for (const key of Object.keys(model))
        if (model[key] === undefined)
            delete model[key];
    return model;
}

// How many numbers such a model has.
export function parameterCount({ input, hidden, classes }) {
    const sizes = [input.reduce((a, b) => a * b, 1), ...hidden, classes];
    let count = 0;
    for (let i = 1; i < sizes.length; i++)
        count += (sizes[i - 1] + 1) * sizes[i];
    return count;
}
