/* page_basics.js -- numbers as people read them, and spans as the page holds them.
 * SPDX-License-Identifier: MIT */
'use strict';
const $ = (id) => document.getElementById(id);
const KINDS = ['send', 'compute', 'return', 'lost', 'recall', 'transfer', 'combine',
  'fold', 'dropped', 'failed']; /* as enum cv_span_kind has them */
const SEND = 0, RETURN = 2, TRANSFER = 5, FAILED = 9;

/* --- numbers --- */
const digits = (x, n) => {
  if (x === 0) return '0';
  const e = Math.floor(Math.log10(Math.abs(x)));
  return e < -4 || e > 12 ? x.toExponential(n - 1)
    : x.toFixed(Math.max(0, n - 1 - e));
};
/* Trailing zeros say nothing here. */
const short = (x, n) => digits(x, n || 5).replace(/(\.\d*?)0+($|e)/, '$1$2')
  .replace(/\.($|e)/, '$1');
/* 2.45M rather than 2445345, where there is little room. */
const amount = (x) => {
  const [size, sign] = x >= 1e12 ? [1e12, 'T'] : x >= 1e9 ? [1e9, 'G']
    : x >= 1e6 ? [1e6, 'M'] : x >= 1e4 ? [1e3, 'k'] : [1, ''];
  return short(x / size, 3) + sign;
};
const exact = (x) => short(x, 9) + ' s';

/* --- data --- */
const bytes = (text) => {
  const raw = atob(text), out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
};
const column = (text, kind) => new kind(bytes(text).buffer);
const readTrace = (from) => ({
  label: from.label, makespan: from.makespan, block: from.block,
  at: column(from.at, Uint32Array), kind: column(from.kind, Uint8Array),
  start: column(from.start, Float64Array), length: column(from.length, Float32Array),
  units: column(from.units, Float32Array), ref: column(from.ref, Uint32Array),
  busy: from.busy ? column(from.busy, Float32Array) : null,
});
