// Signing in: a token is pasted here, or a login link brought its code.

import { commandBox } from './command.js';
import { h, icon } from './dom.js';
import { signIn } from './session.js';

const SIGN_IN_TITLES = {
    __proto__: null,
    http_401: 'The session has ended',
    token_expired: 'Your token has expired',
    token_revoked: 'Your token was revoked',
    unauthorized: 'The server does not know this token',
    forbidden: 'This token cannot open the dashboard',
};

function reasonNote(error) {
    return h('div', { class: 'note bad', role: 'alert' }, icon('alert'),
        h('div', null, h('strong', null, error.title || SIGN_IN_TITLES[error.code] || 'Signing in did not work'), h('p', null, error.message)));
}

export function viewSignIn({ host, reason }) {
    const notes = h('div', { class: 'notes' }, reason ? reasonNote(reason) : null);
    const input = h('input', { class: 'input mono', id: 'token', type: 'password', autocomplete: 'off', spellcheck: 'false',
        required: true, 'aria-describedby': 'token-hint' });
    const button = h('button', { class: 'button primary', type: 'submit' }, 'Sign in');
    const submit = async (event) => {
        event.preventDefault();
        const token = input.value.trim();
        button.disabled = true;
        try {
            await signIn(token);
        } catch (error) {
            notes.replaceChildren(reasonNote(error));
            button.disabled = false;
            input.select();
            input.focus();
        }
    };
    host.append(h('div', { class: 'sign-in' }, h('h1', null, 'Sign in'), notes,
        h('form', { class: 'panel stack', on: { submit } },
            h('div', { class: 'field' }, h('label', { for: 'token' }, 'Token'), input,
                h('p', { class: 'hint', id: 'token-hint' }, 'Of role admin, operator or viewer. It is kept until this tab is closed.')),
            button),
        h('div', { class: 'stack' }, h('h2', null, 'No token at hand?'),
            h('p', { class: 'muted' }, 'On the server\'s machine, this makes a link that signs you in once:'),
            commandBox('fedlane-server login-link --data-dir DIR'),
            h('p', { class: 'muted' }, 'The first token, an admin\'s, lies in the data folder:'),
            commandBox('cat DIR/admin.token'))));
    input.focus();
}
