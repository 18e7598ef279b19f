// Marks with intervals: pointing says the value and the runs behind it.
const forest = (picture) => {
  const marks = [...picture.querySelectorAll(".mark")];
  let on = -1;
  const leave = () => { marks[on]?.classList.remove("on"); hide(); };
  const enter = (index) => {
    leave();
    on = Math.max(0, Math.min(marks.length - 1, index));
    const mark = marks[on], box = mark.querySelector("circle").getBoundingClientRect();
    mark.classList.add("on");
    show([make("b", mark.dataset.words), ...behind(mark.dataset.runs)], box.right, box.top);
  };
  marks.forEach((mark, index) => {
    const title = mark.querySelector("title");
    mark.dataset.words = title.textContent;
    title.remove();
    mark.addEventListener("pointerenter", () => enter(index));
    mark.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") leave(); });
  });
  if (marks.length) steer(picture, { step: (by) => enter(on + by), follow: () => visit(marks[on]?.dataset.runs), leave });
};

document.querySelectorAll("svg.forest").forEach(forest);
