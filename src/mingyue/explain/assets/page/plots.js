// What curves and scatter share: axes, the paper with its lines, a key, and a point to step along.

/** A place for a plot, drawn anew at each width: letters keep their size, lines get shorter. */
function plotted(drawAt) {
  const main = make("div", { class: "main" });
  onResize(main, () => {
    if (main.clientWidth > 6) main.replaceChildren(drawAt(main.clientWidth - 6));
  });
  return main;
}

/** Round numbers for an axis. */
function ticks(low, high, log) {
  const found = [];
  if (log) {
    const powers = Math.log10(high / low);
    const digits = powers > 6 ? [1] : powers > 2 ? [1, 3] : [1, 2, 5];
    for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); p++)
      digits.forEach((m) => found.push(m * 10 ** p));
    return found.filter((v) => v >= low * 0.999 && v <= high * 1.001);
  }
  const rough = (high - low) / 5, unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].find((m) => m * unit >= rough);
  const last = high + step * 1e-9;
  for (let i = Math.ceil(low / step - 1e-9); i * step <= last; i++) found.push(i * step);
  return found;
}

/** Where values go between `from` and `to`, with a little air at both ends. */
function axis(values, log, from, to) {
  const finite = values.filter((v) => Number.isFinite(v) && (!log || v > 0));
  let low = finite.length ? Infinity : 1, high = finite.length ? -Infinity : 2;
  for (const v of finite) { low = Math.min(low, v); high = Math.max(high, v); }
  if (low === high) {
    const d = Math.abs(low) / 2 || 1;
    high += d;
    low -= log ? d / 2 : d;
  }
  const of = log ? Math.log : (v) => v, a = of(low), b = of(high), air = (b - a) * 0.04;
  const at = (v) => from + ((of(v) - a + air) / (b - a + 2 * air)) * (to - from);
  return { at, ticks: ticks(low, high, log) };
}

const LEFT = 64, RIGHT = 8, TOP = 28, BELOW = 44; // around the lines

/** Both axes of a plot W × H. */
function axesOf(W, H, xs, logX, ys, logY) {
  return [axis(xs, logX, LEFT, W - RIGHT), axis(ys, logY, H - BELOW, TOP)];
}

/** The paper: grid, ticks, labels. */
function plot(W, H, x, y, panel) {
  const svg = draw("svg", { viewBox: `0 0 ${W} ${H}`, width: W, height: H, role: "img",
    "aria-label": panel.title, tabindex: 0 });
  const text = (words, place) =>
    svg.append(draw("text", { "text-anchor": "middle", ...place }, words));
  const every = Math.ceil((x.ticks.length * 60) / W);
  x.ticks.forEach((v, i) => {
    svg.append(upright(x.at(v), H, { stroke: "var(--line)" }));
    if (i % every === 0) text(short(v), { x: x.at(v), y: H - 26 });
  });
  y.ticks.forEach((v) => {
    const flat = { x1: LEFT, x2: W - RIGHT, y1: y.at(v), y2: y.at(v), stroke: "var(--line)" };
    svg.append(draw("line", flat));
    text(short(v), { x: LEFT - 8, y: y.at(v) + 4, "text-anchor": "end" });
  });
  text(panel.x_label, { x: (W + LEFT - RIGHT) / 2, y: H - 5 });
  text(panel.y_label, { x: 0, y: 14, "text-anchor": "start" }); // above: there is room for words
  return svg;
}
/** A line from the top of a plot to its bottom. */
const upright = (x, H, look) => draw("line", { x1: x, x2: x, y1: TOP, y2: H - BELOW, ...look });

const dot = (i) => make("i", { style: `background: ${line(i)}` });
/** Which colour is what; nothing to say if there is only one. */
function key(names) {
  if (names.length < 2) return null;
  return make("div", { class: "key" }, ...names.map((name, i) => make("span", {}, dot(i), name)));
}

/** Points 0 … n − 1 told to the pointer and to the arrow keys.
 *  `nearest` gives the one under the pointer, or null; `show` draws and tells it, `hide` not. */
function pointed(svg, n, { nearest, show, hide }) {
  let at = null;
  const point = (i) => { at = i; show(i); };
  const leave = () => { at = null; hide(); hideTip(); };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const i = nearest(event.clientX - box.left, event.clientY - box.top);
    if (i === null) leave();
    else point(i);
  });
  listen(svg, "pointerleave blur", leave);
  svg.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape") leave();
    if (!move || !n) return;
    event.preventDefault();
    point(at === null ? 0 : within(at + move, n));
  });
  return svg;
}
/** The index of the least of `n` distances; null if there is none. */
function least(n, distance) {
  let best = null;
  for (let i = 0; i < n; i++) if (best === null || distance(i) < distance(best)) best = i;
  return best;
}
