// Light, dark, or as the system has it. data-theme always says which of the two is shown.

import { clear, h, icon } from './dom.js';

const THEME_KEY = 'fedlane.theme';
const NEXT_THEME = { auto: 'light', light: 'dark', dark: 'auto' };
const THEME_ICON = { auto: 'auto', light: 'sun', dark: 'moon' };
const THEME_NAME = { auto: 'as the system', light: 'light', dark: 'dark' };
const systemTheme = () => window.matchMedia('(prefers-color-scheme: dark)');

function storedTheme() {
    try {
        const choice = localStorage.getItem(THEME_KEY);
        return choice === 'light' || choice === 'dark' ? choice : 'auto';
    } catch {
        return 'auto';
    }
}

function applyTheme(choice) {
    showTheme(choice === 'auto' ? (systemTheme().matches ? 'dark' : 'light') : choice);
}

function showTheme(theme) {
    if (document.documentElement.dataset.theme === theme)
        return;
    document.documentElement.dataset.theme = theme;
    window.dispatchEvent(new Event('themechange'));
}

// Pictures on a canvas listen for 'themechange' on window: their colours do not follow by themselves.
export function startTheme() {
    applyTheme(storedTheme());
    systemTheme().addEventListener('change', () => applyTheme(storedTheme()));
    window.addEventListener('beforeprint', () => showTheme('light')); // paper is
    window.addEventListener('afterprint', () => applyTheme(storedTheme()));
}

export function themeButton() {
    const button = h('button', { type: 'button', class: 'button quiet icon-only', on: { click: () => {
        const choice = NEXT_THEME[storedTheme()];
        try {
            localStorage.setItem(THEME_KEY, choice);
        } catch {
            // It then holds for this page alone.
        }
        applyTheme(choice);
        show(choice);
    } } });
    const show = (choice) => {
        const text = `Theme: ${THEME_NAME[choice]}. Change to ${THEME_NAME[NEXT_THEME[choice]]}.`;
        button.title = text;
        button.setAttribute('aria-label', text);
        clear(button).append(icon(THEME_ICON[choice]));
    };
    show(storedTheme());
    return button;
}
