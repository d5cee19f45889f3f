"use strict";
// Draws the exhibits that stand in the page as JSON. Words, colours and numbers come from there;
// a drawing asks `colour` for its colours anew each time, so that a change of theme is a redraw.

const data = JSON.parse(document.getElementById("data").textContent);
const arrays = data.arrays.map(unpack);
const app = document.getElementById("app");
const chosen = {}; // the page each panel shows, kept when the language changes
let redraws = []; // of the canvases on the page
let language, theme, words;

function unpack({ kind, shape, bytes }) {
  const letters = atob(bytes), raw = new Uint8Array(letters.length);
  for (let i = 0; i < raw.length; i++) raw[i] = letters.charCodeAt(i);
  return { shape, values: kind === "<f4" ? new Float32Array(raw.buffer) : new Float64Array(raw.buffer) };
}
const array = (place) => arrays[place.array];

// --- small helpers ---

/** An element; children are elements or text, never markup. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  return fill(element, attributes, children);
}
const svgSpace = new DOMParser().parseFromString("<svg></svg>", "text/html").querySelector("svg").namespaceURI;
const draw = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(svgSpace, tag), attributes, children);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const line = (i) => `var(--line-${i % 8})`;
/** Chinese tokens get Chinese shapes of their characters, whatever the page's language. */
const tokenLang = (text) => (/[\u3400-\u9fff]/.test(text) ? "zh" : undefined);

/** In few signs, for reading; `exactly` as stored, to nine digits. */
function short(value) {
  if (value === null || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0 || (Math.abs(value) >= 1e-3 && Math.abs(value) < 1e5)) return sign(String(+value.toPrecision(4)));
  return sign(value.toExponential(1));
}
function exactly(value) {
  if (!Number.isFinite(value)) return short(value);
  return sign(String(+value.toPrecision(9)));
}
const sign = (text) => text.replace(/-/g, "−");
const withUnit = (value, unit) => exactly(value) + (unit ? " " + unit : "");

// --- colours of numbers ---

