// A timeline is unpacked when it is shown: one in a closed element when that is opened.
(() => {
  "use strict";
  const draw = async (box) => {
    if (box.dataset.pack === undefined) return;
    const text = document.getElementById(`pack-${box.dataset.pack}`).textContent;
    delete box.dataset.pack;
    if (cannotInflate) {
      box.textContent = cannotInflate;
      return;
    }
    viewTimeline(box, unpackDrawing(await inflate(text)));
    box.querySelector("details").open = false; // closes the list, so that the remedy below is in view
  };
  const drawAll = (within) => within.querySelectorAll(".viewer").forEach((box) => {
    if (!box.closest("details:not([open])")) draw(box);
  });
  addEventListener("toggle", (e) => { if (e.target.open) drawAll(e.target); }, true);
  drawAll(document);
})();
