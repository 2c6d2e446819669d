// Tables that live: rows are kept by key, so focus, selection and the pointer's place outlast an update.

import { FOCUSABLE, append, clear, enable, h, icon } from './dom.js';

const collator = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });

function isMissing(value) {
    return value === null || value === undefined || Number.isNaN(value);
}

// Missing values come last, whatever the direction.
export function compareValues(a, b, dir) {
    if (isMissing(a) || isMissing(b))
        return Number(isMissing(a)) - Number(isMissing(b));
    const order = typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(String(a), String(b));
    return dir === 'desc' ? -order : order;
}

export function sortRows(rows, columns, sort) {
    const column = sort && columns.find((c) => c.id === sort.id);
    if (!column)
        return rows;
    const valued = rows.map((row, i) => ({ row, i, value: column.sortValue(row) }));
    valued.sort((a, b) => compareValues(a.value, b.value, sort.dir) || a.i - b.i);
    return valued.map((v) => v.row);
}

// Where the focus is, in terms that outlast the nodes.
function focusPlace(body, rowsByKey) {
    const active = document.activeElement;
    if (!active || !body.contains(active))
        return null;
    const tr = active.closest('tr');
    for (const [key, entry] of rowsByKey)
        if (entry.tr === tr)
            return { key, active, index: [...tr.querySelectorAll(FOCUSABLE)].indexOf(active) };
    return null;
}

function restoreFocus(place, rowsByKey) {
    if (!place || document.activeElement === place.active)
        return;
    const entry = rowsByKey.get(place.key);
    const target = entry && entry.tr.isConnected && entry.tr.querySelectorAll(FOCUSABLE)[place.index];
    if (target)
        target.focus({ preventScroll: true });
}

class DataTable {
    // columns: {id, title, numeric, cell(row), sortValue(row), header, hint}; header: the cell names its row.
    // select: {label(row)}; empty: what stands where there are no rows; label: the table's name.
    constructor({ columns, rows = [], key = (row) => row.id, sort = null, select = null, onSort, onSelect, label, empty,
        pageSize = 50 }) {
        Object.assign(this, { columns, key, sort, select, onSort, onSelect, pageSize, page: 0, rows: [] });
        this.empty = empty || 'Nothing here.';
        this.selected = new Set();
        this.entries = new Map();
        this.heads = new Map();
        this.body = h('tbody');
        const head = h('tr', null, select ? this.pickAllHead() : null, columns.map((c) => this.headCell(c)));
        this.table = h('table', { class: 'table', 'aria-label': label }, h('thead', null, head), this.body);
        this.box = h('div', { class: 'table-box', role: 'region', 'aria-label': label, tabindex: 0 }, this.table);
        this.pager = this.makePager();
        this.node = h('div', null, this.box, this.pager.node);
        this.update(rows);
    }

    headCell(column) {
        const th = h('th', { scope: 'col', class: column.numeric && 'numeric', title: column.hint });
        if (column.sortValue) {
            append(th, h('button', { type: 'button', class: 'sorter', on: { click: () => this.toggleSort(column) } },
                column.title, icon('down')));
        } else {
            append(th, h('span', null, column.title));
        }
        this.heads.set(column.id, th);
        return th;
    }

    toggleSort(column) {
        const first = column.numeric || column.newestFirst ? 'desc' : 'asc';
        const other = first === 'desc' ? 'asc' : 'desc';
        const isSame = this.sort && this.sort.id === column.id;
        this.sort = { id: column.id, dir: isSame && this.sort.dir === first ? other : first };
        this.page = 0;
        this.update(this.rows);
        if (this.onSort)
            this.onSort(this.sort);
    }

    pickAllHead() {
        this.pickAll = h('input', { type: 'checkbox', 'aria-label': 'Select all rows that are shown', on: { change: () => {
            for (const row of this.shown)
                this.mark(this.key(row), this.pickAll.checked);
            this.tellSelection();
        } } });
        return h('th', { class: 'picker', scope: 'col' }, h('label', null, this.pickAll));
    }

    makePager() {
        const text = h('span', { role: 'status' });
        const turn = (by) => () => {
            this.page += by;
            this.update(this.rows);
            this.box.scrollIntoView({ block: 'nearest' });
        };
        const back = h('button', { type: 'button', class: 'button quiet icon-only', 'aria-label': 'Previous page', on: { click: turn(-1) } }, icon('left'));
        const next = h('button', { type: 'button', class: 'button quiet icon-only', 'aria-label': 'Next page', on: { click: turn(1) } }, icon('right'));
        return { node: h('div', { class: 'pager', hidden: true }, text, back, next), text, back, next };
    }

