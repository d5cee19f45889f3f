// The cells of a matrix on a canvas: where they are, and their colours, numbers and names.

/** A canvas of that size in CSS pixels, sharp on every screen; its pen. */
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
  const pen = picture.getContext("2d");
  const image = pen.createImageData(picture.width, picture.height);
  for (let i = 0; i < values.length; i++) {
    if (!Number.isFinite(values[i])) continue;
    const c = colour(panel, values[i]);
    for (let k = 0; k < 3; k++) image.data[4 * i + k] = c[k];
    image.data[4 * i + 3] = 255;
  }
  pen.putImageData(image, 0, 0);
  return picture;
}

/** Sizes in CSS pixels: a gutter for the rows' names, a head for the columns', and cells, square
 *  unless a few rows of many columns would be too flat to read. */
function layout(panel, [rows, columns], room) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = "13px " + css("sans");
  const longest = (labels) =>
    labels.reduce((most, label) => Math.max(most, pen.measureText(label).width), 0);
  const left = Math.min(longest(panel.rows) + 10, room / 3) + (panel.row_label ? 22 : 0);
  const wide = Math.max(3, Math.min(48, (room - left - 2) / columns));
  const tall = Math.max(2, Math.min(640 / rows, Math.max(wide, Math.min(14, 224 / rows))));
  const names = longest(panel.columns), upright = names > Math.max(wide, 18);
  const top = (upright ? Math.min(names, 140) + 10 : 22) + (panel.column_label ? 20 : 0);
  const width = left + columns * wide + 2, height = top + rows * tall + 8;
  return { rows, columns, left, top, wide, tall, upright, width, height };
}

/** All of it; `at` is the cell pointed at, if any. */
function drawMatrix(pen, panel, page, grid, at) {
  const { rows, columns, left, top, wide, tall } = grid;
  pen.clearRect(0, 0, grid.width, grid.height);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(dots(panel, page), left, top, columns * wide, rows * tall);
  drawLines(pen, grid);
  pen.textBaseline = "middle";
  if (wide >= 40 && tall >= 22) drawNumbers(pen, panel, page, grid);
  drawNames(pen, panel, grid, at);
  if (at) {
    pen.strokeStyle = css("ink");
    pen.lineWidth = 2;
    pen.strokeRect(left + at[1] * wide - 1, top + at[0] * tall - 1, wide + 2, tall + 2);
  }
}

/** Tiles where they are large, else a frame around all. */
function drawLines(pen, { rows, columns, left, top, wide, tall }) {
  const right = left + columns * wide, bottom = top + rows * tall;
  if (wide < 9 || tall < 9) {
    pen.strokeStyle = css("line");
    pen.lineWidth = 1;
    pen.strokeRect(left - 0.5, top - 0.5, columns * wide + 1, rows * tall + 1);
    return;
  }
  const stroke = (x, y, toX, toY) => { pen.moveTo(x, y); pen.lineTo(toX, toY); };
  pen.strokeStyle = css("paper");
  pen.lineWidth = wide >= 20 ? 2 : 1;
  pen.beginPath();
  for (let i = 0; i <= columns; i++) stroke(left + i * wide, top, left + i * wide, bottom);
  for (let i = 0; i <= rows; i++) stroke(left, top + i * tall, right, top + i * tall);
  pen.stroke();
}

function drawNumbers(pen, panel, page, { columns, left, top, wide, tall }) {
  pen.font = "11px " + css("sans");
  pen.textAlign = "center";
  page.values.forEach((value, i) => {
    if (!Number.isFinite(value)) return;
    pen.fillStyle = inkOn(colour(panel, value));
    const text = sign(value.toFixed(value && Math.abs(value) < 100 ? 2 : 0));
    const x = left + ((i % columns) + 0.5) * wide;
    pen.fillText(text, x, top + (Math.floor(i / columns) + 0.5) * tall);
  });
}

function drawNames(pen, panel, { left, top, wide, tall, upright }, at) {
  const ink = css("ink"), faint = css("faint"), sans = css("sans");
  const write = (text, x, y, align, { strong = false, turned = false, room = Infinity } = {}) => {
    pen.save();
    pen.translate(x, y);
    if (turned) pen.rotate(-Math.PI / 2);
    pen.font = `${strong ? "600 " : ""}13px ${sans}`;
    pen.fillStyle = strong ? ink : faint;
    pen.textAlign = align;
    pen.fillText(cut(pen, text, room), 0, 0);
    pen.restore();
  };
  const beside = left - 8 - (panel.row_label ? 22 : 0);
  const above = upright ? top - 8 - (panel.column_label ? 20 : 0) : Infinity;
  /** As many names as there is room for; the one pointed at pushes its neighbours away. */
  const names = (labels, size, needed, pointed, put) => {
    const every = Math.max(1, Math.ceil(needed / size));
    labels.forEach((text, i) => {
      const near = pointed !== undefined && Math.abs(i - pointed) * size < needed;
      if (i === pointed || (i % every === 0 && !near)) put(text, i, i === pointed);
    });
  };
  names(panel.rows, tall, 14, at?.[0], (text, i, strong) =>
    write(text, left - 7, top + (i + 0.5) * tall, "right", { strong, room: beside }));
  names(panel.columns, wide, upright ? 14 : 18, at?.[1], (text, i, strong) => {
    const x = left + (i + 0.5) * wide, y = top - (upright ? 7 : 11);
    write(text, x, y, upright ? "left" : "center", { strong, turned: upright, room: above });
  });
  if (panel.column_label) write(panel.column_label + " →", left, 8, "left");
  if (panel.row_label) write("← " + panel.row_label, 8, top, "right", { turned: true });
}

/** What there is room for of a text. */
function cut(pen, text, room) {
  const signs = [...text];
  const said = () => signs.join("") + (signs.length < [...text].length ? "…" : "");
  while (signs.length > 1 && pen.measureText(said()).width > room) signs.pop();
  return said();
}