function share(value, [low, high]) {
  return Math.min(1, Math.max(0, (value - low) / (high - low)));
}
const tables = {};
/** The ramp as 256 colours [r, g, b], blended from those in the data. */
function table(scale) {
  return (tables[theme + scale] ??= (() => {
    const stops = data.ramps[theme][scale].map((hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)));
    return Array.from({ length: 256 }, (_, i) => {
      const at = (i / 255) * (stops.length - 1), left = Math.min(Math.floor(at), stops.length - 2);
      return stops[left].map((c, k) => Math.round(c + (at - left) * (stops[left + 1][k] - c)));
    });
  })());
}
const colour = (panel, value) => table(panel.scale)[Math.round(255 * share(value, panel.limits))];
const rgb = (c) => `rgb(${c.join(" ")})`;
const inkOn = ([r, g, b]) => (0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#1b1d22" : "#fbfaf6");

// --- what the pointer is on ---

const tip = make("div", { id: "tip", role: "status", "aria-live": "polite" });
function showTip(x, y, value, ...lines) {
  tip.replaceChildren(make("b", {}, value), ...lines.map((l) => (l instanceof Node ? l : make("div", {}, l))));
  tip.classList.add("shown");
  const { width, height } = tip.getBoundingClientRect();
  const left = x + 16 + width > innerWidth - 8 ? x - width - 16 : x + 16;
  tip.style.left = scrollX + Math.max(8, left) + "px"; // of the document, so that it scrolls along
  tip.style.top = scrollY + (y - height - 14 < 8 ? y + 20 : y - height - 14) + "px";
}
function hideTip() {
  tip.classList.remove("shown");
  tip.style.left = tip.style.top = 0; // where it cannot make the page wider
}

// --- pages ---

function pageOf(panel, place) {
  const { shape, values } = array(panel.values);
  const sizes = Object.values(panel.pages).map((labels) => labels.length);
  const inner = shape.slice(sizes.length), size = inner.reduce((a, b) => a * b, 1);
  const number = sizes.reduce((sum, n, i) => sum * n + (place[i] ?? 0), 0);
  return { shape: inner, values: values.subarray(number * size, (number + 1) * size) };
}

/** A choice for each kind of page: chips if they fit in a line, else a slider. */
function turner(panel, id, place, turned) {
  const choose = (i, page) => { place[i] = page; turned(); };
  const parts = Object.entries(panel.pages).map(([name, labels], i) => {
    if (labels.length < 2) return null;
    const set = make("fieldset", {}, make("legend", {}, name));
    if (labels.length <= 12 && labels.join("").length <= 48) {
      set.append(make("span", { class: "chips" }, ...labels.map((label, page) => {
        const input = make("input", { type: "radio", name: `${id}-${i}`, value: page, "aria-label": `${name} ${label}`,
          onchange: () => choose(i, page) });
        input.checked = page === place[i];
        return make("label", {}, input, make("span", {}, label));
      })));
      set.show = () => { set.querySelectorAll("input")[place[i]].checked = true; };
    } else {
      const range = make("input", { type: "range", min: 0, max: labels.length - 1, "aria-label": name,
        oninput: () => choose(i, +range.value) });
      const shown = make("output");
      set.append(range, shown);
      set.show = () => {
        range.value = place[i];
        shown.textContent = labels[place[i]];
        range.setAttribute("aria-valuetext", labels[place[i]]);
      };
      set.show();
    }
    return set;
  }).filter(Boolean);
  if (!parts.length) return null;
  const element = make("div", { class: "pages" }, ...parts);
  element.show = () => parts.forEach((part) => part.show());
  return element;
}

// --- matrix ---

function sized(canvas, width, height) {
  const sharp = devicePixelRatio || 1;
  canvas.width = Math.round(width * sharp);
  canvas.height = Math.round(height * sharp);
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  const pen = canvas.getContext("2d");
  pen.setTransform(sharp, 0, 0, sharp, 0, 0);
  return pen;
}

/** The cells as a picture of one dot each, to be stretched; empty ones stay clear. */
function dots(panel, { shape: [rows, columns], values }) {
  const picture = new OffscreenCanvas(Math.max(1, columns), Math.max(1, rows));
  const pen = picture.getContext("2d"), image = pen.createImageData(picture.width, picture.height);
  const colours = table(panel.scale), [low, high] = panel.limits;
  for (let i = 0; i < values.length; i++) {
    if (!Number.isFinite(values[i])) continue;
    const c = colours[Math.max(0, Math.min(255, Math.round((255 * (values[i] - low)) / (high - low))))];
    image.data[4 * i] = c[0]; image.data[4 * i + 1] = c[1]; image.data[4 * i + 2] = c[2];
    image.data[4 * i + 3] = 255;
  }
  pen.putImageData(image, 0, 0);
  return picture;
}

function matrix(panel, id) {
  const place = (chosen[id] ??= Object.keys(panel.pages).map((_, i) => panel.page[i] ?? 0));
  const canvas = make("canvas", { tabindex: 0, role: "img", "aria-label": `${panel.title}. ${words.keys}` });
  const main = make("div", { class: "main" }, canvas);
  const many = Object.values(panel.pages).reduce((n, labels) => n * labels.length, 1) > 1;
  const turn = turner(panel, id, place, () => { paint(); map?.paint(); });
  const map = many ? overview(panel, place, () => { turn.show(); paint(); }) : null;
  let page, grid, at = null; // what is drawn, where its cells are, the cell pointed at

  function paint() {
    page = pageOf(panel, place);
    const room = main.clientWidth - 6;
    if (room <= 0) return;
    grid = layout(panel, page.shape, room);
    const pen = sized(canvas, grid.width, grid.height);
    drawMatrix(pen, panel, page, grid, at);
  }
  function point(row, column) {
    at = [row, column];
    drawMatrix(canvas.getContext("2d"), panel, page, grid, at);
    const value = page.values[row * page.shape[1] + column], box = canvas.getBoundingClientRect();
    const name = (label, what) => (label ? label + " " : "") + what;
    showTip(box.left + grid.left + (column + 1) * grid.wide, box.top + grid.top + row * grid.tall,
      Number.isFinite(value) ? withUnit(value, panel.unit) : `${short(value)} (${words.empty})`,
      `${name(panel.row_label, panel.rows[row])}  →  ${name(panel.column_label, panel.columns[column])}`);
  }
  function leave() {
    if (at) { at = null; paint(); }
    hideTip();
  }
  canvas.addEventListener("pointermove", over);
  canvas.addEventListener("pointerdown", over);
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("blur", leave);
  function over(event) {
    const column = Math.floor((event.offsetX - grid.left) / grid.wide);
    const row = Math.floor((event.offsetY - grid.top) / grid.tall);
    const [rows, columns] = page.shape;
    if (row < 0 || column < 0 || row >= rows || column >= columns) leave();
    else point(row, column);
  }
  canvas.addEventListener("keydown", (event) => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (event.key === "Escape") leave();
    if (!move) return;
    event.preventDefault();
    const inside = (i, n) => Math.min(n - 1, Math.max(0, i));
    const [row, column] = at ? [at[0] + move[0], at[1] + move[1]] : [0, 0];
    point(inside(row, page.shape[0]), inside(column, page.shape[1]));
  });
  onResize(main, paint);
  return [many ? turn : null, make("div", { class: "side" }, main, map?.element)];
}

