// The content of a cell is unpacked when the cell is opened, so that a page with hundreds of timelines loads fast.
(() => {
  "use strict";
  const packs = new Map();
  const insideOf = async ({ pack, at }) => {
    if (!packs.has(pack)) packs.set(pack, inflate(document.getElementById(`pack-${pack}`).textContent));
    return (await packs.get(pack))[at];
  };

  const filled = new WeakMap(); // the cells that are filled, or being filled
  const fill = (cell) => {
    if (!filled.has(cell)) filled.set(cell, fillNow(cell));
    return filled.get(cell);
  };
  const fillNow = async (cell) => {
    const section = cell.querySelector("section");
    if (cannotInflate) {
      section.textContent = cannotInflate;
      return;
    }
    const { html, drawing } = await insideOf(section.dataset);
    section.innerHTML = html; // written by this page's template, so it is escaped
    const box = section.querySelector(".viewer");
    if (box) viewTimeline(box, unpackDrawing(drawing));
  };

  // current returns the cell that the URL names.
  const current = () => document.getElementById(location.hash.slice(1))?.closest("details.cell");

  const follow = async () => {
    const cell = current();
    if (!cell) return;
    cell.open = true;
    await fill(cell);
    // The browser scrolls to the section, but the heading is above it.
    const section = cell.querySelector("section");
    section.style.scrollMarginTop = `${section.getBoundingClientRect().top - cell.getBoundingClientRect().top}px`;
    cell.querySelector("summary").focus({ preventScroll: true });
    cell.scrollIntoView();
  };

  // In the matrix the arrow keys go to the next cell that is shown.
  const step = (link, key) => {
    const td = link.closest("td, th"), row = td.parentElement;
    const [across, down] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
    let line = row, column = td.cellIndex;
    for (;;) {
      if (down === 1) line = line.nextElementSibling;
      if (down === -1) line = line.previousElementSibling;
      column += across;
      const at = line?.cells[column];
      if (!at) return;
      const next = at.querySelector("a");
      if (next?.offsetParent) return next.focus();
    }
  };

  // choose shows only the rungs of a group, the lines with a broken cell, and the matches of the search.
  const tools = document.querySelector(".tools");
  const choose = () => {
    const grid = document.getElementById("matrix"), [head, ...lines] = grid.querySelectorAll("tr");
    const group = tools.querySelector("[aria-pressed=true]").dataset.group;
    const only = tools.querySelector("[type=checkbox]").checked;
    const words = tools.querySelector("[type=search]").value.toLowerCase().split(" ").filter(Boolean);
    const has = (e, word) => e.textContent.toLowerCase().includes(word), heads = [...head.cells].slice(1);
    const rungs = words.filter((word) => heads.some((e) => has(e, word)));
    const names = words.filter((word) => !rungs.includes(word));
    // This script avoids ampersands, because a report is also XML.
    const found = (e) => rungs.length ? rungs.some((word) => has(e, word)) : true;
    const shown = heads.map((e) => [e.dataset.group, ""].includes(group) ? found(e) : false);
    for (const line of [head, ...lines]) shown.forEach((show, i) => { line.cells[i + 1].hidden = !show; });
    for (const line of lines) {
      const named = names.every((word) => has(line.cells[0], word)), broken = line.querySelector("td.broken:not([hidden])");
      line.hidden = !named || (only ? !broken : false);
    }
    const columns = shown.filter(Boolean).length;
    grid.style.setProperty("--cols", columns);
    grid.classList.toggle("words", 14 >= columns);
    grid.classList.toggle("only", only);
  };
  if (tools) {
    tools.hidden = false;
    tools.addEventListener("input", choose);
    tools.addEventListener("click", ({ target }) => {
      if (!target.matches("button")) return;
      tools.querySelectorAll("button").forEach((b) => b.setAttribute("aria-pressed", b === target));
      choose();
    });
  }

  addEventListener("toggle", (e) => { if (e.target.matches(".cell[open]")) fill(e.target); }, true);
  addEventListener("hashchange", follow);
  addEventListener("keydown", (e) => {
    if (e.altKey || e.ctrlKey || e.metaKey || e.shiftKey) return;
    const link = e.target.closest?.(".matrix a"), arrow = e.key.startsWith("Arrow");
    if (link) {
      if (arrow) { e.preventDefault(); step(link, e.key); }
      return;
    }
    if (e.target.closest?.(".viewer")) return;
    const cell = e.target.closest?.("details.cell") ?? current();
    if (!cell) return;
    const way = { ArrowLeft: "prev", ArrowRight: "next" }[e.key];
    if (way) fill(cell).then(() => cell.querySelector(`a[rel=${way}]`)?.click());
    if (e.key === "Escape") document.querySelector(`.matrix a[href="#${cell.querySelector("section").id}"]`)?.focus();
  });

  document.querySelectorAll("details.cell[open]").forEach(fill);
  follow();

  // Two cells beside the matrix are pictures: one that breaks, one that holds.
  document.querySelectorAll(".picture").forEach(async (box) => {
    if (cannotInflate) return;
    const { drawing } = await insideOf(box.dataset), whole = unpackDrawing(drawing), { from, to } = whole.first;
    box.parentElement.hidden = false;
    box.replaceChildren(drawTimeline(whole, { from, to, width: box.clientWidth }));
  });

  // A new run may have replaced this file. The policy allows no requests, so the tab reloads whenever it is shown
  // again; the history entry keeps the open cells and the scroll position.
  const cells = [...document.querySelectorAll("details.cell")], id = (cell) => cell.querySelector("section").id;
  let hidden = false;
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") hidden = true;
    else if (hidden) {
      history.replaceState({ open: cells.filter((cell) => cell.open).map(id), y: scrollY }, "");
      location.reload();
    }
  });
  if (history.state) {
    const open = cells.filter((cell) => cell.open = history.state.open.includes(id(cell))), { y } = history.state;
    Promise.all(open.map(fill)).then(() => scrollTo(0, y));
    history.replaceState(null, "");
  }
  document.querySelector(".cells")?.insertAdjacentHTML("beforebegin",
    '<p class="note">Whenever this tab is shown again, it reloads this file and shows the newest run.</p>');
})();
