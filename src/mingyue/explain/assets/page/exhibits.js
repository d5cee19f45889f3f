// An exhibit: title, claim, verdicts, panels, notes; and the table of contents of many.

const drawers = { matrix, curves, bars, scatter, strip, table: tableOf, steps };
const signs = { true: "✓", false: "✗", null: "?" };

function panelOf(panel, id) {
  return make("section", { class: "panel", "data-kind": panel.kind },
    make("div", { class: "head" }, make("h3", {}, panel.title),
      panel.limits ? legend(panel) : null),
    ...drawers[panel.kind](panel, id));
}

function verdictOf({ holds, claim, measured }) {
  const said = words[holds === null ? "open" : holds ? "holds" : "fails"];
  return make("li", {},
    make("span", { class: `mark ${holds}`, title: said, "aria-hidden": "true" }, signs[holds]),
    make("span", {}, make("span", { class: "hidden" }, said + ": "), claim,
      make("span", { class: "measured" }, measured)));
}

function exhibitOf(exhibit, alone, e) {
  const { verdicts, notes } = exhibit;
  return make("article", { class: "exhibit", id: exhibit.name },
    make(alone ? "h1" : "h2", {}, exhibit.title), make("p", { class: "see" }, exhibit.see),
    verdicts.length ? make("ul", { class: "verdicts" }, ...verdicts.map(verdictOf)) : null,
    ...exhibit.panels.map((panel, p) => panelOf(panel, `${e}-${p}`)),
    notes.length
      ? make("ul", { class: "notes" }, ...notes.map((note) => make("li", {}, note))) : null);
}

function contents(exhibits) {
  const mark = ({ holds }) =>
    make("span", { class: `mark ${holds}`, "aria-hidden": "true" }, signs[holds]);
  const entry = ({ name, title, verdicts }) => make("li", {}, make("a", { href: "#" + name },
    title + "  ", make("span", { class: "marks" }, ...verdicts.map(mark))));
  return make("nav", { "aria-label": words.contents },
    make("h2", {}, words.contents), make("ol", {}, ...exhibits.map(entry)));
}