/** Sizes in CSS pixels: a gutter for the rows' names, a head for the columns', and cells. */
function layout(panel, [rows, columns], room) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = "13px " + css("sans");
  const longest = (labels) => labels.reduce((most, label) => Math.max(most, pen.measureText(label).width), 0);
  const left = Math.min(longest(panel.rows) + 10, room / 3) + (panel.row_label ? 22 : 0);
  const wide = Math.max(3, Math.min(48, (room - left - 2) / columns));
  const tall = Math.max(2, Math.min(wide, 640 / rows));
  const names = longest(panel.columns), upright = names > Math.max(wide, 18);
  const top = (upright ? Math.min(names, 140) + 10 : 22) + (panel.column_label ? 20 : 0);
  return { left, top, wide, tall, upright, width: left + columns * wide + 2, height: top + rows * tall + 8 };
}

function drawMatrix(pen, panel, page, { left, top, wide, tall, upright, width, height }, at) {
  const [rows, columns] = page.shape, ink = css("ink"), faint = css("faint"), paper = css("paper");
  pen.clearRect(0, 0, width, height);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(dots(panel, page), left, top, columns * wide, rows * tall);
  if (wide >= 9 && tall >= 9) { // tiles
    pen.strokeStyle = paper;
    pen.lineWidth = wide >= 20 ? 2 : 1;
    pen.beginPath();
    for (let i = 0; i <= columns; i++) { pen.moveTo(left + i * wide, top); pen.lineTo(left + i * wide, top + rows * tall); }
    for (let i = 0; i <= rows; i++) { pen.moveTo(left, top + i * tall); pen.lineTo(left + columns * wide, top + i * tall); }
    pen.stroke();
  } else {
    pen.strokeStyle = css("line");
    pen.lineWidth = 1;
    pen.strokeRect(left - 0.5, top - 0.5, columns * wide + 1, rows * tall + 1);
  }
  pen.textBaseline = "middle";
  if (wide >= 40 && tall >= 22) {
    pen.font = "11px " + css("sans");
    pen.textAlign = "center";
    page.values.forEach((value, i) => {
      if (!Number.isFinite(value)) return;
      pen.fillStyle = inkOn(colour(panel, value));
      const text = sign(Math.abs(value) < 100 ? value.toFixed(2) : value.toFixed(0));
      pen.fillText(text, left + ((i % columns) + 0.5) * wide, top + (Math.floor(i / columns) + 0.5) * tall);
    });
  }
  const label = (text, x, y, strong, align, turned) => {
    pen.save();
    pen.translate(x, y);
    if (turned) pen.rotate(-Math.PI / 2);
    pen.font = (strong ? "600 " : "") + "13px " + css("sans");
    pen.fillStyle = strong ? ink : faint;
    pen.textAlign = align;
    pen.fillText(text, 0, 0);
    pen.restore();
  };
  /** Every how many names there is room; the one pointed at pushes its neighbours away. */
  const names = (labels, size, needed, pointed, put) => {
    const every = Math.max(1, Math.ceil(needed / size));
    labels.forEach((text, i) => {
      const near = pointed !== undefined && i !== pointed && Math.abs(i - pointed) * size < needed;
      if (i === pointed || (i % every === 0 && !near)) put(text, i, i === pointed);
    });
  };
  names(panel.rows, tall, 14, at?.[0], (text, i, strong) => label(text, left - 7, top + (i + 0.5) * tall, strong, "right"));
  names(panel.columns, wide, upright ? 14 : 18, at?.[1], (text, i, strong) =>
    label(text, left + (i + 0.5) * wide, top - (upright ? 7 : 11), strong, upright ? "left" : "center", upright));
  if (panel.column_label) label(panel.column_label + " →", left, 8, false, "left");
  if (panel.row_label) label("← " + panel.row_label, 8, top, false, "right", true);
  if (at) {
    pen.strokeStyle = ink;
    pen.lineWidth = 2;
    pen.strokeRect(left + at[1] * wide - 1, top + at[0] * tall - 1, wide + 2, tall + 2);
  }
}

