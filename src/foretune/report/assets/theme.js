// Light or dark by hand, kept where the browser lets a file keep something.
const theme = document.getElementById("theme"), place = "foretune-theme";
const kept = (act) => { try { return act(localStorage); } catch { return null; } };
const before = kept((storage) => storage.getItem(place));
if (before) root.dataset.theme = before;
theme.hidden = false;
theme.addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  kept((storage) => storage.setItem(place, root.dataset.theme));
});
arrive();
