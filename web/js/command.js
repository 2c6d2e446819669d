// Commands to copy. The token never stands in them: the shell fills it in.

import { h, icon } from './dom.js';
import { plainJson } from './pretty_json.js';
import { toast } from './toast.js';

export function shellQuote(text) {
    return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, '\'\\\'\'')}'`;
}

// body: anything that is JSON, or undefined. options: headers, output (a file), compressed JSON with `compact`.
export function curlLine(method, path, body, { output, accept, origin = location.origin } = {}) {
    const parts = ['curl -sS --fail-with-body'];
    if (method !== 'GET')
        parts.push(`-X ${method}`);
    parts.push('-H "Authorization: Bearer $FEDLANE_TOKEN"');
    if (accept)
        parts.push(`-H ${shellQuote(`Accept: ${accept}`)}`);
    if (body !== undefined)
        parts.push('-H \'Content-Type: application/json\'', `-d ${shellQuote(plainJson(JSON.stringify(body)))}`);
    if (output)
        parts.push(`-o ${shellQuote(output)}`);
    parts.push(shellQuote(`${origin}${path}`));
    return parts.join(' ');
}

// Without TLS a browser has no navigator.clipboard but on localhost.
async function copyText(text) {
    if (navigator.clipboard) {
        await navigator.clipboard.writeText(text);
        return;
    }
    const area = h('textarea', { class: 'unseen', prop: { value: text } });
    document.body.append(area);
    area.select();
    const isDone = document.execCommand('copy');
    area.remove();
    if (!isDone)
        throw new Error('refused');
}

export function copyButton(getText, label = 'Copy') {
    const button = h('button', { type: 'button', class: 'button quiet icon-only', title: label, 'aria-label': label,
        on: { click: async () => {
            const focused = document.activeElement;
            try {
                await copyText(getText());
                toast('Copied');
            } catch {
                toast('The browser did not allow copying; select the text and copy it by hand.', 'bad');
            }
            if (focused)
                focused.focus();
        } } }, icon('copy'));
    return button;
}

// update(text) changes what stands there.
export function commandBox(text, label = 'Copy the command') {
    const code = h('code', null, text);
    const node = h('div', { class: 'command' }, h('pre', { tabindex: 0, role: 'group', 'aria-label': 'Command' }, code),
        copyButton(() => code.textContent, label));
    node.update = (next) => {
        if (code.textContent !== next)
            code.textContent = next;
    };
    return node;
}
