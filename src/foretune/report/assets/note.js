// The note beside the pointer, and what all scripts share.
const root = document.documentElement, tip = document.getElementById("tip");

const make = (tag, words, style) => {
  const node = document.createElement(tag);
  if (words !== undefined) node.textContent = words;
  if (style) node.className = style;
  return node;
};

const show = (nodes, x, y) => {
  tip.replaceChildren(...nodes);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = x + 14 + box.width > innerWidth - 6 ? x - box.width - 14 : x + 14;
  const above = y - box.height - 10, top = above < 6 ? Math.min(y + 18, innerHeight - box.height - 6) : above;
  tip.style.transform = `translate(${Math.round(Math.max(6, left))}px, ${Math.round(Math.max(6, top))}px)`;
};

const hide = () => { tip.hidden = true; };
addEventListener("scroll", hide, { passive: true });
addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

const plain = (words) => words.replace(/−/g, "-");
const number = (value) => {
  const size = Math.abs(value), far = size !== 0 && (size < 1e-4 || size >= 1e6);
  return (far ? value.toExponential(3) : String(Number(value.toPrecision(4)))).replace(/-/g, "−");
};

// Arrow keys step through what a picture shows, Enter follows it, Escape leaves it.
const steer = (picture, { step, follow, leave }) => {
  picture.tabIndex = 0;
  picture.addEventListener("blur", leave);
  picture.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (by) { event.preventDefault(); step(by); }
    if (event.key === "Enter") follow();
    if (event.key === "Escape") leave();
  });
};