    mark(key, isOn) {
        const entry = this.entries.get(key);
        if (isOn)
            this.selected.add(key);
        else
            this.selected.delete(key);
        if (entry && entry.box) {
            entry.box.checked = isOn;
            entry.tr.classList.toggle('selected', isOn);
        }
    }

    tellSelection() {
        this.showPickAll();
        if (this.onSelect)
            this.onSelect([...this.selected]);
    }

    showPickAll() {
        const on = this.shown.filter((row) => this.selected.has(this.key(row))).length;
        this.pickAll.checked = on > 0 && on === this.shown.length;
        this.pickAll.indeterminate = on > 0 && on < this.shown.length;
    }

    makeRow(row) {
        const key = this.key(row);
        const tr = h('tr');
        const entry = { tr, row: null, cells: new Map(), box: null };
        if (this.select) {
            entry.box = h('input', { type: 'checkbox', on: { change: () => {
                this.mark(key, entry.box.checked);
                this.tellSelection();
            } } });
            tr.append(h('td', { class: 'picker' }, h('label', null, entry.box)));
        }
        for (const column of this.columns) {
            const cell = h(column.header ? 'th' : 'td', { class: column.numeric && 'numeric', scope: column.header && 'row' });
            entry.cells.set(column.id, cell);
            tr.append(cell);
        }
        return entry;
    }

    // A row that is the same object is as it was.
    fillRow(entry, row) {
        if (entry.row === row)
            return;
        entry.row = row;
        for (const column of this.columns)
            append(clear(entry.cells.get(column.id)), column.cell(row));
        if (entry.box) {
            entry.box.setAttribute('aria-label', `Select ${this.select.label(row)}`);
            this.mark(this.key(row), this.selected.has(this.key(row)));
        }
    }

    showSort() {
        for (const [id, th] of this.heads) {
            if (this.sort && this.sort.id === id)
                th.setAttribute('aria-sort', this.sort.dir === 'desc' ? 'descending' : 'ascending');
            else
                th.removeAttribute('aria-sort');
        }
    }

    showPager(count) {
        const { node, text, back, next } = this.pager;
        const from = this.page * this.pageSize;
        node.hidden = count <= this.pageSize;
        const words = count ? `${from + 1}–${Math.min(count, from + this.pageSize)} of ${count.toLocaleString('en')}` : '';
        if (text.textContent !== words)
            text.textContent = words;
        enable([[back, this.page > 0], [next, from + this.pageSize < count]]);
    }

    update(rows) {
        this.rows = rows;
        const sorted = sortRows(rows, this.columns, this.sort);
        this.page = Math.max(0, Math.min(this.page, Math.ceil(sorted.length / this.pageSize) - 1));
        this.shown = sorted.slice(this.page * this.pageSize, (this.page + 1) * this.pageSize);
        const place = focusPlace(this.body, this.entries);
        this.placeRows();
        restoreFocus(place, this.entries);
        this.showSort();
        this.showPager(sorted.length);
        if (this.select)
            this.showPickAll();
    }

    placeRows() {
        const former = this.entries;
        this.entries = new Map();
        let at = this.body.firstChild;
        for (const row of this.shown) {
            const key = this.key(row);
            const entry = former.get(key) || this.makeRow(row);
            former.delete(key);
            this.entries.set(key, entry);
            this.fillRow(entry, row);
            if (entry.tr === at)
                at = at.nextSibling;
            else
                this.body.insertBefore(entry.tr, at);
        }
        while (at) {
            const next = at.nextSibling;
            at.remove();
            at = next;
        }
        if (!this.shown.length)
            this.body.append(h('tr', null, h('td', { class: 'none', colspan: this.columns.length + (this.select ? 1 : 0) }, this.empty)));
    }
}

// → {node, update(rows), selection(), select(keys), showFirstPage()}
export function dataTable(options) {
    const table = new DataTable(options);
    return {
        node: table.node,
        update: (rows) => table.update(rows),
        selection: () => [...table.selected],
        select(keys) {
            for (const key of [...table.selected])
                table.mark(key, false);
            for (const key of keys)
                table.mark(key, true);
            table.tellSelection();
        },
        showFirstPage() {
            table.page = 0;
        },
    };
}
