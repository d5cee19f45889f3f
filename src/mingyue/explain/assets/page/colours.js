// Numbers as colours. A drawing asks anew each time, so that a change of theme is a redraw.

function share(value, [low, high]) {
  return Math.min(1, Math.max(0, (value - low) / (high - low)));
}
const tables = {};
/** The ramp as 256 colours [r, g, b], blended from those in the data. */
function table(scale) {
  return (tables[theme + scale] ??= blended(data.ramps[theme][scale]));
}
function blended(hexes) {
  const stops = hexes.map((hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)));
  return Array.from({ length: 256 }, (_, i) => {
    const at = (i / 255) * (stops.length - 1), left = Math.min(Math.floor(at), stops.length - 2);
    return stops[left].map((c, k) => Math.round(c + (at - left) * (stops[left + 1][k] - c)));
  });
}
const colour = (panel, value) => table(panel.scale)[Math.round(255 * share(value, panel.limits))];
const rgb = (c) => `rgb(${c.join(" ")})`;
const inkOn = ([r, g, b]) => (0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#1b1d22" : "#fbfaf6");

/** The ramp of a panel between the numbers at its ends. */
function legend(panel) {
  const ramp = make("i");
  const paint = () => {
    ramp.style.background = `linear-gradient(90deg, ${data.ramps[theme][panel.scale].join(", ")})`;
  };
  redraws.push(paint);
  paint();
  const [low, high] = panel.limits;
  const most = short(high) + (panel.unit ? " " + panel.unit : "");
  return make("div", { class: "legend" }, short(low), ramp, most);
}
