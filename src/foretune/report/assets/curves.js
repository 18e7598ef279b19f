// Curves: pointing shows the nearest place on the horizontal axis, every line there, and the runs of the nearest line.
const svg = (tag, attributes) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  return node;
};

const fraction = (value, [low, high, log]) => {
  if (log) [value, low, high] = [value, low, high].map(Math.log10);
  const unit = Math.max(Math.abs(low), Math.abs(high)) || 1;
  return high > low ? (value / unit - low / unit) / (high / unit - low / unit) : 0.5;
};

const pointsAt = (data, x, py) => data.lines
  .map((line) => ({ line, i: line.x.indexOf(x) }))
  .filter(({ line, i }) => i >= 0 && line.y[i] !== null)
  .map(({ line, i }) => ({ line, i, y: line.y[i], place: py(line.y[i]), trace: line.t?.[line.t.length > 1 ? i : 0] }))
  .filter((point) => Number.isFinite(point.place))
  .sort((a, b) => b.y - a.y);

const words = ({ line: { n, c, l, h }, i, y }, near) => {
  const row = make("div", undefined, near ? "row near" : "row");
  const band = l && l[i] !== null && h[i] !== null ? ` [${number(l[i])}, ${number(h[i])}]` : "";
  row.append(make("span", n, c), make("span", number(y) + band));
  return row;
};

const chart = (picture, data) => {
  const [left, top, width, height] = picture.dataset.box.split(",").map(Number);
  const cross = picture.querySelector(".cross"), unit = () => picture.getBoundingClientRect().width / picture.viewBox.baseVal.width;
  const px = (x) => left + width * fraction(x, data.X), py = (y) => top + height * (1 - fraction(y, data.Y));
  const stops = [...new Set(data.lines.flatMap((line) => line.x))]
    .filter((x) => x !== null && Number.isFinite(px(x))).sort((a, b) => a - b);
  let at = -1, near = null;

  const leave = () => { cross.replaceChildren(); hide(); near = null; };
  const pick = (index, y) => {
    at = Math.max(0, Math.min(stops.length - 1, index));
    const x = stops[at], points = pointsAt(data, x, py), box = picture.getBoundingClientRect();
    near = points.length ? points.reduce((a, b) => (Math.abs(b.place - y) < Math.abs(a.place - y) ? b : a)) : null;
    cross.replaceChildren(
      svg("line", { x1: px(x), x2: px(x), y1: top, y2: top + height }),
      ...points.map((point) => svg("circle", { cx: px(x), cy: point.place, r: 3.5, class: point.line.c })),
    );
    picture.classList.toggle("traced", Boolean(home && near?.trace));
    const rows = points.slice(0, 14).map((point) => words(point, point === near && points.length > 1));
    const nodes = [make("b", `${data.x} ${number(x)}`), ...rows, ...behind(near?.trace)];
    show(nodes, box.left + px(x) * unit(), box.top + top * unit());
  };
  const move = (event) => {
    const box = picture.getBoundingClientRect(), x = (event.clientX - box.left) / unit();
    let low = 0, high = stops.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (px(stops[middle]) < x) low = middle; else high = middle;
    }
    pick(x - px(stops[low]) <= px(stops[high]) - x ? low : high, (event.clientY - box.top) / unit());
  };
  const follow = () => { const trace = near?.trace; leave(); visit(trace); };

  if (!stops.length) return;
  for (const type of ["pointermove", "pointerdown"]) picture.addEventListener(type, move);
  picture.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") leave(); });
  picture.addEventListener("click", (event) => { if (event.pointerType !== "touch" && near?.trace) follow(); });
  steer(picture, { step: (by) => pick(at + by, near?.place ?? top), follow, leave });
};

for (const title of document.querySelectorAll("svg.plot circle > title")) title.remove();
for (const script of document.querySelectorAll("figure > script")) {
  const data = JSON.parse(script.textContent);
  for (const picture of script.parentElement.querySelectorAll("svg.plot")) chart(picture, data);
}