/** All pages as stamps, the last dimension across; one is chosen by pointing at it. */
function overview(panel, place, turned) {
  const kinds = Object.entries(panel.pages), sizes = kinds.map(([, labels]) => labels.length);
  const total = sizes.reduce((a, b) => a * b, 1);
  const across = sizes.length > 1 ? sizes.at(-1) : Math.ceil(Math.sqrt(total)), down = Math.ceil(total / across);
  if (total > 400) return null;
  const canvas = make("canvas", { "aria-hidden": "true" });
  const stamp = Math.max(16, Math.min(64, Math.floor(300 / Math.max(across, Math.min(down, across * 2)))));
  const gap = stamp > 30 ? 4 : 3, step = stamp + gap;
  const [rows, columns] = pageOf(panel, []).shape;
  const high = Math.max(12, Math.min(stamp, (stamp * rows) / columns)), rise = high + gap;
  const where = (n) => sizes.reduceRight(([rest, found], size) => [Math.floor(rest / size), [rest % size, ...found]], [n, []])[1];
  const current = () => sizes.reduce((sum, n, i) => sum * n + place[i], 0);
  let pictures = null, of = null;
  function paint() {
    const pen = sized(canvas, across * step + gap, down * rise + gap);
    if (of !== theme) pictures = Array.from({ length: total }, (_, n) => dots(panel, pageOf(panel, where(n))));
    of = theme;
    pictures.forEach((picture, n) => {
      const x = gap + (n % across) * step, y = gap + Math.floor(n / across) * rise;
      pen.fillStyle = css("card");
      pen.fillRect(x, y, stamp, high);
      pen.drawImage(picture, x, y, stamp, high);
      if (n !== current()) return;
      pen.strokeStyle = css("ink");
      pen.lineWidth = 2;
      pen.strokeRect(x - 1, y - 1, stamp + 2, high + 2);
    });
  }
  const under = (event) => {
    const column = Math.floor((event.offsetX - gap / 2) / step), row = Math.floor((event.offsetY - gap / 2) / rise);
    const n = row * across + column;
    return column >= 0 && column < across && row >= 0 && n < total ? n : null;
  };
  canvas.addEventListener("pointermove", (event) => {
    const n = under(event);
    if (n === null) return hideTip();
    showTip(event.clientX, event.clientY, where(n).map((p, i) => `${kinds[i][0]} ${kinds[i][1][p]}`).join(" · "));
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("click", (event) => {
    const n = under(event);
    if (n === null) return;
    where(n).forEach((page, i) => { place[i] = page; });
    paint();
    turned();
  });
  redraws.push(paint);
  paint();
  return { paint, element: make("figure", { class: "overview" }, make("figcaption", {}, words.all), canvas) };
}

// --- curves and scatter ---

/** A place for a plot, drawn anew at each width: letters keep their size, lines get shorter. */
function plotted(drawAt) {
  const main = make("div", { class: "main" });
  onResize(main, () => { if (main.clientWidth > 6) main.replaceChildren(drawAt(main.clientWidth - 6)); });
  return main;
}
/** Round numbers for an axis. */
function ticks(low, high, log) {
  if (log) {
    const found = [];
    const powers = Math.log10(high / low), digits = powers > 6 ? [1] : powers > 2 ? [1, 3] : [1, 2, 5];
    for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); p++)
      digits.forEach((m) => found.push(m * 10 ** p));
    return found.filter((v) => v >= low * 0.999 && v <= high * 1.001);
  }
  const rough = (high - low) / 5, unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].find((m) => m * unit >= rough);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step);
  return found;
}
function axis(values, log, from, to) {
  const finite = values.filter((v) => Number.isFinite(v) && (!log || v > 0));
  let low = finite.length ? Infinity : 1, high = finite.length ? -Infinity : 2;
  for (const v of finite) { low = Math.min(low, v); high = Math.max(high, v); }
  if (low === high) { const d = Math.abs(low) / 2 || 1; high += d; low -= log ? d / 2 : d; }
  const of = log ? Math.log : (v) => v, a = of(low), b = of(high), air = (b - a) * 0.04;
  const at = (v) => from + ((of(v) - a + air) / (b - a + 2 * air)) * (to - from);
  return { at, ticks: ticks(low, high, log) };
}
function plot(W, H, x, y, xLabel, yLabel, name) {
  const svg = draw("svg", { viewBox: `0 0 ${W} ${H}`, width: W, height: H, role: "img", "aria-label": name, tabindex: 0 });
  const grid = { stroke: "var(--line)", "stroke-width": 1 };
  const air = Math.ceil((x.ticks.length * 60) / W);
  x.ticks.forEach((v, i) => {
    svg.append(draw("line", { x1: x.at(v), x2: x.at(v), y1: 8, y2: H - 44, ...grid }));
    if (i % air === 0) svg.append(draw("text", { x: x.at(v), y: H - 26, "text-anchor": "middle" }, short(v)));
  });
  y.ticks.forEach((v) => {
    svg.append(draw("line", { x1: 56, x2: W - 8, y1: y.at(v), y2: y.at(v), ...grid }));
    svg.append(draw("text", { x: 48, y: y.at(v) + 4, "text-anchor": "end" }, short(v)));
  });
  svg.append(draw("text", { x: (W + 48) / 2, y: H - 5, "text-anchor": "middle" }, xLabel));
  svg.append(draw("text", { transform: `translate(11 ${(H - 36) / 2}) rotate(-90)`, "text-anchor": "middle" }, yLabel));
  return svg;
}
const key = (names) => names.length < 2 ? null : make("div", { class: "key" }, ...names.map((name, i) =>
  make("span", {}, make("i", { style: `background: ${line(i)}` }), name)));
