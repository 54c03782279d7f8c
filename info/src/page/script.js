// Draws the time line. Texts of the trace are only drawn, or set as text.
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const section = document.getElementById('timeline');
  const axis = section.querySelector('canvas.axis'), canvas = section.querySelector('canvas.rows');
  const tip = document.body.appendChild(document.createElement('div'));
  tip.id = 'tip';
  tip.hidden = true;

  const ROW = 20, GAP = 8, COUNTER = 44, LEAST = 0.05;
  const GROUPS = ['call of an OpenCL function', 'stage of a build', 'command', 'work-groups'];
  const N = data.numbers, START = 0, LENGTH = 1, NAME = 2, GROUP = 3, DETAIL = 4, WAIT = 5, COUNT = 7;
  const span = Math.max(data.span, LEAST);
  const margin = span * 0.01;
  const view = { from: -margin, to: span + margin };
  let width = 0, left = 0, hovered = null, colours = {};

  // The place of each row.
  let height = GAP / 2;
  data.rows.forEach((row, number) => {
    if (row.name !== null && number > 0) height += GAP;
    row.y = height;
    height += ROW;
  });
  const counterAt = height + GAP;
  const most = data.allocated.reduce((most, value, i) => i % 2 ? Math.max(most, value) : most, 0);
  height = most > 0 ? counterAt + COUNTER : height + GAP / 2;

  const time = us => {
    const [scale, unit] = us >= 1e6 ? [1e6, ' s'] : us >= 1e3 ? [1e3, ' ms'] : us >= 1 ? [1, ' µs'] : [1e-3, ' ns'];
    const value = us / scale;
    return value.toFixed(value >= 100 || value === 0 ? 0 : value >= 10 ? 1 : 2) + unit;
  };
  const bytes = count => {
    const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
    let unit = 0;
    for (; count >= 1024 && unit < 4; unit++) count /= 1024;
    return count.toFixed(unit && count < 100 ? 1 : 0) + ' ' + units[unit];
  };
  const x = at => left + (at - view.from) / (view.to - view.from) * (width - left);
  const at = x => view.from + (x - left) / (width - left) * (view.to - view.from);

  // The first piece of a row that may end after a time.
  const first = (pieces, from) => {
    let low = 0, high = pieces.length / N;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pieces[middle * N + START] < from) low = middle + 1; else high = middle;
    }
    return Math.max(low - 1, 0) * N;
  };
  const colour = (pieces, i) => {
    const group = pieces[i + GROUP], own = data.colours[pieces[i + NAME]];
    if (group === 0) return colours.call;
    if (group === 1) return colours.build;
    return group === 2 && own === 8 ? colours.command : colours['k' + own];
  };

  function size(target, wanted) {
    const ratio = window.devicePixelRatio || 1;
    width = target.clientWidth;
    left = width < 520 ? 70 : 116;
    target.style.height = wanted + 'px';
    target.width = Math.round(width * ratio);
    target.height = Math.round(wanted * ratio);
    const context = target.getContext('2d');
    context.scale(ratio, ratio);
    return context;
  }

  function readColours() {
    const style = getComputedStyle(document.documentElement);
    const names = ['back', 'card', 'text', 'soft', 'line', 'faint', 'accent', 'call', 'build', 'command', 'wait-others', 'wait-thread'];
    for (let i = 0; i <= 8; i++) names.push('k' + i);
    colours = Object.fromEntries(names.map(name => [name, style.getPropertyValue('--' + name).trim()]));
  }

  function ticks() {
    const wanted = (view.to - view.from) / Math.max((width - left) / 110, 1);
    const power = Math.pow(10, Math.floor(Math.log10(wanted)));
    const step = [1, 2, 5, 10].map(factor => factor * power).find(step => step >= wanted);
    const list = [];
    for (let n = Math.ceil(Math.max(view.from, 0) / step); n * step <= Math.min(view.to, span + margin); n++) list.push(n * step);
    return list;
  }

  function draw() {
    const font = '12px system-ui, "DejaVu Sans", sans-serif';
    width = canvas.clientWidth;
    left = width < 520 ? 70 : 116;
    const lines = ticks();
    let c = size(axis, 24);
    c.font = font;
    c.fillStyle = colours.soft;
    c.textAlign = 'center';
    for (const tick of lines) {
      const label = time(tick), half = c.measureText(label).width / 2;
      const place = x(tick);
      if (place >= left && place - half >= left - 24 && place + half <= width) c.fillText(label, place, 16);
    }
    c = size(canvas, height);
    c.font = font;
    c.textBaseline = 'middle';
    c.fillStyle = colours.line;
    for (const tick of lines) if (x(tick) >= left) c.fillRect(Math.round(x(tick)), 0, 1, height);
    c.save();
    c.beginPath();
    c.rect(left, 0, width - left, height);
    c.clip();
    for (const row of data.rows) drawRow(c, row);
    if (most > 0) drawCounter(c);
    if (hovered) drawHovered(c);
    c.restore();
    c.fillStyle = colours.text;
    for (const row of data.rows) if (row.name !== null) drawLabel(c, row.name, row.y + ROW / 2);
    if (most > 0) {
      drawLabel(c, 'allocated', counterAt + COUNTER / 2 - 7);
      c.fillStyle = colours.soft;
      drawLabel(c, bytes(most), counterAt + COUNTER / 2 + 9);
    }
  }

  function drawLabel(c, text, y) {
    const room = left - 14;
    while (text.length > 1 && c.measureText(text).width > room) text = text.replace(/…?$/, '').slice(0, -1) + '…';
    c.fillText(text, 8, y);
  }

  function drawRow(c, row) {
    const pieces = row.pieces, inner = ROW - 4;
    c.fillStyle = colours.faint;
    c.fillRect(left, row.y, width - left, ROW - 2);
    let filled = -1;
    for (let i = first(pieces, view.from); i < pieces.length && pieces[i] <= view.to; i += N) {
      if (pieces[i] + pieces[i + LENGTH] < view.from) continue;
      const begin = x(pieces[i]), end = x(pieces[i] + pieces[i + LENGTH]);
      if (end < filled) continue;
      const from = Math.max(begin, left - 2), to = Math.max(Math.min(end, width + 2), from + 1);
      if (row.queue && pieces[i + WAIT] + pieces[i + WAIT + 1] > 0) drawWaits(c, row, pieces, i, filled);
      c.fillStyle = colour(pieces, i);
      c.fillRect(from, row.y, to - from - (to - from > 3 ? 1 : 0), ROW - 2);
      filled = to;
      if (to - from > 34) {
        c.fillStyle = '#fff';
        const count = pieces[i + COUNT], name = data.texts[pieces[i + NAME]];
        c.save();
        c.beginPath();
        c.rect(from, row.y, to - from - 4, inner);
        c.clip();
        c.fillText(count > 1 ? `${name} and ${count - 1} more` : name, from + 5, row.y + inner / 2 + 1);
        c.restore();
      }
    }
  }

  // How long a command waited: thin lines in front of it.
  function drawWaits(c, row, pieces, i, filled) {
    const begin = pieces[i], submit = begin - pieces[i + WAIT + 1], queued = submit - pieces[i + WAIT];
    for (const [from, to, what] of [[queued, submit, 'wait-others'], [submit, begin, 'wait-thread']]) {
      const start = Math.max(x(from), left, filled);
      if (x(to) - start < 0.5) continue;
      c.fillStyle = colours[what];
      c.fillRect(start, row.y + ROW / 2 - 3, x(to) - start, 5);
    }
  }

  function drawCounter(c) {
    const values = data.allocated, base = counterAt + COUNTER - 4;
    const y = value => base - value / most * (COUNTER - 8);
    c.beginPath();
    c.moveTo(x(values[0]), base);
    for (let i = 0; i < values.length; i += 2) {
      c.lineTo(x(values[i]), y(i ? values[i - 1] : 0));
      c.lineTo(x(values[i]), y(values[i + 1]));
    }
    c.lineTo(x(span), y(values[values.length - 1]));
    c.lineTo(x(span), base);
    c.fillStyle = colours.call;
    c.globalAlpha = 0.5;
    c.fill();
    c.globalAlpha = 1;
  }

  // The piece under the pointer, and the arrows to and from it.
  function drawHovered(c) {
    const { row, i } = hovered, pieces = row.pieces;
    const begin = x(pieces[i]), end = Math.max(x(pieces[i] + pieces[i + LENGTH]), begin + 2);
    c.strokeStyle = colours.text;
    c.lineWidth = 1.5;
    c.strokeRect(begin - 0.5, row.y - 0.5, end - begin, ROW - 1);
    const number = data.rows.indexOf(row), from = pieces[i] - 0.002, to = pieces[i] + pieces[i + LENGTH] + 0.002;
    const here = (track, time) => number - track >= 0 && number - track < 6 && data.rows[track].name !== null
      && data.rows.slice(track + 1, number + 1).every(row => row.name === null) && time >= from && time <= to;
    c.lineWidth = 1.2;
    c.strokeStyle = c.fillStyle = colours.accent;
    for (let n = 0; n < data.arrows.length; n += 4) {
      const [a, s, b, t] = data.arrows.slice(n, n + 4);
      if (!here(a, s) && !here(b, t)) continue;
      const [x0, y0, x1, y1] = [x(s), data.rows[a].y + ROW / 2, x(t), data.rows[b].y + ROW / 2];
      const bend = Math.max(Math.abs(x1 - x0) / 2, 14);
      c.beginPath();
      c.moveTo(x0, y0);
      c.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
      c.stroke();
      c.beginPath();
      c.moveTo(x1, y1);
      c.lineTo(x1 - 7, y1 - 3.5);
      c.lineTo(x1 - 7, y1 + 3.5);
      c.fill();
    }
  }

  function find(px, py) {
    const row = data.rows.find(row => py >= row.y && py < row.y + ROW);
    if (!row || px < left) return null;
    const moment = at(px), slack = (view.to - view.from) / (width - left) * 2;
    let best = null, distance = slack;
    for (let i = first(row.pieces, moment - slack); i < row.pieces.length && row.pieces[i] <= moment + slack; i += N) {
      const away = Math.max(row.pieces[i] - moment, moment - row.pieces[i] - row.pieces[i + LENGTH], 0);
      if (away <= distance) [best, distance] = [{ row, i }, away];
    }
    return best;
  }

  function show(event) {
    const box = canvas.getBoundingClientRect();
    const found = find(event.clientX - box.left, event.clientY - box.top);
    if (!found || !hovered || found.i !== hovered.i || found.row !== hovered.row) {
      hovered = found;
      request();
    }
    tip.hidden = !found;
    if (!found) return;
    const { row: { pieces }, i } = found, count = pieces[i + COUNT];
    const lines = [`${GROUPS[pieces[i + GROUP]]}, at ${time(Math.max(pieces[i], 0))}, for ${time(pieces[i + LENGTH])}`];
    if (count > 1) lines.push(`${count} slices, merged; the first is ${data.texts[pieces[i + NAME]]}`);
    if (pieces[i + WAIT] > 0) lines.push(`waited ${time(pieces[i + WAIT])} for other commands`);
    if (pieces[i + WAIT + 1] > 0) lines.push(`waited ${time(pieces[i + WAIT + 1])} for a thread`);
    if (data.texts[pieces[i + DETAIL]]) lines.push(data.texts[pieces[i + DETAIL]]);
    const name = document.createElement('b');
    name.textContent = count > 1 ? `${count} slices` : data.texts[pieces[i + NAME]];
    tip.replaceChildren(name, lines.join('\n'));
    const room = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - room.width - 8)) + 'px';
    tip.style.top = (event.clientY + 18 + room.height > innerHeight ? event.clientY - room.height - 12 : event.clientY + 18) + 'px';
  }
  function hide() {
    tip.hidden = true;
    if (hovered) request();
    hovered = null;
  }

  let requested = false;
  function request() {
    if (requested) return;
    requested = true;
    requestAnimationFrame(() => { requested = false; draw(); });
  }

  // Shows another part of the time, within the whole.
  function look(from, to) {
    const length = Math.min(Math.max(to - from, LEAST), span + 2 * margin);
    const middle = (from + to) / 2;
    view.from = Math.min(Math.max(middle - length / 2, -margin), span + margin - length);
    view.to = view.from + length;
    request();
  }
  const zoom = (factor, around) => look(around - (around - view.from) * factor, around + (view.to - around) * factor);
  const move = part => look(view.from + part * (view.to - view.from), view.to + part * (view.to - view.from));
  const middle = () => (view.from + view.to) / 2;
  const actions = {
    in: () => zoom(0.5, middle()), out: () => zoom(2, middle()), left: () => move(-0.3), right: () => move(0.3),
    whole: () => look(-margin, span + margin),
  };
  section.querySelector('.buttons').addEventListener('click', event => (actions[event.target.dataset.do] || (() => {}))());
  canvas.addEventListener('keydown', event => {
    const action = { '+': 'in', '=': 'in', '-': 'out', ArrowLeft: 'left', ArrowRight: 'right', '0': 'whole' }[event.key];
    if (!action || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    actions[action]();
  });
  canvas.addEventListener('wheel', event => {
    const across = event.shiftKey ? event.deltaY : event.deltaX;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 150), at(event.offsetX));
    } else if (Math.abs(across) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
      event.preventDefault();
      move(across / width);
    }
  }, { passive: false });
  canvas.addEventListener('dblclick', event => {
    const found = find(event.offsetX, event.offsetY);
    if (!found) return zoom(0.4, at(event.offsetX));
    const start = found.row.pieces[found.i], length = Math.max(found.row.pieces[found.i + LENGTH], LEAST);
    look(start - length * 0.1, start + length * 1.1);
  });

  // One pointer drags, two pinch.
  const pointers = new Map();
  canvas.addEventListener('pointerdown', event => {
    pointers.set(event.pointerId, event.offsetX);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', event => {
    if (!pointers.has(event.pointerId)) return show(event);
    const before = [...pointers.values()];
    pointers.set(event.pointerId, event.offsetX);
    const after = [...pointers.values()];
    hide();
    const us = (view.to - view.from) / (width - left);
    if (before.length === 1) {
      look(view.from - (after[0] - before[0]) * us, view.to - (after[0] - before[0]) * us);
    } else {
      const apart = pair => Math.max(Math.abs(pair[0] - pair[1]), 10);
      zoom(apart(before) / apart(after), at((after[0] + after[1]) / 2));
    }
  });
  for (const end of ['pointerup', 'pointercancel']) canvas.addEventListener(end, event => pointers.delete(event.pointerId));
  canvas.addEventListener('pointerleave', hide);

  const restart = () => { readColours(); request(); };
  addEventListener('resize', request);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', restart);
  readColours();
  draw();
  section.dataset.drawn = data.rows.length;
})();
