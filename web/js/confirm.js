// Asks before what cannot be taken back.

import { h } from './dom.js';

// action: the button's text, a verb. Resolves to whether it was pressed; Escape is a no.
export function confirmDialog({ title, text, action, danger = false }) {
    return new Promise((resolve) => {
        const former = document.activeElement;
        const no = h('button', { class: 'button', value: 'no', autofocus: danger }, 'Cancel');
        const yes = h('button', { class: ['button', danger ? 'danger' : 'primary'], value: 'yes', autofocus: !danger }, action);
        const dialog = h('dialog', { 'aria-labelledby': 'confirm-title', 'aria-describedby': 'confirm-text' },
            h('form', { method: 'dialog' }, h('h2', { id: 'confirm-title' }, title), h('p', { id: 'confirm-text' }, text),
                h('div', { class: 'row' }, no, yes)));
        dialog.addEventListener('close', () => {
            dialog.remove();
            if (former && former.isConnected)
                former.focus();
            resolve(dialog.returnValue === 'yes');
        });
        document.body.append(dialog);
        dialog.showModal();
    });
}
