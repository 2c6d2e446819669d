// Server-Sent Events as the HTML standard parses them. Pure: text in, events out.

const MOST_PENDING = 32 * 1024 * 1024; // the server's largest event has half of it

// onEvent({id, type, data}). push() throws where an event does not end: what sends it is no event stream.
// It takes pieces cut anywhere; a comment counts as nothing.
export function createSseParser(onEvent) {
    let rest = '';
    let endedWithCr = false;
    let isFirst = true;
    let id = '';
    let type = '';
    let data = [];
    let pending = 0; // length of data

    function dispatch() {
        if (data.length)
            onEvent({ id, type: type || 'message', data: data.join('\n') });
        type = '';
        data = [];
        pending = 0;
    }

    function field(line) {
        const colon = line.indexOf(':');
        const name = colon < 0 ? line : line.slice(0, colon);
        let value = colon < 0 ? '' : line.slice(colon + 1);
        if (value.startsWith(' '))
            value = value.slice(1);
        if (name === 'data') {
            data.push(value);
            pending += value.length;
        } else if (name === 'event') {
            type = value;
        } else if (name === 'id' && !value.includes('\0')) {
            id = value;
        }
    }

    return {
        push(piece) {
            let text = piece;
            if (isFirst && text.length) {
                text = text.replace(/^\uFEFF/, '');
                isFirst = false;
            }
            if (endedWithCr && text.startsWith('\n'))
                text = text.slice(1);
            if (piece.length)
                endedWithCr = text.endsWith('\r');
            if (rest.length + pending > MOST_PENDING)
                throw new RangeError('An event of the stream does not end.');
            if (!/[\r\n]/.test(text)) {
                rest += text; // a large event comes in many pieces: each is looked at once
                return;
            }
            const lines = (rest + text).split(/\r\n|\r|\n/);
            rest = lines.pop();
            for (const line of lines) {
                if (line === '')
                    dispatch();
                else
                    field(line);
            }
        },
    };
}