/** Where in the drawing the pointer is. */
function inside(svg, event) {
  const box = svg.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

function curves(panel) {
  const lines = Object.entries(panel.lines).map(([name, place]) => [name, array(place).values]);
  return [key(lines.map(([name]) => name)), plotted((W) => curvesAt(W, panel, lines))];
}
function curvesAt(W, panel, lines) {
  const H = Math.min(340, Math.max(220, W * 0.6)), xs = array(panel.x).values;
  const x = axis([...xs, ...Object.values(panel.marks)], panel.log_x, 56, W - 8);
  const y = axis(lines.flatMap(([, v]) => [...v]), panel.log_y, H - 44, 8);
  const svg = plot(W, H, x, y, panel.x_label, panel.y_label, panel.title);
  Object.entries(panel.marks).forEach(([name, value]) => {
    svg.append(draw("line", { x1: x.at(value), x2: x.at(value), y1: 8, y2: H - 44, stroke: "var(--faint)", "stroke-dasharray": "4 4" }));
    const end = x.at(value) > W - 150;
    svg.append(draw("text", { x: x.at(value) + (end ? -6 : 6), y: 20, "text-anchor": end ? "end" : "start" }, name));
  });
  const shows = (v) => Number.isFinite(v) && (!panel.log_y || v > 0);
  lines.forEach(([, values], i) => {
    let path = "", pen = "M";
    values.forEach((v, n) => {
      if (!shows(v)) { pen = "M"; return; }
      path += `${pen}${x.at(xs[n]).toFixed(1)} ${y.at(v).toFixed(1)}`;
      pen = "L";
      if (xs.length <= 24) svg.append(draw("circle", { cx: x.at(xs[n]), cy: y.at(v), r: 3, fill: line(i) }));
    });
    const dash = ["none", "7 4", "2 4"][Math.floor(i / 8) % 3];
    svg.append(draw("path", { d: path, fill: "none", stroke: line(i), "stroke-width": 2, "stroke-linejoin": "round", "stroke-dasharray": dash }));
  });
  const marker = draw("g");
  svg.append(marker);
  let at = null;
  function point(n) {
    at = n;
    const box = svg.getBoundingClientRect(), middle = x.at(xs[n]);
    marker.replaceChildren(draw("line", { x1: middle, x2: middle, y1: 8, y2: H - 44, stroke: "var(--ink)" }),
      ...lines.map(([, v], i) => shows(v[n]) ? draw("circle", { cx: middle, cy: y.at(v[n]), r: 4.5, fill: line(i), stroke: "var(--paper)", "stroke-width": 2 }) : "").filter(Boolean));
    showTip(box.left + middle, box.top + 90, `${panel.x_label} ${exactly(xs[n])}`,
      ...lines.map(([name, v], i) => make("div", {}, make("i", { style: `background: ${line(i)}` }), `${name} ${exactly(v[n])}`)));
  }
  const leave = () => { at = null; marker.replaceChildren(); hideTip(); };
  svg.addEventListener("pointermove", (event) => {
    const [px] = inside(svg, event);
    let best = 0;
    xs.forEach((v, n) => { if (Math.abs(x.at(v) - px) < Math.abs(x.at(xs[best]) - px)) best = n; });
    point(best);
  });
  svg.addEventListener("pointerleave", leave);
  svg.addEventListener("blur", leave);
  svg.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move) return;
    event.preventDefault();
    point(Math.min(xs.length - 1, Math.max(0, at === null ? 0 : at + move)));
  });
  return svg;
}

