// Giving a person a file: of what is here already, or of what the API sends, whose token no link may carry.
import { append, clear, h, icon } from './dom.js';
import { fmtBytes } from './format.js';
import { authorized, fetchReply, isAbort } from './http.js';
import { endIfRefused, session } from './session.js';
import { toast } from './toast.js';

const KEEP_MS = 60000;
const TELL_MS = 200;

// A name that every file system takes.
export function fileName(text, ending) {
    const safe = String(text).normalize('NFC').replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}<>:"/\\|?*]+/gu, '_')
        .replace(/^[. ]+/, '');
    return `${[...safe].slice(0, 80).join('').replace(/[. ]+$/, '') || 'fedlane'}${ending}`;
}

export function saveBlob(blob, name) {
    const url = URL.createObjectURL(blob);
    const link = h('a', { href: url, download: name, hidden: true });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), KEEP_MS);
}

// As many minutes as it takes: a model may be large. onBytes(received so far).
async function fetchBlob(path, accept, signal, onBytes) {
    const { token } = session;
    const response = await fetchReply(path, { headers: authorized(token, { Accept: accept }), signal }).catch((error) => {
        endIfRefused(error, token);
        throw error;
    });
    const reader = response.body.getReader();
    const pieces = [];
    let size = 0;
    for (;;) {
        const { done, value } = await reader.read();
        if (done)
            return new Blob(pieces, { type: response.headers.get('Content-Type') ?? '' });
        pieces.push(value);
        size += value.length;
        onBytes(size);
    }
}

// A button that fetches and saves; what() → {path, accept, name}. While it works, it stops the transfer.
export function saveButton(text, what, signal) {
    const button = h('button', { type: 'button', class: 'button' }, icon('download'), text);
    let transfer = null;
    const show = (...children) => append(clear(button), ...children);
    signal.addEventListener('abort', () => transfer && transfer.abort());
    button.addEventListener('click', async () => {
        if (transfer) {
            transfer.abort();
            return;
        }
        const { path, accept, name } = what();
        let told = 0;
        transfer = new AbortController();
        show(icon('stop'), 'Stop');
        try {
            const blob = await fetchBlob(path, accept, transfer.signal, (size) => {
                if (performance.now() - told > TELL_MS)
                    show(icon('stop'), `Stop, ${fmtBytes(size)}`);
                told = performance.now() - told > TELL_MS ? performance.now() : told;
            });
            saveBlob(blob, name);
        } catch (error) {
            if (!isAbort(error))
                toast(`${name} could not be downloaded: ${error.message}`, 'bad');
        }
        transfer = null;
        show(icon('download'), text);
    });
    return button;
}
