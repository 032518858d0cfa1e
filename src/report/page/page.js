/* page.js -- what a report does when scripts run. SPDX-License-Identifier: MIT
 *
 * Without scripts the page shows a drawing and tables; this lets tables sort, puts the
 * chart that zooms in place of the drawing, and hides curves. */
document.documentElement.classList.add('js');

/* --- tables that sort, a line to copy, curves to hide --- */
function sortable(table) {
  table.querySelectorAll('thead th').forEach((head, column) => {
    if (head.dataset.plain !== undefined) return;
    const button = document.createElement('button');
    button.type = 'button';
    while (head.firstChild) button.appendChild(head.firstChild);
    head.appendChild(button);
    button.addEventListener('click', () => {
      const up = head.getAttribute('aria-sort') === 'descending', body = table.tBodies[0];
      const value = (row) => {
        const cell = row.cells[column];
        return cell.dataset.v !== undefined ? Number(cell.dataset.v) : cell.textContent;
      };
      table.querySelectorAll('th[aria-sort]')
        .forEach((other) => other.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      Array.from(body.rows).sort((a, b) => {
        const p = value(a), q = value(b);
        const order = typeof p === 'number' ? p - q
          : p.localeCompare(q, undefined, { numeric: true });
        return up ? order : -order;
      }).forEach((row) => body.appendChild(row));
    });
  });
}
/* Bring to life what stands on the page; returns what ends its chart. */
function awaken(seen) {
  document.querySelectorAll('table.sort').forEach(sortable);
  document.querySelectorAll('button.copy').forEach((button) => {
    button.addEventListener('click', () => {
      const text = button.parentElement.querySelector('code').textContent;
      navigator.clipboard.writeText(text).then(() => { button.textContent = 'Copied'; },
        () => { button.textContent = 'Select and copy'; });
    });
  });
  document.querySelectorAll('.keys button').forEach((button) => {
    button.addEventListener('click', () => {
      const shown = button.getAttribute('aria-pressed') === 'false';
      button.setAttribute('aria-pressed', shown);
      document.querySelectorAll('.s' + button.dataset.series)
        .forEach((part) => part.classList.toggle('off', !shown));
    });
  });
  return $('spans') ? chart(JSON.parse($('spans').textContent), seen) : null;
}
const ended = awaken(null);
if ($('now')) follow(ended);