function scatter(panel) {
  const groups = [...new Set(panel.groups)];
  return [key(groups), plotted((W) => scatterAt(W, panel, groups))];
}
function scatterAt(W, panel, groups) {
  const H = Math.min(520, W), { values } = array(panel.points);
  const points = panel.names.map((name, i) => ({ name, group: panel.groups[i], a: values[2 * i], b: values[2 * i + 1] }));
  const x = axis(points.map((p) => p.a), false, 56, W - 8), y = axis(points.map((p) => p.b), false, H - 44, 8);
  const svg = plot(W, H, x, y, panel.x_label, panel.y_label, panel.title);
  points.forEach((p) => {
    const fill = line(groups.indexOf(p.group));
    svg.append(draw("circle", { cx: x.at(p.a), cy: y.at(p.b), r: points.length > 400 ? 2.5 : 4, fill, "fill-opacity": 0.85 }));
  });
  if (points.length <= 150) points.forEach((p) =>
    svg.append(draw("text", { class: "name", x: x.at(p.a) + 6, y: y.at(p.b) - 4, lang: tokenLang(p.name) }, p.name)));
  const ring = draw("circle", { r: 8, fill: "none", stroke: "var(--ink)", "stroke-width": 2, visibility: "hidden" });
  svg.append(ring);
  let at = null;
  const leave = () => { at = null; ring.setAttribute("visibility", "hidden"); hideTip(); };
  function point(i) {
    const p = points[(at = i)], box = svg.getBoundingClientRect();
    Object.entries({ cx: x.at(p.a), cy: y.at(p.b), visibility: "visible" }).forEach(([n, v]) => ring.setAttribute(n, v));
    showTip(box.left + x.at(p.a), box.top + y.at(p.b), p.name,
      groups.length > 1 ? p.group : "", `${panel.x_label || "x"} ${exactly(p.a)}`, `${panel.y_label || "y"} ${exactly(p.b)}`);
  }
  svg.addEventListener("pointermove", (event) => {
    const [px, py] = inside(svg, event);
    const far = (p) => Math.hypot(x.at(p.a) - px, y.at(p.b) - py);
    const nearest = points.reduce((best, p, i) => (best < 0 || far(p) < far(points[best]) ? i : best), -1);
    if (nearest >= 0 && far(points[nearest]) < 40) point(nearest);
    else leave();
  });
  svg.addEventListener("pointerleave", leave);
  svg.addEventListener("blur", leave);
  svg.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move || !points.length) return;
    event.preventDefault();
    point(at === null ? 0 : (at + move + points.length) % points.length);
  });
  return svg;
}

// --- strips, bars, tables, steps ---

function strip(panel, id) {
  const place = (chosen[id] ??= Object.keys(panel.pages).map((_, i) => panel.page[i] ?? 0));
  const element = make("div", { class: "strip", role: "list", "aria-label": panel.title });
  function paint() {
    const { values } = pageOf(panel, place);
    element.replaceChildren(...panel.tokens.flatMap((token, i) => {
      const c = Number.isFinite(values[i]) ? colour(panel, values[i]) : null;
      const look = c ? `background: ${rgb(c)}; color: ${inkOn(c)}` : "";
      const cell = make("span", { role: "listitem", tabindex: 0 }, make("b", { style: look, lang: tokenLang(token) }, token),
        panel.below.length ? make("small", {}, panel.below[i]) : null);
      const show = () => {
        const box = cell.getBoundingClientRect();
        showTip(box.left + box.width / 2 - 16, box.top, withUnit(values[i], panel.unit), token, panel.below[i] ?? "");
      };
      ["pointerenter", "focus"].forEach((event) => cell.addEventListener(event, show));
      ["pointerleave", "blur"].forEach((event) => cell.addEventListener(event, hideTip));
      return token === "↵" ? [cell, make("hr", { "aria-hidden": "true" })] : [cell];
    }));
  }
  redraws.push(paint);
  paint();
  return [turner(panel, id, place, paint), element];
}

