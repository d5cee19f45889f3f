// Lines over a common x, and points in a plane.

function curves(panel) {
  const lines = Object.entries(panel.lines).map(([name, place]) => [name, array(place).values]);
  return [key(lines.map(([name]) => name)), plotted((W) => curvesAt(W, panel, lines))];
}

function curvesAt(W, panel, lines) {
  const H = Math.min(340, Math.max(220, W * 0.6)), xs = array(panel.x).values;
  const across = (p) => [...array(p.x).values, ...Object.values(p.marks)];
  const up = (p) => Object.values(p.lines).flatMap((place) => [...array(place).values]);
  const [x, y] = axesOf(W, H, everywhere(panel, across), panel.log_x, everywhere(panel, up),
    panel.log_y);
  const svg = plot(W, H, x, y, panel), marker = draw("g");
  for (const [name, value] of Object.entries(panel.marks)) {
    const at = x.at(value), last = at > W - 150;
    const anchor = { x: at + (last ? -6 : 6), y: TOP + 12, "text-anchor": last ? "end" : "start" };
    svg.append(upright(at, H, { stroke: "var(--faint)", "stroke-dasharray": "4 4" }),
      draw("text", anchor, name));
  }
  const shows = (v) => Number.isFinite(v) && (!panel.log_y || v > 0);
  lines.forEach(([, values], i) => {
    let path = "", pen = "M"; // lifted where there is no number
    values.forEach((v, n) => {
      if (!shows(v)) { pen = "M"; return; }
      path += `${pen}${x.at(xs[n]).toFixed(1)} ${y.at(v).toFixed(1)}`;
      pen = "L";
      if (xs.length <= 24)
        svg.append(draw("circle", { cx: x.at(xs[n]), cy: y.at(v), r: 3, fill: line(i) }));
    });
    const dashes = ["none", "7 4", "2 4"][Math.floor(i / 8) % 3]; // there are eight colours
    svg.append(draw("path", { d: path, fill: "none", stroke: line(i), "stroke-width": 2,
      "stroke-linejoin": "round", "stroke-dasharray": dashes }));
  });
  svg.append(marker);

  function show(n) {
    const box = svg.getBoundingClientRect(), middle = x.at(xs[n]);
    const points = lines.map(([, v], i) => shows(v[n]) && draw("circle", { cx: middle,
      cy: y.at(v[n]), r: 4.5, fill: line(i), stroke: "var(--paper)", "stroke-width": 2 }));
    marker.replaceChildren(upright(middle, H, { stroke: "var(--ink)" }), ...points.filter(Boolean));
    showTip(box.left + middle, box.top + 90, `${panel.x_label} ${exactly(xs[n])}`,
      ...lines.map(([name, v], i) => make("div", {}, dot(i), `${name} ${exactly(v[n])}`)));
  }
  return pointed(svg, xs.length, {
    nearest: (px) => least(xs.length, (n) => Math.abs(x.at(xs[n]) - px)),
    show,
    hide: () => marker.replaceChildren(),
  });
}

function scatter(panel) {
  const groups = [...new Set(panel.groups)];
  return [key(groups), plotted((W) => scatterAt(W, panel, groups))];
}

function scatterAt(W, panel, groups) {
  const H = Math.min(520, W), { values } = array(panel.points);
  const points = panel.names.map((name, i) =>
    ({ name, group: panel.groups[i], a: values[2 * i], b: values[2 * i + 1] }));
  const one = (k) => everywhere(panel, (p) => [...array(p.points).values].filter((_, i) =>
    i % 2 === k));
  const [x, y] = axesOf(W, H, one(0), false, one(1), false);
  const svg = plot(W, H, x, y, panel), r = points.length > 400 ? 2.5 : 4;
  for (const p of points)
    svg.append(draw("circle", { cx: x.at(p.a), cy: y.at(p.b), r,
      fill: line(groups.indexOf(p.group)), "fill-opacity": 0.85 }));
  if (points.length <= 150) for (const p of points) {
    const beside = { x: x.at(p.a) + 6, y: y.at(p.b) - 4 };
    svg.append(draw("text", { class: "name", lang: tokenLang(p.name), ...beside }, p.name));
  }
  const look = { r: 8, fill: "none", stroke: "var(--ink)", "stroke-width": 2 };
  const ring = draw("circle", { visibility: "hidden", ...look });
  svg.append(ring);

  function show(i) {
    const p = points[i], box = svg.getBoundingClientRect(), cx = x.at(p.a), cy = y.at(p.b);
    fill(ring, { cx, cy, visibility: "visible" }, []);
    showTip(box.left + cx, box.top + cy, p.name, groups.length > 1 ? p.group : "",
      `${panel.x_label || "x"} ${exactly(p.a)}`, `${panel.y_label || "y"} ${exactly(p.b)}`);
  }
  return pointed(svg, points.length, {
    nearest(px, py) {
      const far = (i) => Math.hypot(x.at(points[i].a) - px, y.at(points[i].b) - py);
      const i = least(points.length, far);
      return i !== null && far(i) < 40 ? i : null;
    },
    show,
    hide: () => ring.setAttribute("visibility", "hidden"),
  });
}
