/* page_spans.js -- what can be said of the spans of a trace. SPDX-License-Identifier: MIT
 *
 * trace.at has two places per row: where the spans of its link begin, and those of its
 * processor. */
const end = (trace, i) => trace.start[i] + trace.length[i];

/* Add the lists of spans that are not stored as such: the port's, and what nodes send. */
function prepare(trace, data) {
  const byStart = (test) => {
    const list = [];
    for (let i = 0; i < trace.kind.length; i++) if (test(trace.kind[i])) list.push(i);
    return Uint32Array.from(list).sort((a, b) => trace.start[a] - trace.start[b]);
  };
  trace.ports = [];
  trace.sent = null;
  if (data.task === 'load' && data.port === 'one' && data.group === 1)
    trace.ports.push(byStart((k) => k === SEND || k === RETURN));
  if (data.task === 'load' && data.port === 'duplex' && data.group === 1)
    trace.ports.push(byStart((k) => k === SEND), byStart((k) => k === RETURN));
  if (data.task === 'reduce' && !trace.block) {
    trace.sent = new Int32Array(data.rows.length).fill(-1);
    for (let i = 0; i < trace.kind.length; i++)
      if (trace.kind[i] === TRANSFER) trace.sent[trace.ref[i]] = i;
  }
}

/* The row that span i belongs to. */
function rowOf(trace, i) {
  let low = 0, high = trace.at.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (trace.at[middle] <= i) low = middle; else high = middle;
  }
  return low >> 1;
}

/* How many processors are busy, on average in each of so many parts of the time. */
function crowd(trace, rows, T, bins) {
  const sum = new Float64Array(bins);
  for (let r = 0; r < rows; r++) {
    for (let i = trace.at[2 * r + 1]; i < trace.at[2 * r + 2]; i++) {
      const from = trace.start[i] / T * bins;
      const to = Math.min(bins, end(trace, i) / T * bins);
      const full = trace.busy ? trace.busy[i] / (trace.length[i] || 1) : 1;
      for (let b = Math.floor(from); b < to; b++)
        sum[b] += (Math.min(to, b + 1) - Math.max(from, b)) * full;
    }
  }
  return sum;
}

/* Span i in words: what it is, how much, from when to when, how long. */
function describe(data, trace, i) {
  const kind = KINDS[trace.kind[i]], who = data.rows[rowOf(trace, i)], out = [];
  const doing = { send: 'gets', compute: 'computes', return: 'returns the result of',
    lost: 'lost', recall: 'gave back part of', dropped: 'is not first with',
    failed: 'fails with' }[kind];
  let head;
  if (trace.block)
    head = who + ': ' + trace.ref[i] + ' \u00d7 ' + kind + ', busy '
      + short(100 * Math.min(1, trace.busy[i] / (trace.length[i] || 1)), 3) + '%';
  else if (kind === 'transfer')
    head = 'node ' + data.rows[trace.ref[i]] + ' sends its partial to node ' + who;
  else if (kind === 'combine')
    head = 'node ' + who + (data.joined ? ' receives and' : '')
      + ' combines the partial of node ' + trace.ref[i];
  else if (kind === 'fold') head = who + ' folds ' + trace.units[i] + ' partial results';
  else head = who + ' ' + doing + ' chunk ' + trace.ref[i];
  out.push(head + (data.traces.length > 1 ? ' (' + trace.label + ')' : ''));
  if (data.task === 'load' && kind !== 'fold') out.push(short(trace.units[i], 7) + ' units');
  out.push(exact(trace.start[i]) + ' to ' + exact(end(trace, i)));
  out.push('takes ' + exact(trace.length[i]));
  return out;
}