function bars(panel, id) {
  const place = (chosen[id] ??= Object.keys(panel.pages).map((_, i) => panel.page[i] ?? 0));
  const beside = Object.entries(panel.beside).map(([name, at]) => [name, array(at).values]);
  const element = make("div", { class: "bars" });
  function paint() {
    const kinds = [[panel.unit, pageOf(panel, place).values], ...beside];
    const finite = [...array(panel.values).values, ...beside.flatMap(([, v]) => [...v])].filter(Number.isFinite);
    const low = finite.reduce((a, b) => Math.min(a, b), 0), high = finite.reduce((a, b) => Math.max(a, b), 0);
    element.classList.toggle("both", low < 0);
    const at = (v) => (100 * (v - low)) / (high - low || 1);
    element.replaceChildren(...panel.names.flatMap((name, i) => [
      make("span", { class: "of", lang: tokenLang(name) }, name),
      make("span", { class: "track" }, ...kinds.map(([kind, values], k) => {
        const v = values[i];
        if (!Number.isFinite(v)) return make("span", { class: "one" });
        const [from, to] = [at(Math.min(0, v)), at(Math.max(0, v))];
        const number = v < 0 ? `right: ${100 - from}%` : `left: ${to}%`;
        return make("span", { class: "one",
          onpointermove: (event) => showTip(event.clientX, event.clientY, withUnit(v, k || beside.length ? "" : panel.unit), name, kinds.length > 1 ? kind : ""),
          onpointerleave: hideTip },
          make("i", { style: `left: ${from}%; width: ${to - from}%; background: ${line(k)}` }), make("em", { style: number }, short(v)));
      })),
    ]));
  }
  paint();
  const unit = panel.unit && !beside.length ? make("div", { class: "key" }, make("span", { class: "measured" }, panel.unit)) : null;
  return [turner(panel, id, place, paint), unit ?? key([panel.unit, ...beside.map(([name]) => name)]),
    make("div", { class: "scroll", tabindex: panel.names.length > 25 ? 0 : undefined }, element)];
}

function tableOf(panel) {
  const numeric = panel.columns.map((_, i) => panel.rows.some((row) => typeof row[i] === "number")
    && panel.rows.every((row) => typeof row[i] !== "string"));
  const shown = (cell) => (typeof cell === "boolean" ? (cell ? "✓" : "✗") : typeof cell === "string" ? cell : short(cell));
  const cell = (tag, value, i) => make(tag, { class: numeric[i] ? "n" : undefined, scope: tag === "th" ? "col" : undefined,
    title: typeof value === "number" ? exactly(value) : undefined, lang: tokenLang(String(value)) && tag === "td" ? "zh" : undefined }, shown(value));
  return [make("div", { class: "scroll", tabindex: panel.rows.length > 15 ? 0 : undefined }, make("table", {},
    make("thead", {}, make("tr", {}, ...panel.columns.map((name, i) => cell("th", name, i)))),
    make("tbody", {}, ...panel.rows.map((row) => make("tr", {}, ...row.map((value, i) => cell("td", value, i)))))))];
}

function steps(panel) {
  return [make("ol", { class: "steps" }, ...panel.steps.map((step) => make("li", {}, make("div", {},
    make("header", {}, make("h4", { style: "margin: 0; font-weight: 600" }, step.name),
      make("span", { class: "shape" }, `${step.letters} = [${step.shape.join(", ")}]`)),
    step.code ? make("pre", { tabindex: 0 }, make("code", {}, step.code)) : null, step.note ? make("p", {}, step.note) : null))))];
}

// --- the page ---

const drawers = { matrix, curves, bars, scatter, strip, table: tableOf, steps };
const marks = { true: "✓", false: "✗", null: "?" };

function panelOf(panel, id) {
  const scale = panel.scale && panel.limits ? make("div", { class: "legend" }, short(panel.limits[0]),
    make("i", { style: `background: linear-gradient(90deg, ${data.ramps[theme][panel.scale].join(", ")})` }),
    short(panel.limits[1]) + (panel.unit ? " " + panel.unit : "")) : null;
  if (scale) redraws.push(() => { scale.querySelector("i").style.background = `linear-gradient(90deg, ${data.ramps[theme][panel.scale].join(", ")})`; });
  return make("section", { class: "panel", "data-kind": panel.kind },
    make("div", { class: "head" }, make("h3", {}, panel.title), scale), ...drawers[panel.kind](panel, id));
}

