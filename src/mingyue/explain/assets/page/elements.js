// Making elements, numbers as words, and drawing anew what a change of theme or width changes.

/** An element; children are elements or text, never markup. */
function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}
const svgSpace = new DOMParser().parseFromString("<svg></svg>", "text/html")
  .querySelector("svg").namespaceURI;
function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(svgSpace, tag), attributes, children);
}
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}
/** One listener for several kinds of event. */
function listen(element, kinds, listener) {
  kinds.split(" ").forEach((kind) => element.addEventListener(kind, listener));
}
function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}
const line = (i) => `var(--line-${i % 8})`;
/** Chinese tokens get Chinese shapes of their characters, whatever the page's language. */
const tokenLang = (text) => (/[\u3400-\u9fff]/.test(text) ? "zh" : undefined);
const within = (i, n) => Math.min(n - 1, Math.max(0, i));

// --- numbers as words ---

/** In few signs, as numbers.py has them; `exactly` as stored, to nine digits. */
function short(value) {
  if (value === null || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size >= 1e9 || (size > 0 && size < 1e-3)) return sign(value.toExponential(1).replace("+", ""));
  if (size >= 9999.5) return sign(Math.round(value).toLocaleString("en-US"));
  return sign(String(+value.toPrecision(4)));
}
function exactly(value) {
  return Number.isFinite(value) ? sign(String(+value.toPrecision(9))) : short(value);
}
const sign = (text) => text.replace(/-/g, "−");
const withUnit = (value, unit) => exactly(value) + (unit ? " " + unit : "");

// --- drawing anew ---

let redraws = []; // what to call when the theme changes
const watcher = new ResizeObserver((entries) => entries.forEach(({ target }) => {
  if (target.clientWidth !== target.drawnAt) repaint(target);
}));
/** `paint` now and then: when the element gets another width, and when the theme changes. */
function onResize(element, paint) {
  element.paint = paint;
  redraws.push(() => repaint(element));
  watcher.observe(element);
}
function repaint(element) { // what it draws may change its height, which is no reason to redraw
  element.drawnAt = element.clientWidth;
  element.paint();
}
