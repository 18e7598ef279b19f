// The table of runs, and the numbers that lead to it: `0=FordA&1=0.01|0.02&v=4` names columns by their places.
const home = document.getElementById("runs");
const rows = home ? [...home.querySelectorAll("tbody tr")] : [];
const names = home ? [...home.querySelectorAll("thead th")].map((cell) => cell.textContent) : [];
let texts = null;
const contents = () => (texts ??= rows.map((row) => [...row.cells].map((cell) => plain(cell.textContent))));

const parse = (text) => {
  const parts = text.split("&").map((part) => part.split("="));
  const where = parts.filter(([name]) => name !== "v").map(([name, values]) => [
    Number(name), new Set(values.split("|").map((value) => plain(decodeURIComponent(value)))),
  ]);
  const column = Number(parts.find(([name]) => name === "v")?.[1] ?? -1);
  const hits = contents().flatMap((cells, i) => (where.every(([place, values]) => values.has(cells[place])) ? [i] : []));
  return { column, hits, words: where.map(([place, values]) => `${names[place]} ${[...values].join(", ")}`).join(" · ") };
};

const behind = (text) => {
  if (!home || !text) return [];
  const { column, hits, words } = parse(text);
  const nodes = [make("div", `${hits.length} run${hits.length === 1 ? "" : "s"}: ${words}`, "more")];
  if (column >= 0 && hits.length <= 12) {
    nodes.push(make("div", `${names[column]}:  ${hits.map((i) => contents()[i][column]).join("  ")}`));
  }
  return nodes;
};

const filter = (text) => {
  const bar = home.querySelector(".filter"), found = text ? parse(text) : null;
  const shown = found && new Set(found.hits);
  rows.forEach((row, i) => { row.hidden = shown !== null && !shown.has(i); });
  bar.hidden = found === null;
  if (found) bar.querySelector("span").textContent = `${found.hits.length} of ${rows.length} runs: ${found.words}`;
  document.getElementById("every-run").open = true;
};

const visit = (text) => {
  if (!home || !text) return;
  hide();
  location.hash = `runs?${text}`;
};

const arrive = () => {
  if (!home || !location.hash.startsWith("#runs?")) return;
  try { filter(location.hash.slice(6)); } catch { return; } // an address that somebody cut short
  home.scrollIntoView();
};

if (home) {
  const link = (event) => event.target.closest?.("a[data-runs]");
  const point = (event) => {
    const number = link(event);
    if (!number) return;
    const box = number.getBoundingClientRect();
    show(behind(number.dataset.runs), box.right, box.top);
  };
  const leave = (event) => { if (link(event)) hide(); };
  for (const type of ["pointerover", "focusin"]) document.addEventListener(type, point);
  for (const type of ["pointerout", "focusout"]) document.addEventListener(type, leave);
  document.addEventListener("click", (event) => {
    const number = event.target.closest?.("[data-runs]");
    if (!number || (event.pointerType === "touch" && !link(event))) return; // a finger on a mark only asks what it is
    event.preventDefault();
    visit(number.dataset.runs);
  });
  home.querySelector(".filter button").addEventListener("click", () => {
    history.replaceState(null, "", "#runs");
    filter("");
  });
  addEventListener("hashchange", arrive);
}
