// Turning a panel's pages: a choice for each kind of page, and all pages at once as stamps.

/** The choices; null if there is one page only. `show` brings them in line with `place`. */
function turner(panel, id, place, turned) {
  const kinds = Object.entries(panel.pages);
  const parts = kinds.map(([name, labels], i) => {
    const choose = (page) => { place[i] = page; turned(); };
    if (labels.length < 2) return null;
    const few = labels.length <= 12 && labels.join("").length <= 48;
    const set = make("fieldset", {}, make("legend", {}, named(name)));
    if (few) chips(set, `${id}-${i}`, name, labels, choose);
    else slider(set, name, labels, choose);
    return { set, show: () => set.show(place[i]) };
  }).filter(Boolean);
  if (!parts.length) return null;
  const element = make("div", { class: "pages" }, ...parts.map(({ set }) => set));
  element.show = () => parts.forEach((part) => part.show());
  element.show();
  return element;
}
/** What a kind of page is called in the page's language. */
const named = (name) => names[name] ?? name;

function chips(set, group, name, labels, choose) {
  const inputs = labels.map((label, page) => make("input", { type: "radio", name: group,
    value: page, "aria-label": `${named(name)} ${label}`, onchange: () => choose(page) }));
  set.append(make("span", { class: "chips" }, ...inputs.map((input, page) =>
    make("label", {}, input, make("span", {}, labels[page])))));
  set.show = (page) => { inputs[page].checked = true; };
}

function slider(set, name, labels, choose) {
  const range = make("input", { type: "range", min: 0, max: labels.length - 1,
    "aria-label": named(name), oninput: () => { set.show(+range.value); choose(+range.value); } });
  const shown = make("output");
  set.append(range, shown);
  set.show = (page) => {
    range.value = page;
    shown.textContent = labels[page];
    range.setAttribute("aria-valuetext", labels[page]);
  };
}

/** All pages as stamps, the last dimension across; one is chosen by pointing at it. */
function overview(panel, place, turned) {
  const kinds = Object.entries(panel.pages), sizes = kinds.map(([, labels]) => labels.length);
  const total = sizes.reduce((a, b) => a * b, 1);
  if (total > 400) return null;
  const across = sizes.length > 1 ? sizes.at(-1) : Math.ceil(Math.sqrt(total));
  const down = Math.ceil(total / across);
  const canvas = make("canvas", { "aria-hidden": "true" });
  const room = Math.floor(300 / Math.max(across, Math.min(down, across * 2)));
  const stamp = Math.max(16, Math.min(64, room)), gap = stamp > 30 ? 4 : 3, step = stamp + gap;
  const [rows, columns] = pageOf(panel, []).shape;
  const high = Math.max(12, Math.min(stamp, (stamp * rows) / columns)), rise = high + gap;
  let pictures = null, of = null;

  /** The place of the n-th stamp, an index for each kind of page. */
  function where(n) {
    const found = [];
    for (const size of [...sizes].reverse()) {
      found.unshift(n % size);
      n = Math.floor(n / size);
    }
    return found;
  }
  function paint() {
    const pen = sized(canvas, across * step + gap, down * rise + gap);
    if (of !== theme) {
      pictures = Array.from({ length: total }, (_, n) => dots(panel, pageOf(panel, where(n))));
      of = theme;
    }
    const current = sizes.reduce((sum, n, i) => sum * n + place[i], 0);
    pictures.forEach((picture, n) => {
      const x = gap + (n % across) * step, y = gap + Math.floor(n / across) * rise;
      pen.fillStyle = css("card");
      pen.fillRect(x, y, stamp, high);
      pen.imageSmoothingEnabled = columns > stamp; // large cells stay cells
      pen.drawImage(picture, x, y, stamp, high);
      if (n !== current) return;
      pen.strokeStyle = css("ink");
      pen.lineWidth = 2;
      pen.strokeRect(x - 1, y - 1, stamp + 2, high + 2);
    });
  }
  function under(event) {
    const column = Math.floor((event.offsetX - gap / 2) / step);
    const row = Math.floor((event.offsetY - gap / 2) / rise), n = row * across + column;
    return column >= 0 && column < across && row >= 0 && n < total ? n : null;
  }
  canvas.addEventListener("pointermove", (event) => {
    const n = under(event);
    if (n === null) return hideTip();
    const open = where(n).map((p, i) => `${named(kinds[i][0])} ${kinds[i][1][p]}`);
    showTip(event.clientX, event.clientY, open.join(" · "));
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
  const caption = make("figcaption", {}, words.all);
  return { paint, element: make("figure", { class: "overview" }, caption, canvas) };
}
