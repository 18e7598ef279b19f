// Sorting: numbers by the first one in the cell; what is missing stays last; a third click brings the first order back.
const first = (cell) => {
  const hit = /^[+-]?\d[\d,]*(\.\d+)?(e[+-]?\d+)?/.exec(plain(cell));
  return hit ? Number(hit[0].replace(/,/g, "")) : null;
};

const sorted = (start, column, numeric, direction) => {
  const keyed = start.map((row) => {
    const cell = row.cells[column].textContent;
    return { row, key: numeric ? first(cell) : cell === "–" ? null : cell || null };
  });
  const compare = numeric ? (a, b) => a - b : (a, b) => a.localeCompare(b, undefined, { numeric: true });
  keyed.sort((a, b) => {
    if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
    return direction * compare(a.key, b.key);
  });
  return keyed.map((each) => each.row);
};

for (const table of document.querySelectorAll("table.data")) {
  const body = table.tBodies[0], start = [...body.rows], heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = make("button", head.textContent);
    button.type = "button";
    button.title = "sort";
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const next = { ascending: "descending", descending: "" }[head.getAttribute("aria-sort")] ?? "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      if (next) head.setAttribute("aria-sort", next);
      body.append(...(next ? sorted(start, column, head.classList.contains("n"), next === "ascending" ? 1 : -1) : start));
    });
  });
}
