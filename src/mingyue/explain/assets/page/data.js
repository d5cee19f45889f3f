// What stands in the page as JSON, and what is chosen. Words, colours and numbers come from there.

const data = JSON.parse(document.getElementById("data").textContent);
const arrays = data.arrays.map(unpack);
const chosen = {}; // the page each panel shows, kept when the language changes
let language, theme, words, names; // names: of kinds of pages, in the language

function unpack({ kind, shape, bytes }) {
  const letters = atob(bytes), raw = new Uint8Array(letters.length);
  for (let i = 0; i < raw.length; i++) raw[i] = letters.charCodeAt(i);
  const Numbers = kind === "<f4" ? Float32Array : Float64Array;
  return { shape, values: new Numbers(raw.buffer) };
}
const array = (place) => arrays[place.array];

/** The open page of a panel, an index for each kind of page; turning it changes the list. */
function placeOf(panel, id) {
  const kinds = Object.values(panel.pages), kept = chosen[id];
  if (kept?.length === kinds.length && kinds.every((labels, i) => kept[i] < labels.length))
    return kept;
  return (chosen[id] = kinds.map((_, i) => panel.page[i] ?? 0));
}

/** Numbers of a panel, and of the same one at other steps, by which its axes are laid out. */
const everywhere = (panel, numbers) => (panel.fellows ?? [panel]).flatMap(numbers);

/** The numbers of one page, and their shape. */
function pageOf(panel, place) {
  const { shape, values } = array(panel.values);
  const sizes = Object.values(panel.pages).map((labels) => labels.length);
  const inner = shape.slice(sizes.length), size = inner.reduce((a, b) => a * b, 1);
  const number = sizes.reduce((sum, n, i) => sum * n + (place[i] ?? 0), 0);
  return { shape: inner, values: values.subarray(number * size, (number + 1) * size) };
}
