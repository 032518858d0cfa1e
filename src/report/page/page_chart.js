/* page_chart.js -- the chart that zooms. SPDX-License-Identifier: MIT
 *
 * Spans of a strip are sorted by start, so what is in sight is found by bisection, and
 * only that is drawn; rows out of sight are not drawn either. `seen` is what another chart
 * in its place has shown; returns what ends this one and tells that. */
function chart(data, seen) {
  const plot = $('plot'), canvas = plot.querySelector('canvas');
  const pen = canvas.getContext('2d'), whole = $('whole'), tip = $('tip');
  const traces = data.traces.map(readTrace), rows = data.rows;
  const reduce = data.task === 'reduce', T = data.end || 1;
  const PAIR = traces.length > 1, AXIS = PAIR ? 56 : 44;
  let t0 = 0, t1 = T, gutter = 80, width = 0, height = 0, ratio = 1;
  let rowHeight = 20, headHeight = 22;
  let colour = {}, hatch = {}, hover = null, picked = null, asked = false;

  traces.forEach((trace) => prepare(trace, data));
  const ports = Math.max.apply(null, traces.map((t) => t.ports.length));
  if (ports === 2 && traces.every((t) => t.ports[1].length === 0))
    traces.forEach((t) => t.ports.pop());
  const heads = Math.max.apply(null, traces.map((t) => t.ports.length));
  const lines = heads + rows.length;
  const nameOf = (line) => line < heads
    ? (heads === 2 ? ['port out', 'port in'][line] : 'port') : rows[line - heads];

  /* --- measures --- */
  function measure() {
    const style = getComputedStyle(document.documentElement);
    ['page', 'card', 'line', 'faint', 'ink', 'soft', 'accent', 'bound', 'on', 'compute',
      'compute2', 'send', 'return', 'combine', 'combine2', 'lost', 'recall',
      'dropped', 'failed']
      .forEach((name) => { colour[name] = style.getPropertyValue('--' + name).trim(); });
    colour.transfer = colour.send;
    colour.fold = colour.combine;
    ratio = window.devicePixelRatio || 1;
    width = plot.clientWidth;
    const least = PAIR ? 12 : 7, most = PAIR ? 44 : 30;
    rowHeight = Math.max(least, Math.min(most, Math.floor(560 / lines)));
    headHeight = Math.max(rowHeight, PAIR ? 32 : 22);
    const wanted = AXIS + place(lines) + 8;
    height = Math.min(wanted, Math.floor(Math.max(260, window.innerHeight * 0.7)));
    pen.font = font(12);
    gutter = 34;
    const step = Math.max(1, Math.floor(lines / 300));
    for (let i = 0; i < lines; i += step)
      gutter = Math.max(gutter, pen.measureText(nameOf(i)).width);
    gutter = Math.min(Math.ceil(gutter) + 18, Math.floor(width * 0.28));
    plot.style.height = height + 'px';
    plot.firstElementChild.style.height = wanted + 'px';
    canvas.style.width = width + 'px';
    canvas.style.height = height + 'px';
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    hatch = { return: lined(colour.return, false), lost: lined(colour.lost, true) };
    request();
  }
  const font = (size) => size + 'px system-ui, sans-serif';
  function lined(base, crossed) {
    const tile = document.createElement('canvas'), p = tile.getContext('2d');
    tile.width = tile.height = 6;
    p.fillStyle = base;
    p.fillRect(0, 0, 6, 6);
    p.strokeStyle = colour.page;
    p.globalAlpha = 0.55;
    p.beginPath();
    for (let k = -6; k <= 6; k += 6) { p.moveTo(k, 6); p.lineTo(k + 6, 0); }
    if (crossed) for (let k = -6; k <= 6; k += 6) { p.moveTo(k, 0); p.lineTo(k + 6, 6); }
    p.stroke();
    return pen.createPattern(tile, 'repeat');
  }
  const x = (t) => gutter + (t - t0) / (t1 - t0) * (width - gutter - 10);
  const time = (px) => t0 + (px - gutter) / (width - gutter - 10) * (t1 - t0);
  /* Ports stand above the rows of workers and are never thin. */
  const place = (line) => Math.min(line, heads) * headHeight
    + Math.max(0, line - heads) * rowHeight;
  const tallness = (line) => line < heads ? headHeight : rowHeight;
  const lineAt = (px) => px < place(heads) ? Math.floor(px / headHeight)
    : heads + Math.floor((px - place(heads)) / rowHeight);
  const y = (line) => AXIS + place(line) - plot.scrollTop;

  /* Where the parts of a row are: link and processor, for one or two traces. */
  function part(k, link, line) {
    const all = tallness(line), h = (all - (all > 10 ? 4 : 1)) / (PAIR ? 2 : 1);
    const top = y(line) + (all > 10 ? 2 : 0.5) + k * h;
    if (line < heads) return [top + 1, Math.max(2, h - 3)];
    const thin = Math.max(1.5, h * 0.26);
    return link ? [top, thin - 0.5] : [top + thin, Math.max(2, h - thin - 1)];
  }

  /* --- drawing --- */
  /* Spans list[from..to), or from..to) themselves without a list. Those smaller than a
     pixel or two are counted in cells, and neighbouring cells that are about as full are
     drawn at once: a frame then costs little however many spans there are. */
  function strip(trace, list, from, to, top, tall, pale) {
    const scale = (width - gutter - 10) / (t1 - t0), right = width - 8, CELL = 3;
    const start = trace.start, length = trace.length, kinds = trace.kind;
    const busy = trace.busy;
    const full = new Float64Array(KINDS.length);
    let low = from, high = to, runFrom = 0, runTo = -1, runKind = -1, runLevel = 0;
    let cell = -1, held = 0, lastA = 0, lastB = 0;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (start[list ? list[middle] : middle] < t0) low = middle + 1; else high = middle;
    }
    const endRun = () => {
      if (runTo < runFrom) return;
      pen.globalAlpha = pale * runLevel / 8;
      pen.fillStyle = colour[KINDS[runKind]];
      pen.fillRect(runFrom * CELL, top, (runTo - runFrom + 1) * CELL, tall);
      runTo = -1; runFrom = 0;
    };
    const endCell = () => {
      if (cell < 0) return;
      let kind = 0, sum = 0;
      for (let k = 0; k < full.length; k++) {
        if (full[k] > full[kind]) kind = k;
        sum += full[k];
      }
      if (full[FAILED] > 0) kind = FAILED;
      full.fill(0);
      if (held === 1) { /* alone: where it is */
        endRun();
        pen.globalAlpha = pale;
        pen.fillStyle = colour[KINDS[kind]];
        pen.fillRect(lastA, top, Math.max(1, lastB - lastA), tall);
        held = 0; cell = -1;
        return;
      }
      held = 0;
      const level = Math.max(3, Math.min(8, Math.round(8 * sum / CELL)));
      if (kind !== runKind || level !== runLevel || cell !== runTo + 1
        || runTo < runFrom) {
        endRun(); runFrom = cell; runKind = kind; runLevel = level;
      }
      runTo = cell; cell = -1;
    };
    for (let i = Math.max(from, low - 8); i < to; i++) {
      const s = list ? list[i] : i, begin = start[s], size = length[s];
      if (begin > t1) break;
      if (begin + size < t0) continue;
      let a = gutter + (begin - t0) * scale, b = a + size * scale;
      if (a < gutter) a = gutter;
      if (b > right) b = right;
      const part = busy ? Math.min(1, busy[s] / (size || 1)) : 1;
      if (b - a < 2) {
        const now = Math.floor(a / CELL);
        if (now !== cell) { endCell(); cell = now; }
        full[kinds[s]] += Math.max(0.05, b - a) * part;
        held++; lastA = a; lastB = b;
        continue;
      }
      endCell(); endRun();
      paint(trace, s, i - from, a, b, top, tall, pale * (0.15 + 0.85 * part));
    }
    endCell(); endRun();
  }
  function paint(trace, s, order, a, b, top, tall, alpha) {
    const name = KINDS[trace.kind[s]];
    const odd = order % 2 && colour[name + '2'] ? '2' : '';
    pen.globalAlpha = alpha;
    pen.fillStyle = (b - a > 5 && hatch[name]) || colour[name + odd];
    pen.fillRect(a, top, b - a - (b - a > 4 ? 0.6 : 0), tall);
    if (b - a > 44 && tall > 12 && !trace.block && name !== 'return'
        && trace === traces[0]) {
      const text = reduce ? (name === 'combine' ? '+ ' + trace.ref[s] : '')
        : (name === 'fold' ? '+ ' : '') + amount(trace.units[s]);
      pen.globalAlpha = 1;
      /* White on dark shades, black on light ones. */
      pen.fillStyle = (name === 'compute' || name === 'failed') === !odd ? colour.on : '#0b1a24';
      pen.font = font(11);
      if (pen.measureText(text).width < b - a - 8)
        pen.fillText(text, a + 5, top + tall / 2 + 4);
    }
  }
  function ticks() {
    const wish = (t1 - t0) / Math.max(2, (width - gutter) / 110);
    const power = Math.pow(10, Math.floor(Math.log10(wish)));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= wish);
    const places = Math.max(0, Math.min(15, -Math.floor(Math.log10(step) + 1e-9)));
    pen.font = font(12);
    pen.globalAlpha = 1;
    for (let k = Math.ceil(t0 / step); k * step <= t1; k++) {
      const px = x(k * step);
      pen.fillStyle = colour.faint;
      pen.fillRect(px, 18, 1, height);
      pen.fillStyle = colour.soft;
      const label = step < 1e-6 || step >= 1e7 ? (k * step).toExponential(3)
        : (k * step).toFixed(places);
      const text = label + (k === Math.ceil(t0 / step) ? ' s' : '');
      if (px + 3 + pen.measureText(text).width < width) pen.fillText(text, px + 3, 16);
    }
  }
  function edge(t, name, tint, dash, low) {
    const px = x(t);
    if (px < gutter - 1 || px > width - 6) return;
    pen.globalAlpha = 1;
    pen.strokeStyle = tint;
    pen.setLineDash(dash);
    pen.lineWidth = 1.5;
    pen.beginPath(); pen.moveTo(px, 19 + 12 * low); pen.lineTo(px, height); pen.stroke();
    pen.setLineDash([]);
    pen.font = font(11);
    const w = pen.measureText(name).width, top = 27 + 12 * low;
    const left = px + w + 8 > width ? px - w - 5 : px + 4;
    pen.fillStyle = colour.page;
    pen.globalAlpha = 0.85;
    pen.fillRect(left - 2, top - 10, w + 4, 13);
    pen.globalAlpha = 1;
    pen.fillStyle = tint;
    pen.fillText(name, left, top);
  }
  function arrows(trace) {
    if (!trace.sent || rows.length > 400 || rowHeight < 8) return;
    pen.strokeStyle = colour.soft;
    pen.lineWidth = 1;
    for (let n = 0; n < rows.length; n++) {
      const i = trace.sent[n];
      if (i < 0 || end(trace, i) < t0 || trace.start[i] > t1) continue;
      const to = heads + rowOf(trace, i), chosen = picked && picked.i === i;
      pen.globalAlpha = chosen ? 1 : 0.45;
      pen.beginPath();
      pen.moveTo(Math.max(gutter, x(trace.start[i])), y(n + heads) + rowHeight / 2);
      pen.lineTo(Math.max(gutter, x(end(trace, i))), y(to) + rowHeight / 2);
      pen.stroke();
    }
  }
  function drawRow(line) {
    if (line < heads) {
      traces.forEach((trace, k) => {
        const p = part(k, true, line), list = trace.ports[line];
        if (list) strip(trace, list, 0, list.length, p[0], p[1], k ? 0.6 : 1);
      });
      return;
    }
    const row = line - heads;
    traces.forEach((trace, k) => {
      const link = part(k, true, line), cpu = part(k, false, line), at = trace.at;
      const pale = k ? 0.55 : 1;
      strip(trace, null, at[2 * row], at[2 * row + 1], link[0], link[1], pale);
      if (trace.sent && trace.sent[row] >= 0)
        strip(trace, trace.sent, row, row + 1, link[0], link[1], pale);
      strip(trace, null, at[2 * row + 1], at[2 * row + 2], cpu[0], cpu[1], pale);
    });
  }
  function label(line, every) {
    const top = y(line);
    pen.globalAlpha = 1;
    if (line >= heads && (line - heads) % every) return;
    pen.fillStyle = picked && picked.line === line ? colour.accent : colour.ink;
    pen.font = font(Math.min(13, Math.max(10, tallness(line) * 0.8)));
    // Long names differ at their end, as by the number of a machine: the middle is left out.
    const name = nameOf(line);
    let text = name;
    for (let kept = name.length - 1; kept > 1 && pen.measureText(text).width > gutter - 12; kept--)
      text = name.slice(0, kept >> 1) + '\u2026' + name.slice(-((kept + 1) >> 1));
    pen.fillText(text, 8, top + Math.min(tallness(line), PAIR ? 18 : 99) / 2 + 4);
  }
  function draw() {
    if (!asked) return;
    asked = false;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.globalAlpha = 1;
    pen.fillStyle = colour.page;
    pen.fillRect(0, 0, width, height);
    ticks();
    const first = Math.max(0, lineAt(plot.scrollTop));
    const last = Math.min(lines, lineAt(plot.scrollTop + height) + 1);
    const every = Math.max(1, Math.ceil(12 / rowHeight));
    pen.save();
    pen.beginPath();
    pen.rect(0, AXIS, width, height);
    pen.clip();
    for (let line = first; line < last; line++) {
      pen.globalAlpha = 1;
      pen.fillStyle = colour.faint;
      pen.fillRect(0, y(line + 1) - 0.5, width, 0.5);
      if (line === heads - 1) {
        pen.fillStyle = colour.line;
        pen.fillRect(0, y(line + 1) - 1, width, 1.5);
      }
      drawRow(line);
      label(line, every);
    }
    if (reduce) arrows(traces[0]);
    outline();
    pen.restore();
    if (data.bound) edge(data.bound.value, 'bound', colour.bound, [5, 4], 0);
    edge(traces[0].makespan, PAIR ? 'measured' : 'end', colour.ink, [], PAIR ? 2 : 1);
    if (PAIR) edge(traces[1].makespan, 'predicted', colour.soft, [2, 3], 1);
    plot.dataset.from = t0;
    plot.dataset.to = t1;
    $('range').textContent = short(t0, 5) + ' s to ' + short(t1, 5) + ' s';
    drawWhole();
  }
  function outline() {
    const mark = hover || picked;
    if (!mark || mark.i === undefined) return;
    const trace = traces[mark.k], p = part(mark.k, mark.link, mark.line);
    const a = Math.max(gutter, x(trace.start[mark.i]));
    const b = Math.min(width - 8, x(end(trace, mark.i)));
    if (b < gutter || a > width) return;
    pen.globalAlpha = 1;
    pen.strokeStyle = colour.ink;
    pen.lineWidth = 2;
    pen.strokeRect(a - 1, p[0] - 1, Math.max(2, b - a) + 2, p[1] + 2);
  }
  /* In the next frame; a page that is not in sight gets none for a while. */
  function request() {
    if (asked) return;
    asked = true;
    requestAnimationFrame(draw);
    setTimeout(draw, 150);
  }

  /* --- the whole run below: how many are busy --- */
  const BINS = 480;
  const crowds = traces.map((trace) => crowd(trace, rows.length, T, BINS));
  function drawWhole() {
    const p = whole.getContext('2d'), w = whole.clientWidth, h = whole.clientHeight;
    const X = (t) => gutter + t / (T * 1.02) * (w - gutter - 10);
    whole.width = Math.round(w * ratio);
    whole.height = Math.round(h * ratio);
    p.setTransform(ratio, 0, 0, ratio, 0, 0);
    const most = Math.max(1e-9, ...crowds.map((sum) => Math.max(...sum)));
    crowds.forEach((sum, k) => {
      p.beginPath();
      if (!k) p.moveTo(X(0), h - 2);
      for (let b = 0; b < BINS; b++) {
        const top = h - 2 - Math.min(1, sum[b] / most) * (h - 8);
        p.lineTo(X(b * T / BINS), top);
        p.lineTo(X((b + 1) * T / BINS), top);
      }
      if (k) { p.strokeStyle = colour.soft; p.lineWidth = 1; p.stroke(); return; }
      p.lineTo(X(T), h - 2);
      p.fillStyle = reduce ? colour.combine : colour.compute;
      p.globalAlpha = 0.75;
      p.fill();
      p.globalAlpha = 1;
    });
    p.fillStyle = colour.soft;
    p.font = font(11);
    p.fillText('busy', 8, h / 2 - 2);
    if (data.group === 1) p.fillText('\u2264 ' + short(most, 3), 8, h / 2 + 12);
    p.fillStyle = colour.ink;
    p.globalAlpha = 0.16;
    p.fillRect(gutter, 0, X(t0) - gutter, h);
    p.fillRect(X(t1), 0, w - 10 - X(t1), h);
    p.globalAlpha = 1;
    p.strokeStyle = colour.accent;
    p.lineWidth = 2;
    p.strokeRect(X(t0), 1, Math.max(3, X(t1) - X(t0)), h - 2);
  }

  /* --- moving --- */
  function view(from, to) {
    const least = T * 1e-9;
    if (!(to - from > least)) to = from + least;
    const size = Math.min(T * 1.02, to - from);
    t0 = Math.max(0, Math.min(from, T * 1.02 - size));
    t1 = t0 + size;
    request();
  }
  const zoom = (factor, at) => {
    const centre = at === undefined ? (t0 + t1) / 2 : at;
    view(centre - (centre - t0) / factor, centre + (t1 - centre) / factor);
  };
  const pan = (part) => view(t0 + (t1 - t0) * part, t1 + (t1 - t0) * part);
  const reset = () => { view(0, T * 1.02); };
  function see(line) {
    const top = place(line), bottom = place(line + 1) + AXIS;
    if (top < plot.scrollTop) plot.scrollTop = top;
    else if (bottom > plot.scrollTop + height) plot.scrollTop = bottom - height;
  }

  /* --- what is there --- */
  function nearest(trace, list, from, to, t, slack) {
    let best = -1, far = slack;
    let low = from, high = to;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (trace.start[list ? list[middle] : middle] <= t) low = middle + 1;
      else high = middle;
    }
    for (let i = Math.max(from, low - 9); i < Math.min(to, low + 2); i++) {
      const s = list ? list[i] : i;
      const d = t < trace.start[s] ? trace.start[s] - t : Math.max(0, t - end(trace, s));
      if (d <= far) { far = d; best = s; }
    }
    return best;
  }
  function under(px, py) {
    const line = lineAt(py - AXIS + plot.scrollTop);
    if (py < AXIS || line < 0 || line >= lines || px < gutter) return null;
    const t = time(px), slack = (t1 - t0) / width * 3;
    const k = PAIR && py > part(1, true, line)[0] ? 1 : 0, trace = traces[k];
    if (line < heads) {
      const list = trace.ports[line];
      const i = list ? nearest(trace, list, 0, list.length, t, slack) : -1;
      return i < 0 ? null : { line, k, link: true, i };
    }
    const row = line - heads, at = trace.at, cpu = part(k, false, line);
    const tries = py < cpu[0] ? [true, false] : [false, true];
    for (const link of tries) {
      let i = nearest(trace, null, at[2 * row + (link ? 0 : 1)],
        at[2 * row + (link ? 1 : 2)], t, slack);
      if (i < 0 && link && trace.sent && trace.sent[row] >= 0)
        i = nearest(trace, trace.sent, row, row + 1, t, slack);
      if (i >= 0) return { line, k, link, i };
    }
    return null;
  }
  const words = (mark) => describe(data, traces[mark.k], mark.i);
  function showTip(mark, px, py) {
    hover = mark;
    tip.hidden = !mark;
    if (mark) {
      const said = words(mark);
      tip.textContent = '';
      said.forEach((text, n) => {
        const node = document.createElement(n ? 'div' : 'b');
        node.textContent = text;
        tip.appendChild(node);
      });
      const box = tip.getBoundingClientRect();
      tip.style.left = Math.max(4, Math.min(px + 14, innerWidth - box.width - 8)) + 'px';
      tip.style.top = (py + 18 + box.height > innerHeight ? py - box.height - 12
        : py + 18) + 'px';
    }
    request();
  }
  function choose(mark) {
    picked = mark;
    $('picked').textContent = mark && mark.i !== undefined ? words(mark).join(', ')
      : mark ? nameOf(mark.line) : '';
    if (mark) see(mark.line);
    if (mark && mark.i !== undefined) {
      const trace = traces[mark.k], a = trace.start[mark.i], b = end(trace, mark.i);
      if (a < t0 || b > t1) {
        const size = Math.max(t1 - t0, (b - a) * 1.2), mid = (a + b) / 2;
        view(mid - size / 2, mid + size / 2);
      }
    }
    request();
  }
  /* The next or last span of the chosen row. */
  function step(by) {
    const line = picked ? picked.line : 0, trace = traces[0], marks = [];
    const push = (i, link) => marks.push({ line, k: 0, link, i });
    if (line < heads) {
      (trace.ports[line] || []).forEach((i) => push(i, true));
    } else {
      const row = line - heads, at = trace.at;
      for (let i = at[2 * row]; i < at[2 * row + 2]; i++) push(i, i < at[2 * row + 1]);
      if (trace.sent && trace.sent[row] >= 0) push(trace.sent[row], true);
      marks.sort((a, b) => trace.start[a.i] - trace.start[b.i]);
    }
    if (!marks.length) { choose({ line }); return; }
    const now = picked && picked.i !== undefined
      ? marks.findIndex((m) => m.i === picked.i && m.link === picked.link) : -1;
    const next = now < 0 ? (by > 0 ? 0 : marks.length - 1) : now + by;
    choose(marks[Math.max(0, Math.min(marks.length - 1, next))]);
  }
  const keys = {
    '+': () => zoom(2), '=': () => zoom(2), '-': () => zoom(0.5), '0': reset,
    Home: () => view(0, t1 - t0), End: () => view(T * 1.02 - (t1 - t0), T * 1.02),
    ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15),
    ArrowUp: () => choose({ line: Math.max(0, (picked ? picked.line : 1) - 1) }),
    ArrowDown: () => choose({
      line: Math.min(lines - 1, (picked ? picked.line : -1) + 1),
    }),
    n: () => step(1), p: () => step(-1), Escape: () => { choose(null); showTip(null); },
    Enter: () => {
      if (!picked || picked.i === undefined) return;
      const a = traces[picked.k].start[picked.i], d = traces[picked.k].length[picked.i];
      view(a - d, a + 2 * d);
    },
  };

  /* --- events --- */
  plot.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  plot.addEventListener('scroll', request);
  plot.addEventListener('wheel', (event) => {
    const box = canvas.getBoundingClientRect(), sideways = event.shiftKey
      ? event.deltaY || event.deltaX : event.deltaX;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      zoom(Math.exp(-event.deltaY * 0.003), time(event.clientX - box.left));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      pan(sideways / width);
    }
  }, { passive: false });
  const fingers = new Map();
  let moved = 0;
  canvas.addEventListener('pointerdown', (event) => {
    fingers.set(event.pointerId, event.clientX);
    moved = 0;
    canvas.setPointerCapture(event.pointerId);
    plot.classList.add('moving');
  });
  canvas.addEventListener('pointermove', (event) => {
    const box = canvas.getBoundingClientRect();
    if (!fingers.has(event.pointerId)) {
      showTip(under(event.clientX - box.left, event.clientY - box.top), event.clientX,
        event.clientY);
      return;
    }
    const before = Array.from(fingers.values()), last = fingers.get(event.pointerId);
    fingers.set(event.pointerId, event.clientX);
    moved += Math.abs(event.clientX - last);
    if (fingers.size === 2) {
      const now = Array.from(fingers.values()), middle = (now[0] + now[1]) / 2;
      zoom(Math.max(8, Math.abs(now[0] - now[1])) / Math.max(8,
        Math.abs(before[0] - before[1])), time(middle - box.left));
    } else if (moved > 3) {
      pan((last - event.clientX) / (width - gutter - 10));
      showTip(null);
    }
  });
  const lift = (event) => {
    const box = canvas.getBoundingClientRect();
    if (fingers.delete(event.pointerId) && moved <= 3 && event.type === 'pointerup')
      choose(under(event.clientX - box.left, event.clientY - box.top));
    plot.classList.remove('moving');
  };
  canvas.addEventListener('pointerup', lift);
  canvas.addEventListener('pointercancel', lift);
  canvas.addEventListener('pointerleave', () => showTip(null));
  canvas.addEventListener('dblclick', (event) => {
    zoom(event.shiftKey ? 0.4 : 2.5,
      time(event.clientX - canvas.getBoundingClientRect().left));
  });
  const jump = (event) => {
    const box = whole.getBoundingClientRect(), size = t1 - t0;
    const t = (event.clientX - box.left - gutter) / (box.width - gutter - 10) * T * 1.02;
    view(t - size / 2, t + size / 2);
  };
  whole.addEventListener('pointerdown', (event) => {
    whole.setPointerCapture(event.pointerId);
    jump(event);
  });
  whole.addEventListener('pointermove', (event) => { if (event.buttons) jump(event); });
  $('zoomin').addEventListener('click', () => zoom(2));
  $('zoomout').addEventListener('click', () => zoom(0.5));
  $('left').addEventListener('click', () => pan(-0.3));
  $('right').addEventListener('click', () => pan(0.3));
  $('reset').addEventListener('click', reset);
  const over = new AbortController(), alive = { signal: over.signal };
  window.addEventListener('resize', measure, alive);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', measure, alive);
  if (seen && seen.to) view(seen.from, seen.to); else view(0, T * 1.02);
  measure();
  if (seen) plot.scrollTop = seen.top;
  return () => {
    over.abort();
    return { from: t0, to: t1 - t0 < T ? t1 : 0, top: plot.scrollTop };
  };
}
