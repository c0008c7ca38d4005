// A cell's content lies in its noscript element. Without scripts it is simply there. With scripts it is text until the
// cell is opened, so that a page of hundreds of timelines opens at once.
(() => {
  "use strict";
  const fill = (cell) => cell.querySelectorAll("noscript").forEach((inert) => {
    inert.outerHTML = inert.textContent;
    cell.querySelectorAll("figure .scroll").forEach(toMoment);
  });

  // toMoment scrolls a timeline that is wider than the window to what matters in it.
  const toMoment = (box) => {
    const moment = [".join.first", ".refused", ".cross", ".overlap", ".over"].map((m) => box.querySelector(m)).find(Boolean);
    if (moment) box.scrollLeft = moment.getBoundingClientRect().right - box.getBoundingClientRect().right + 40;
  };

  // current returns the cell that the address names.
  const current = () => document.getElementById(location.hash.slice(1))?.closest("details.cell");

  const follow = () => {
    const cell = current();
    if (!cell) return;
    cell.open = true;
    fill(cell);
    // The browser goes to the section, whose heading is above it.
    const section = cell.querySelector("section");
    section.style.scrollMarginTop = `${section.getBoundingClientRect().top - cell.getBoundingClientRect().top}px`;
    cell.querySelector("summary").focus({ preventScroll: true });
    cell.scrollIntoView();
  };

  // In the matrix the arrow keys go to the next cell that is there.
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

  // The matrix has the rungs of a group alone, the lines with something broken, and what is searched for.
  const tools = document.querySelector(".tools");
  const choose = () => {
    const grid = document.getElementById("matrix"), [head, ...lines] = grid.querySelectorAll("tr");
    const group = tools.querySelector("[aria-pressed=true]").dataset.group;
    const only = tools.querySelector("[type=checkbox]").checked;
    const words = tools.querySelector("[type=search]").value.toLowerCase().split(" ").filter(Boolean);
    const has = (e, word) => e.textContent.toLowerCase().includes(word), heads = [...head.cells].slice(1);
    const rungs = words.filter((word) => heads.some((e) => has(e, word)));
    const names = words.filter((word) => !rungs.includes(word));
    // The script has no "and", because a report is XML too.
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

  addEventListener("toggle", (e) => { if (e.target.open) fill(e.target); }, true);
  addEventListener("hashchange", follow);
  addEventListener("keydown", (e) => {
    if (e.altKey || e.ctrlKey || e.metaKey || e.shiftKey) return;
    const link = e.target.closest?.(".matrix a"), arrow = e.key.startsWith("Arrow");
    if (link) {
      if (arrow) { e.preventDefault(); step(link, e.key); }
      return;
    }
    if (e.target.closest?.(".scroll")) return;
    const cell = e.target.closest?.("details.cell") ?? current();
    if (!cell) return;
    const way = { ArrowLeft: "prev", ArrowRight: "next" }[e.key];
    if (way) {
      fill(cell);
      cell.querySelector(`a[rel=${way}]`)?.click();
    }
    if (e.key === "Escape") document.querySelector(`.matrix a[href="#${cell.querySelector("section").id}"]`).focus();
  });

  document.querySelectorAll("details[open]").forEach(fill);
  follow();

  // A new run may have been written here meanwhile. Nothing may be asked for, so the tab reloads itself whenever it is
  // shown again, and the entry of the history keeps what was open and where the reader was.
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
    cells.forEach((cell) => { if (cell.open = history.state.open.includes(id(cell))) fill(cell); });
    scrollTo(0, history.state.y);
    history.replaceState(null, "");
  }
  document.querySelector(".cells")?.insertAdjacentHTML("beforebegin",
    '<p class="note">This tab loads the newest run that was written here whenever it is shown again.</p>');
})();
