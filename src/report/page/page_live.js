/* page_live.js -- a page that is served keeps itself new. SPDX-License-Identifier: MIT
 *
 * Where it came from answers when there is something new; the parts of the page are changed
 * for those of the answer, and show what they showed: the same stretch of time, the same
 * order of rows. */
const wait = (ms) => new Promise((done) => { setTimeout(done, ms); });

function ordersOf() {
  return Array.from(document.querySelectorAll('table.sort'), (table) => {
    const heads = Array.from(table.querySelectorAll('thead th'));
    const column = heads.findIndex((head) => head.hasAttribute('aria-sort'));
    return { column, order: column < 0 ? '' : heads[column].getAttribute('aria-sort') };
  });
}
function orderAgain(orders) {
  document.querySelectorAll('table.sort').forEach((table, i) => {
    if (!orders[i] || orders[i].column < 0) return;
    const head = table.querySelectorAll('thead th')[orders[i].column];
    for (let k = 0; k < 2 && head.getAttribute('aria-sort') !== orders[i].order; k++)
      head.querySelector('button').click();
  });
}
function exchange(text, ended) {
  const fresh = new DOMParser().parseFromString(text, 'text/html');
  const orders = ordersOf(), seen = ended ? ended() : null;
  const focused = document.activeElement && document.activeElement.id;
  ['header', 'main', '#spans'].forEach((part) => {
    const old = document.querySelector(part), now = fresh.querySelector(part);
    if (old && now) old.replaceWith(now);
  });
  document.title = fresh.title;
  const next = awaken(seen);
  orderAgain(orders);
  if (focused && $(focused)) $(focused).focus({ preventScroll: true });
  return next;
}
async function follow(first) {
  let ended = first, page = 0;
  for (;;) {
    let answer, text;
    try {
      answer = await fetch('next?after=' + page);
      text = await answer.text();
    } catch (gone) {
      $('now').textContent += ' \u2013 nothing more is heard of it';
      return;
    }
    if (answer.ok) {
      while (document.querySelector('.moving')) await wait(200);
      page = Number(answer.headers.get('Cleave-Page'));
      ended = exchange(text, ended);
      if (answer.headers.get('Cleave-Last')) return;
    } else {
      await wait(2000);
    }
  }
}
