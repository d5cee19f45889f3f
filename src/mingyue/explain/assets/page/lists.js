// Things in a row or beneath each other: a strip of tokens, bars, a table, steps.

function strip(panel, id) {
  const place = placeOf(panel, id);
  const element = make("div", { class: "strip", role: "list", "aria-label": panel.title });
  function token(text, value, below) {
    const c = Number.isFinite(value) ? colour(panel, value) : null;
    const look = c ? `background: ${rgb(c)}; color: ${inkOn(c)}` : "";
    const cell = make("span", { role: "listitem", tabindex: 0 },
      make("b", { style: look, lang: tokenLang(text) }, text),
      below === undefined ? null : make("small", {}, below));
    listen(cell, "pointerenter focus", () => {
      const box = cell.getBoundingClientRect();
      const middle = box.left + box.width / 2 - 16;
      showTip(middle, box.top, withUnit(value, panel.unit), text, below ?? "");
    });
    listen(cell, "pointerleave blur", hideTip);
    return text === "↵" ? [cell, make("hr", { "aria-hidden": "true" })] : [cell];
  }
  function paint() {
    const { values } = pageOf(panel, place);
    element.replaceChildren(...panel.tokens.flatMap((t, i) => token(t, values[i], panel.below[i])));
  }
  redraws.push(paint);
  paint();
  return [turner(panel, id, place, paint), element];
}

function bars(panel, id) {
  const place = placeOf(panel, id);
  const beside = Object.entries(panel.beside).map(([name, at]) => [name, array(at).values]);
  const every = everywhere(panel, (p) => [p.values, ...Object.values(p.beside)]);
  const finite = every.flatMap((place) => [...array(place).values]).filter(Number.isFinite);
  const low = finite.reduce((a, b) => Math.min(a, b), 0);
  const high = finite.reduce((a, b) => Math.max(a, b), 0);
  const at = (v) => (100 * (v - low)) / (high - low || 1);
  const element = make("div", { class: low < 0 ? "bars both" : "bars" });

  function bar(value, colour, ...said) {
    if (!Number.isFinite(value)) return make("span", { class: "one" });
    const from = at(Math.min(0, value)), to = at(Math.max(0, value));
    const number = value < 0 ? `right: ${100 - from}%` : `left: ${to}%`;
    const long = `left: ${from}%; width: ${to - from}%; background: ${colour}`;
    return make("span", { class: "one", onpointerleave: hideTip,
      onpointermove: (event) => showTip(event.clientX, event.clientY, ...said) },
      make("i", { style: long }), make("em", { style: number }, short(value)));
  }
  function paint() {
    const kinds = [[panel.unit, pageOf(panel, place).values], ...beside];
    element.replaceChildren(...panel.names.flatMap((name, i) => [
      make("span", { class: "of", lang: tokenLang(name) }, name),
      make("span", { class: "track" }, ...kinds.map(([kind, values], k) => kinds.length > 1
        ? bar(values[i], line(k), exactly(values[i]), name, kind)
        : bar(values[i], line(k), withUnit(values[i], panel.unit), name))),
    ]));
  }
  paint();
  const unit = make("div", { class: "key" }, make("span", { class: "measured" }, panel.unit));
  const colours = beside.length ? key([panel.unit, ...beside.map(([name]) => name)])
    : panel.unit ? unit : null;
  return [turner(panel, id, place, paint), colours, scrolled(element, panel.names.length > 25)];
}

function tableOf(panel) {
  const numeric = panel.columns.map((_, i) => panel.rows.some((row) => typeof row[i] === "number")
    && panel.rows.every((row) => typeof row[i] !== "string"));
  const shown = (value) => typeof value === "boolean" ? (value ? "✓" : "✗")
    : typeof value === "string" ? value : short(value);
  const long = panel.columns.map((_, i) => panel.rows.some((row) => shown(row[i]).length > 28));
  const kinds = panel.columns.map((_, i) => numeric[i] ? "n" : long[i] ? "long" : undefined);
  const head = (name, i) => make("th", { scope: "col", class: kinds[i] }, name);
  const cell = (value, i) => make("td", { class: kinds[i],
    title: typeof value === "number" ? exactly(value) : undefined,
    lang: tokenLang(String(value)) }, shown(value));
  return [scrolled(make("table", {},
    make("thead", {}, make("tr", {}, ...panel.columns.map(head))),
    make("tbody", {}, ...panel.rows.map((row) => make("tr", {}, ...row.map(cell))))),
    panel.rows.length > 20)];
}

/** What may be wider than the window, and is kept low where it has very many rows. */
function scrolled(element, many) {
  const low = many ? { class: "scroll low", tabindex: 0 } : { class: "scroll" };
  return make("div", low, element);
}

function steps(panel) {
  const step = ({ name, letters, shape, code, note }) => make("li", {}, make("div", {},
    make("header", {}, make("h4", {}, name),
      make("span", { class: "shape" }, `${letters} = [${shape.join(", ")}]`)),
    code ? make("pre", { tabindex: 0 }, make("code", {}, code)) : null,
    note ? make("p", {}, note) : null));
  return [make("ol", { class: "steps" }, ...panel.steps.map(step))];
}