function exhibitOf(exhibit, alone, e) {
  const said = (holds) => words[holds === null ? "open" : holds ? "holds" : "fails"];
  return make("article", { class: "exhibit", id: exhibit.name },
    make(alone ? "h1" : "h2", {}, exhibit.title), make("p", { class: "see" }, exhibit.see),
    exhibit.verdicts.length ? make("ul", { class: "verdicts" }, ...exhibit.verdicts.map((verdict) => make("li", {},
      make("span", { class: `mark ${verdict.holds}`, title: said(verdict.holds), "aria-hidden": "true" }, marks[verdict.holds]),
      make("span", {}, make("span", { class: "hidden" }, said(verdict.holds) + ": "), verdict.claim,
        make("span", { class: "measured" }, verdict.measured))))) : null,
    ...exhibit.panels.map((panel, p) => panelOf(panel, `${e}-${p}`)),
    exhibit.notes.length ? make("ul", { class: "notes" }, ...exhibit.notes.map((note) => make("li", {}, note))) : null);
}

const watcher = new ResizeObserver((entries) => entries.forEach((entry) => entry.target.paint()));
function onResize(element, paint) {
  element.paint = paint;
  redraws.push(paint);
  watcher.observe(element);
}

function contents(exhibits) {
  return make("nav", { "aria-label": words.contents }, make("h2", {}, words.contents), make("ol", {}, ...exhibits.map((exhibit) =>
    make("li", {}, make("a", { href: "#" + exhibit.name }, exhibit.title, make("span", { class: "marks" }, ...exhibit.verdicts.map((verdict) =>
      make("span", { class: `mark ${verdict.holds}`, "aria-hidden": "true" }, marks[verdict.holds]))))))));
}

function build() {
  const { lang, words: own, exhibits } = data.languages[language];
  words = own;
  redraws = [];
  watcher.disconnect();
  hideTip();
  document.documentElement.lang = lang;
  const many = exhibits.length > 1;
  document.title = many ? words.title : exhibits[0].title;
  app.className = many ? "many" : "";
  const others = Object.keys(data.languages).filter((l) => l !== language);
  const themes = make("button", { type: "button", id: "theme", onclick: () => { keep("theme", theme === "dark" ? "light" : "dark"); dress(); } });
  redraws.push(() => { themes.textContent = theme === "dark" ? words.light : words.dark; });
  themes.textContent = theme === "dark" ? words.light : words.dark;
  app.replaceChildren(
    make("div", { class: "bar" }, ...others.map((other) => make("button", { type: "button", id: "language", lang: data.languages[other].lang,
      onclick: () => { keep("language", other); speak(other); } }, { en: "English", zh: "中文" }[other])), themes),
    ...(many ? [make("header", { class: "front" }, make("h1", {}, words.title), make("p", {}, words.brief)), contents(exhibits)] : []),
    make("main", {}, ...exhibits.map((exhibit, e) => exhibitOf(exhibit, !many, e))), tip);
}

/** The other language, with the same exhibit at the same height of the window. */
function speak(other) {
  const top = (article) => article.getBoundingClientRect().top;
  const seen = [...document.querySelectorAll("article")].filter((a) => top(a) < innerHeight / 2).pop();
  const before = seen ? top(seen) : 0;
  language = other;
  build();
  if (seen) scrollTo({ top: scrollY + top(document.getElementById(seen.id)) - before, behavior: "instant" });
  document.getElementById("language")?.focus({ preventScroll: true });
}

// Choices outlive the page where the browser lets them, else they last as long as it.
const memory = {};
function kept(name) {
  try { return memory[name] ?? localStorage.getItem("mingyue-" + name); } catch { return null; }
}
function keep(name, value) {
  memory[name] = value;
  try { localStorage.setItem("mingyue-" + name, value); } catch { /* not allowed here */ }
}

const night = matchMedia("(prefers-color-scheme: dark)");
/** Put on the theme that was chosen, else the system's; on paper always the light one. */
function dress(forced) {
  theme = forced ?? kept("theme") ?? (night.matches ? "dark" : "light");
  document.documentElement.dataset.theme = theme;
  redraws.forEach((redraw) => redraw());
}
night.addEventListener("change", () => dress());
addEventListener("beforeprint", () => dress("light"));
addEventListener("afterprint", () => dress());

const wished = kept("language") ?? (navigator.language.startsWith("zh") ? "zh" : "en");
language = wished in data.languages ? wished : Object.keys(data.languages)[0];
dress();
build();
if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
