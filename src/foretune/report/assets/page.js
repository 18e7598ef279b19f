"use strict";
(() => {
  const root = document.documentElement, tip = document.getElementById("tip");
  const make = (tag, words, style) => {
    const node = document.createElement(tag);
    if (words !== undefined) node.textContent = words;
    if (style) node.className = style;
    return node;
  };
  const svg = (tag, attributes) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const name in attributes) node.setAttribute(name, attributes[name]);
    return node;
  };

  // The note that follows the pointer.
  const show = (nodes, x, y) => {
    tip.replaceChildren(...nodes);
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    let left = x + 14, top = y - box.height - 10;
    if (left + box.width > innerWidth - 6) left = Math.max(6, x - box.width - 14);
    if (top < 6) top = Math.min(y + 18, innerHeight - box.height - 6);
    tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(Math.max(6, top))}px)`;
  };
  const hide = () => { tip.hidden = true; };
  addEventListener("scroll", hide, { passive: true });
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

  const number = (value) => {
    if (value === null) return "–";
    const size = Math.abs(value);
    const words = size !== 0 && (size < 1e-4 || size >= 1e6) ? value.toExponential(3) : String(Number(value.toPrecision(4)));
    return words.replace(/-/g, "−");
  };

  // The table of runs, and the numbers that lead to it.
  const home = document.getElementById("runs");
  const rows = home ? [...home.querySelectorAll("tbody tr")] : [];
  let texts = null;
  const contents = () => (texts ??= rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  const names = home ? [...home.querySelectorAll("thead th")].map((cell) => cell.textContent) : [];
  const parse = (query) => {
    const where = [];
    let column = -1;
    for (const part of query.split("&")) {
      const cut = part.indexOf("="), name = part.slice(0, cut), rest = part.slice(cut + 1);
      if (name === "v") column = Number(rest);
      else where.push([Number(name), new Set(rest.split("|").map(decodeURIComponent))]);
    }
    return { where, column };
  };
  const plain = (words) => words.replace(/−/g, "-");
  const found = (query) => {
    const hit = contents().map((cells) => query.where.every(([i, values]) => values.has(cells[i]) || values.has(plain(cells[i]))));
    return hit.flatMap((on, i) => (on ? [i] : []));
  };
  const condition = (query) => query.where.map(([i, values]) => `${names[i]} ${[...values].join(", ")}`).join(" · ");
  const behind = (text) => {
    const query = parse(text), hits = found(query), nodes = [];
    nodes.push(make("div", `${hits.length} run${hits.length === 1 ? "" : "s"}: ${condition(query)}`, "more"));
    if (query.column >= 0 && hits.length <= 12) {
      const values = hits.map((i) => contents()[i][query.column]).join("   ");
      nodes.push(make("div", `${names[query.column]}:   ${values}`));
    }
    return nodes;
  };
  const filter = (text) => {
    const bar = home.querySelector(".filter"), query = text ? parse(text) : null;
    const hits = query ? new Set(found(query)) : null;
    rows.forEach((row, i) => { row.hidden = hits !== null && !hits.has(i); });
    bar.hidden = hits === null;
    if (hits) bar.querySelector("span").textContent = `${hits.size} of ${rows.length} runs: ${condition(query)}`;
    document.getElementById("every-run").open = true;
    return hits;
  };
  const visit = (text) => {
    hide();
    location.hash = "runs?" + text;
  };
  const follow = () => {
    if (!home || !location.hash.startsWith("#runs?")) return;
    try { filter(location.hash.slice(6)); } catch { return; }
    home.scrollIntoView();
  };
  if (home) {
    addEventListener("hashchange", follow);
    home.querySelector(".filter button").addEventListener("click", () => {
      history.replaceState(null, "", "#runs");
      filter("");
    });
    for (const type of ["pointerover", "focusin"]) {
      document.addEventListener(type, (event) => {
        const link = event.target.closest?.("a[data-runs]");
        if (!link) return;
        const box = link.getBoundingClientRect();
        show(behind(link.dataset.runs), box.right, box.top);
      });
    }
    for (const type of ["pointerout", "focusout"]) {
      document.addEventListener(type, (event) => { if (event.target.closest?.("a[data-runs]")) hide(); });
    }
    document.addEventListener("click", (event) => {
      const link = event.target.closest?.("[data-runs]");
      if (!link) return;
      event.preventDefault();
      visit(link.dataset.runs);
    });
  }

  // Curves: the point nearest to the pointer, and every line there.
  const chart = (figure, data) => {
    for (const picture of figure.querySelectorAll("svg.plot")) {
      const [left, top, width, height] = picture.dataset.box.split(",").map(Number);
      const cross = picture.querySelector(".cross");
      const fraction = (value, [low, high, log]) => {
        if (log) [value, low, high] = [value, low, high].map(Math.log10);
        const unit = Math.max(Math.abs(low), Math.abs(high)) || 1;
        return high > low ? (value / unit - low / unit) / (high / unit - low / unit) : 0.5;
      };
      const px = (x) => left + width * fraction(x, data.X), py = (y) => top + height * (1 - fraction(y, data.Y));
      const stops = [...new Set(data.lines.flatMap((line) => line.x))]
        .filter((x) => x !== null && Number.isFinite(px(x))).sort((a, b) => a - b);
      if (!stops.length) continue;
      let at = -1, near = null;
      const clear = () => { cross.replaceChildren(); hide(); near = null; };
      const pick = (index, y) => {
        at = Math.max(0, Math.min(stops.length - 1, index));
        const x = stops[at], points = [];
        for (const line of data.lines) {
          const i = line.x.indexOf(x);
          if (i >= 0 && line.y[i] !== null) points.push({ line, i, y: line.y[i], place: py(line.y[i]) });
        }
        points.sort((a, b) => b.y - a.y);
        near = points.length ? points.reduce((a, b) => (Math.abs(b.place - y) < Math.abs(a.place - y) ? b : a)) : null;
        cross.replaceChildren(svg("line", { x1: px(x), x2: px(x), y1: top, y2: top + height }));
        for (const point of points) {
          if (Number.isFinite(point.place)) cross.append(svg("circle", { cx: px(x), cy: point.place, r: 3.5, class: point.line.c }));
        }
        const nodes = [make("b", `${data.x} ${number(x)}`)];
        for (const point of points.slice(0, 14)) {
          const row = make("div", undefined, point === near && points.length > 1 ? "row near" : "row"), { l, h } = point.line;
          const band = l && l[point.i] !== null && h[point.i] !== null ? ` [${number(l[point.i])}, ${number(h[point.i])}]` : "";
          row.append(make("span", point.line.n, point.line.c), make("span", number(point.y) + band));
          nodes.push(row);
        }
        const trace = near && near.line.t ? near.line.t[near.line.t.length > 1 ? near.i : 0] : "";
        picture.classList.toggle("traced", Boolean(trace && home));
        if (near) near.trace = trace;
        if (trace && home) nodes.push(...behind(trace));
        const box = picture.getBoundingClientRect(), scale = box.width / picture.viewBox.baseVal.width;
        show(nodes, box.left + px(x) * scale, box.top + (near ? near.place : top) * scale);
      };
      const move = (event) => {
        const box = picture.getBoundingClientRect(), scale = picture.viewBox.baseVal.width / box.width;
        const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
        let low = 0, high = stops.length - 1;
        while (high - low > 1) {
          const middle = (low + high) >> 1;
          if (px(stops[middle]) < x) low = middle; else high = middle;
        }
        pick(Math.abs(px(stops[low]) - x) <= Math.abs(px(stops[high]) - x) ? low : high, y);
      };
      picture.addEventListener("pointermove", move);
      picture.addEventListener("pointerdown", move);
      picture.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") clear(); });
      picture.addEventListener("click", () => { if (home && near && near.trace) { const { trace } = near; clear(); visit(trace); } });
      picture.tabIndex = 0;
      picture.addEventListener("blur", clear);
      picture.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, Home: -1e9, End: 1e9 }[event.key];
        if (step) { event.preventDefault(); pick(at + step, near ? near.place : top); }
        if (event.key === "Enter" && home && near && near.trace) visit(near.trace);
        if (event.key === "Escape") clear();
      });
    }
  };
  for (const title of document.querySelectorAll("svg.plot circle > title")) title.remove();
  for (const script of document.querySelectorAll("figure > script")) chart(script.parentElement, JSON.parse(script.textContent));

  // Marks with intervals.
  for (const picture of document.querySelectorAll("svg.forest")) {
    const marks = [...picture.querySelectorAll(".mark")];
    let on = -1;
    const leave = () => { marks.forEach((mark) => mark.classList.remove("on")); hide(); };
    const enter = (index) => {
      leave();
      on = Math.max(0, Math.min(marks.length - 1, index));
      const mark = marks[on], box = mark.querySelector("circle").getBoundingClientRect();
      mark.classList.add("on");
      show([make("b", mark.dataset.words), ...(mark.dataset.runs && home ? behind(mark.dataset.runs) : [])], box.right, box.top);
    };
    marks.forEach((mark, index) => {
      const title = mark.querySelector("title");
      mark.dataset.words = title.textContent;
      title.remove();
      mark.addEventListener("pointerenter", () => enter(index));
      mark.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") leave(); });
    });
    picture.tabIndex = 0;
    picture.addEventListener("blur", leave);
    picture.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) { event.preventDefault(); enter(on + step); }
      if (event.key === "Enter" && home && marks[on]?.dataset.runs) visit(marks[on].dataset.runs);
      if (event.key === "Escape") leave();
    });
  }

  // Sorting: numbers by the first one in the cell, what is missing last.
  const first = (words) => {
    const hit = /^[+-]?\d[\d,]*(\.\d+)?(e[+-]?\d+)?/.exec(plain(words));
    return hit ? Number(hit[0].replace(/,/g, "")) : NaN;
  };
  for (const table of document.querySelectorAll("table.data")) {
    const body = table.tBodies[0], start = [...body.rows], heads = [...table.tHead.rows[0].cells];
    const sort = (column, direction) => {
      const numeric = heads[column].classList.contains("n");
      const keyed = start.map((row) => {
        const words = row.cells[column].textContent, key = numeric ? first(words) : words;
        return { row, key, missing: numeric ? Number.isNaN(key) : words === "" || words === "–" };
      });
      if (direction) {
        keyed.sort((a, b) => {
          if (a.missing || b.missing) return a.missing - b.missing;
          return direction * (numeric ? a.key - b.key : a.key.localeCompare(b.key, undefined, { numeric: true }));
        });
      }
      body.append(...keyed.map((each) => each.row));
    };
    heads.forEach((head, column) => {
      const button = make("button", head.textContent);
      button.type = "button";
      button.title = "sort";
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const next = { ascending: "descending", descending: "none" }[head.getAttribute("aria-sort")] ?? "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        if (next !== "none") head.setAttribute("aria-sort", next);
        sort(column, { ascending: 1, descending: -1, none: 0 }[next]);
      });
    });
  }

  // Light or dark by hand.
  const theme = document.getElementById("theme");
  const stored = (value) => {
    try { return value === undefined ? localStorage.getItem("foretune-theme") : localStorage.setItem("foretune-theme", value); } catch { return null; }
  };
  if (stored()) root.dataset.theme = stored();
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    stored(root.dataset.theme);
  });
  follow();
})();
