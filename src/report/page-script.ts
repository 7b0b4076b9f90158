/**
 * The page's script, as text since it runs in a browser: opens a cell's dialog, and moves the focus through the heat
 * map. Escape, the focus within a dialog and its way back are the browser's (`showModal`). The address tells which cell
 * is open, so that it can be linked to.
 */
export const PAGE_SCRIPT = `'use strict';
const grid = document.querySelector('table.heat');
const rows = grid ? [...grid.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.querySelector('button'))) : [];
const buttons = rows.flat().filter(Boolean);
const dialogs = [...document.querySelectorAll('dialog')];
const address = (hash) => history.replaceState(null, '', hash || location.pathname + location.search);

function only(button) {
  for (const other of buttons) other.tabIndex = other === button ? 0 : -1;
}

function open(id) {
  const dialog = dialogs.find((one) => one.id === id);
  if (!dialog || dialog.open) return;
  for (const other of dialogs) if (other.open) other.close();
  const button = buttons.find((one) => one.dataset.cell === id);
  if (button) {
    only(button);
    button.focus();
  }
  dialog.showModal();
  dialog.scrollTop = 0;
  address('#' + id);
}

for (const dialog of dialogs) {
  dialog.querySelector('.close').addEventListener('click', () => dialog.close());
  dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener('close', () => { if (location.hash === '#' + dialog.id) address(''); });
}

const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

function target(key, row, column) {
  if (key === 'Home') return rows[row].find(Boolean);
  if (key === 'End') return rows[row].findLast(Boolean);
  const step = STEPS[key];
  if (!step) return undefined;
  for (let [y, x] = [row + step[0], column + step[1]]; rows[y] && x >= 0 && x < rows[y].length; y += step[0], x += step[1]) {
    if (rows[y][x]) return rows[y][x];
  }
  return null;
}

rows.forEach((row, y) => row.forEach((button, x) => {
  if (!button) return;
  button.addEventListener('click', () => open(button.dataset.cell));
  button.addEventListener('focus', () => only(button));
  button.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const next = target(event.key, y, x);
    if (next === undefined) return;
    event.preventDefault();
    if (next) next.focus();
  });
}));
if (buttons[0]) only(buttons[0]);
addEventListener('hashchange', () => open(location.hash.slice(1)));
open(location.hash.slice(1));
`;
