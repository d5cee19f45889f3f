// A matrix that tells its numbers to the mouse and the arrow keys, and turns its pages.

function matrix(panel, id) {
  const place = placeOf(panel, id);
  const canvas = make("canvas", { tabindex: 0, role: "img",
    "aria-label": `${panel.title}. ${words.keys}` });
  const main = make("div", { class: "main" }, canvas);
  const turn = turner(panel, id, place, () => { paint(); map?.paint(); });
  const map = turn && overview(panel, place, () => { turn.show(); paint(); });
  let page, grid, at = null; // what is drawn, where its cells are, the cell pointed at

  function paint() {
    page = pageOf(panel, place);
    const room = main.clientWidth - 6;
    if (room <= 0) return;
    grid = layout(panel, page.shape, room);
    drawMatrix(sized(canvas, grid.width, grid.height), panel, page, grid, at);
  }
  function point(row, column) {
    at = [row, column];
    drawMatrix(canvas.getContext("2d"), panel, page, grid, at);
    const value = page.values[row * grid.columns + column], box = canvas.getBoundingClientRect();
    const name = (label, what) => (label ? label + " " : "") + what;
    const said = Number.isFinite(value) ? withUnit(value, panel.unit)
      : `${short(value)} (${words.empty})`;
    showTip(box.left + grid.left + (column + 1) * grid.wide, box.top + grid.top + row * grid.tall,
      said, `${name(panel.row_label, panel.rows[row])}  →  ` +
      name(panel.column_label, panel.columns[column]));
  }
  function leave() {
    if (at) { at = null; paint(); }
    hideTip();
  }
  function over(event) {
    const column = Math.floor((event.offsetX - grid.left) / grid.wide);
    const row = Math.floor((event.offsetY - grid.top) / grid.tall);
    if (row < 0 || column < 0 || row >= grid.rows || column >= grid.columns) leave();
    else point(row, column);
  }
  listen(canvas, "pointermove pointerdown", over);
  listen(canvas, "pointerleave blur", leave);
  canvas.addEventListener("keydown", (event) => {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const move = moves[event.key];
    if (event.key === "Escape") leave();
    if (!move) return;
    event.preventDefault();
    const [row, column] = at ? [at[0] + move[0], at[1] + move[1]] : [0, 0];
    point(within(row, grid.rows), within(column, grid.columns));
  });
  onResize(main, paint);
  return [turn, make("div", { class: "side" }, main, map?.element)];
}
