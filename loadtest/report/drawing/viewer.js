"use strict";

// viewTimeline fills an element with an interactive drawing: above it a strip of the whole cell with the visible
// window; below it a card for the mark under the pointer, and the list of commands.
function viewTimeline(box, drawing) {
  const { orders = [], commands = [], faults = [], violations = [], first = {} } = drawing;
  const index = timelineIndex(drawing), air = Math.max((index.to - index.from) * 0.02, 0.01);
  const whole = { from: index.from - air, to: index.to + air };
  const opening = first.to > first.from ? { from: first.from, to: first.to } : whole;
  const shortest = Math.max(0.001, Math.abs(whole.to) * 1e-12), maxRows = 200;
  let view = { ...opening }, drawn; // the visible window, and its svg
  let pointed = "", chosen = ""; // the mark under the pointer, and the one selected by keyboard or click

  const make = (tag, className, ...children) => {
    const made = Object.assign(document.createElement(tag), { className });
    made.append(...children);
    return made;
  };
  const shape = (tag, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const button = (text, label, act) => {
    const made = make("button", "", text);
    made.type = "button";
    made.setAttribute("aria-label", label);
    made.title = label;
    made.addEventListener("click", act);
    return made;
  };

  // ---- Moving the window ----

  function show(from, to) {
    const least = Math.min(whole.from, opening.from), most = Math.max(whole.to, opening.to), longest = most - least;
    const length = Math.min(Math.max(to - from, shortest), longest);
    const slack = Math.min(length / 2, longest - length); // either end can be moved to the middle
    const start = Math.min(Math.max((from + to - length) / 2, least - slack), most - length + slack);
    view = { from: start, to: start + length };
    schedule();
  }
  const length = () => view.to - view.from;
  const zoom = (factor, at = anchor()) => show(at - (at - view.from) * factor, at + (view.to - at) * factor);
  const move = (part) => show(view.from + length() * part, view.to + length() * part);
  const reset = () => show(opening.from, opening.to);

  // anchor returns the time about which buttons and keys zoom: a moment of the selection or, unless one is in view, of
  // the first violation, or of the fault if no violation names a time; else the middle.
  function anchor() {
    for (const mark of [chosen, ...violations.map((_, i) => `violation:${i}`), "fault:0"]) {
      const at = timesOf(mark).findLast((t) => t >= view.from && t <= view.to);
      if (at !== undefined) return at;
    }
    return (view.from + view.to) / 2;
  }

  function timesOf(mark) {
    const [kind, number] = mark.split(":"), one = drawing[`${kind}s`]?.[number];
    if (!one) return [];
    const { sent, done, from, since, to, at } = one;
    return (kind === "command" ? [commandTime(one)] : [sent, done, from, since, to, at]).flat().filter(Number.isFinite);
  }

  const timeAt = (clientX) => {
    const { left, width } = drawn.getBoundingClientRect();
    return drawn.timeAt((clientX - left) * drawn.viewBox.baseVal.width / width);
  };

  function save() {
    const { what = "timeline", text = "" } = violations[0] ?? {};
    const title = what.charAt(0).toUpperCase() + what.slice(1);
    const file = timelineFile(drawing, { ...first, ...view, width: 820 }, title, text);
    const link = make("a", "");
    link.href = URL.createObjectURL(new Blob([file], { type: "image/svg+xml" }));
    link.download = "timeline.svg";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  // ---- The elements ----

  const help = make("p", "keys", "Drag, pinch, or turn the wheel with Ctrl. On the drawing: ← → or A D move, " +
    "+ − or W S zoom about the selection or else the first violation, 0 resets, F shows the whole cell, " +
    "Enter and Tab or , and . go from mark to mark, Esc deselects.");
  help.hidden = true;
  const question = button("?", "how to move and zoom", () => {
    help.hidden = !help.hidden;
    question.setAttribute("aria-expanded", !help.hidden);
  });
  const controls = make("div", "controls",
    button("−", "zoom out", () => zoom(2)), button("+", "zoom in", () => zoom(0.5)),
    button("whole", "show the whole cell", () => show(whole.from, whole.to)),
    button(violations.length ? "violation" : "first", "back to the first view", reset),
    button("save SVG", "save the drawing as a file", save), question);
  const strip = shape("svg", { class: "strip", height: 36, "aria-hidden": "true" });
  const stage = make("div", "drawn"), card = make("dl", "card"), rest = make("p", "rest");
  stage.tabIndex = 0;
  stage.setAttribute("role", "application");
  const label = ["timeline", ...violations.map(({ what }) => what)].join(", ");
  stage.setAttribute("aria-label", `${label}; press Enter for its marks`);
  card.setAttribute("aria-live", "polite");
  const body = make("tbody", ""), columns = ["time", "who", "command", "reply", "effect"];
  const head = make("thead", "", make("tr", "", ...columns.map((text) => make("th", "", text))));
  const list = make("div", "list", make("table", "", head, body));
  const listed = make("details", "", make("summary", "", "commands in this window"), list, rest);
  listed.open = true;
  box.classList.add("viewer");
  box.replaceChildren(controls, help, strip, stage, card, listed);

  // ---- Drawing ----

  let scheduled = false, listing;

  function schedule() {
    if (!scheduled) requestAnimationFrame(draw);
    scheduled = true;
  }

  function draw() {
    scheduled = false;
    const width = stage.clientWidth;
    if (width < 50) return; // hidden
    const size = Math.max(11, Math.round(parseFloat(getComputedStyle(box).fontSize) * 0.73));
    drawn = drawTimeline(drawing, { ...first, ...view, width, size });
    stage.replaceChildren(drawn);
    drawStrip(width);
    light();
    clearTimeout(listing);
    listing = setTimeout(fillList, 100);
  }

  // light highlights the current mark in the drawing and in the list, and describes it in the card.
  let described;

  function light() {
    const mark = pointed || chosen;
    for (const one of box.querySelectorAll(".lit")) one.classList.remove("lit");
    if (mark) for (const one of box.querySelectorAll(`[data-mark="${mark}"]`)) one.classList.add("lit");
    const row = body.querySelector(".lit");
    if (row && !row.matches(":hover, :focus")) list.scrollTop = row.offsetTop - list.clientHeight / 2;
    if (described === mark) return;
    described = mark;
    const rows = describeMark(drawing, mark);
    card.replaceChildren(...rows.map(({ term, text }) => make("div", "", make("dt", "", term), make("dd", "", text))));
    if (rows.length === 0) card.append(make("dt", "", "Point at a mark, or press Enter on the drawing."));
  }

  function point(mark) {
    if (mark === pointed) return;
    pointed = mark;
    light();
  }

  // heldText returns how long a fault held a command, or its reply, at the proxy; "" if none did.
  function heldText({ came, at, end, heard }) {
    for (const [from, to, what] of [[came, at, "held"], [end, heard, "reply held"]]) {
      const held = Number.isFinite(from) && Number.isFinite(to) ? to - from : 0;
      if (held >= 20) return `${what} ${timeText(held, 1)}`; // a busy machine delays commands a little
    }
    return "";
  }

  // fillList lists the commands in the window.
  function fillList() {
    const { sequence } = index, at = (k) => commandTime(commands[sequence[k]]);
    const firstFrom = (t) => { // the first command at or after t
      let least = 0, most = sequence.length;
      while (least < most) {
        const half = (least + most) >> 1;
        if (at(half) < t) least = half + 1;
        else most = half;
      }
      return least;
    };
    const begin = firstFrom(view.from), end = firstFrom(view.to), left = end - begin - maxRows;
    const shown = sequence.slice(begin, left > 0 ? begin + maxRows : end);
    body.replaceChildren(...shown.map((k, i) => {
      const { text = "", reply = "", effect, failed, order, lane } = commands[k], of = orders[order];
      const who = [of && (of.name || `order ${of.id}`), drawing.lanes?.[lane]?.name].filter(Boolean).join(", ");
      const outcome = [effect, failed ? "failed" : "", heldText(commands[k])].filter(Boolean).join(", ");
      const cells = [timeText(commandTime(commands[k])), who, text, reply, outcome];
      const row = make("tr", failed ? "failed" : "", ...cells.map((one) => make("td", "", one.slice(0, 500))));
      row.dataset.mark = `command:${k}`;
      row.tabIndex = i === 0 ? 0 : -1;
      return row;
    }));
    rest.textContent = left > 0 ? `${left} more: zoom in` : end > begin ? "" : "no command in this window";
    light();
  }

  // drawStrip draws the number of orders in flight at each instance over time, the faults, the violations and the
  // window.
  const instances = (drawing.lanes ?? []).flatMap(({ kind, colour }, i) => (kind === "instance" ? [{ i, colour }] : []));
  const lanes = instances.length ? instances : [{ i: -1 }];
  let ground;

  function drawStrip(width) {
    const height = 36, x = (t) => Math.min(Math.max((t - whole.from) / (whole.to - whole.from) * width, 0), width);
    if (ground?.width !== width) {
      const columns = Math.ceil(width / 3) + 2, busy = lanes.map(() => new Float64Array(columns));
      index.spans.forEach(({ lo, hi }, i) => {
        const changes = busy[Math.max(lanes.findIndex((lane) => lane.i === orders[i].lane), 0)];
        if (!changes || !Number.isFinite(lo)) return;
        changes[Math.floor(x(lo) / 3)] += 1;
        changes[Math.min(Math.ceil((Number.isFinite(hi) ? x(hi) : width) / 3), columns - 2) + 1] -= 1;
      });
      for (const changes of busy) changes.forEach((change, i) => { changes[i] = change + (changes[i - 1] ?? 0); });
      const most = busy.reduce((most, counts) => Math.max(most, ...counts), 1), band = (height - 8) / lanes.length;
      const parts = [shape("rect", { class: "ground", width, height })];
      lanes.forEach(({ colour }, r) => {
        const bottom = 8 + band * (r + 1), bars = [...busy[r]].map((many, i) =>
          `L${i * 3} ${bottom - Math.max(0, many) / most * band * 0.9}h3`);
        const d = `M0 ${bottom}${bars.join("")}V${bottom}z`;
        parts.push(shape("path", { class: `density i${colour ?? 0}`, d }));
      });
      for (const { from, to } of faults.slice(0, 60)) {
        const start = x(from ?? whole.from), end = x(to ?? whole.to);
        parts.push(shape("rect", { class: "hit", x: start, y: 0, width: Math.max(end - start, 2), height: 6 }));
      }
      for (const { sign, at } of violations) {
        const times = (at ?? []).filter(Number.isFinite);
        parts.push(...times.map((t) => shape("path", { class: `violation ${sign}`, d: `M${x(t)} 0v${height}` })));
      }
      ground = { width, parts };
    }
    const from = x(view.from), to = Math.max(x(view.to), from + 4);
    strip.setAttribute("viewBox", `0 0 ${width} ${height}`);
    strip.replaceChildren(...ground.parts,
      shape("rect", { class: "window", x: from, y: 1, width: to - from, height: height - 2 }),
      ...[from - 3, to - 3].map((x) => shape("rect", { class: "grip", x, y: 8, width: 6, height: 20, rx: 3 })));
  }

  // ---- The pointer ----

  // near returns the mark at the pointer, or the nearest one within reach.
  function near({ clientX, clientY, target, pointerType }) {
    const direct = target.closest?.("[data-mark]")?.dataset.mark ?? "", reach = pointerType === "touch" ? 22 : 8;
    if (direct.startsWith("command")) return direct;
    let best = direct, least = reach;
    for (const one of drawn.querySelectorAll('[data-mark^="command"]:not(text)')) {
      const { left, right, top, bottom } = one.getBoundingClientRect();
      const away = Math.hypot(clientX - (left + right) / 2, clientY - (top + bottom) / 2);
      if (away < least) [best, least] = [one.dataset.mark, away];
    }
    return best;
  }

  const touches = new Map();
  let dragged = false;
  stage.addEventListener("pointerdown", (e) => {
    if (e.button > 0) return;
    touches.set(e.pointerId, e.clientX);
    dragged = false;
  });
  stage.addEventListener("pointermove", (e) => {
    if (e.buttons === 0) touches.delete(e.pointerId); // the button was released outside
    const before = touches.get(e.pointerId);
    if (before === undefined) return point(near(e));
    const moved = timeAt(e.clientX) - timeAt(before);
    if (touches.size === 1) {
      if (!dragged && Math.abs(e.clientX - before) < 4) return; // still a click
      dragged = true;
      stage.setPointerCapture(e.pointerId);
      show(view.from - moved, view.to - moved);
    } else {
      const [other] = [...touches].filter(([id]) => id !== e.pointerId).map(([, x]) => x);
      dragged = true;
      zoom(Math.max(Math.abs(before - other), 10) / Math.max(Math.abs(e.clientX - other), 10), timeAt(other));
    }
    touches.set(e.pointerId, e.clientX);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    stage.addEventListener(name, (e) => touches.delete(e.pointerId));
  }
  stage.addEventListener("pointerleave", () => point(""));
  stage.addEventListener("click", (e) => {
    if (dragged) return;
    chosen = near(e);
    light();
  });
  stage.addEventListener("dblclick", (e) => zoom(0.4, timeAt(e.clientX)));
  stage.addEventListener("wheel", (e) => {
    if (!e.ctrlKey && !e.metaKey) return; // scroll the page
    e.preventDefault();
    zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY * (e.deltaMode ? 0.05 : 0.004)))), timeAt(e.clientX));
  }, { passive: false });

  // Dragging on the strip moves the window, or one of its ends.
  let held;
  const stripTime = (e) => {
    const { left, width } = strip.getBoundingClientRect();
    return whole.from + (e.clientX - left) / width * (whole.to - whole.from);
  };
  strip.addEventListener("pointerdown", (e) => {
    const t = stripTime(e), reach = (whole.to - whole.from) / strip.clientWidth * (e.pointerType === "touch" ? 20 : 8);
    const from = Math.abs(t - view.from), to = Math.abs(t - view.to);
    held = { end: Math.min(from, to) > reach ? "" : from < to ? "from" : "to", last: t };
    if (!held.end && (t < view.from || t > view.to)) show(t - length() / 2, t + length() / 2);
    strip.setPointerCapture(e.pointerId);
  });
  strip.addEventListener("pointermove", (e) => {
    if (!held) return;
    const t = stripTime(e);
    if (held.end === "from") show(Math.min(t, view.to - shortest), view.to);
    else if (held.end === "to") show(view.from, Math.max(t, view.from + shortest));
    else show(view.from + t - held.last, view.to + t - held.last);
    held.last = t;
  });
  for (const name of ["pointerup", "pointercancel"]) strip.addEventListener(name, () => { held = undefined; });

  // ---- The keyboard ----

  const keys = {
    arrowleft: () => move(-0.2), a: () => move(-0.2), arrowright: () => move(0.2), d: () => move(0.2),
    "+": () => zoom(0.6), "=": () => zoom(0.6), w: () => zoom(0.6), "-": () => zoom(1 / 0.6), s: () => zoom(1 / 0.6),
    0: reset, home: reset, f: () => show(whole.from, whole.to), enter: () => step(1),
    ",": () => walk(-1), ".": () => walk(1), "shift+arrowleft": () => walk(-1), "shift+arrowright": () => walk(1),
    escape: () => {
      if (!chosen) stage.blur(); // returns the keys to the page
      chosen = "";
      light();
    },
  };

  // step selects the next mark, from left to right (the previous one if way is -1), and returns whether there is one.
  function step(way) {
    const lefts = new Map();
    for (const one of drawn.querySelectorAll("[data-mark]:not(text)")) {
      const { left } = one.getBoundingClientRect();
      lefts.set(one.dataset.mark, Math.min(lefts.get(one.dataset.mark) ?? left, left));
    }
    const marks = [...lefts].sort(([, a], [, b]) => a - b).map(([mark]) => mark), at = marks.indexOf(chosen);
    const next = at < 0 ? (way > 0 ? 0 : marks.length - 1) : at + way;
    pointed = "";
    chosen = marks[next] ?? "";
    light();
    return chosen !== "";
  }

  // walk does the same, but keeps the selection at either end.
  function walk(way) {
    const before = chosen;
    if (step(way)) return;
    chosen = before;
    light();
  }

  stage.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "Tab") { // goes through the marks once one is selected, and leaves after the last
      if (chosen && step(e.shiftKey ? -1 : 1)) e.preventDefault();
      return;
    }
    const act = keys[(e.shiftKey && e.key.startsWith("Arrow") ? "shift+" : "") + e.key.toLowerCase()];
    if (!act) return;
    e.preventDefault();
    e.stopPropagation(); // the page uses the arrows, too
    act();
  });

  // ---- The list ----

  const rowOf = (e) => e.target.closest("tr[data-mark]");
  const pointAt = (e) => point(rowOf(e)?.dataset.mark ?? "");
  for (const name of ["pointerover", "focusin"]) body.addEventListener(name, pointAt);
  for (const name of ["pointerleave", "focusout"]) body.addEventListener(name, () => point(""));
  const centre = (row) => {
    const t = commandTime(commands[row.dataset.mark.split(":")[1]]);
    chosen = row.dataset.mark;
    show(t - length() / 2, t + length() / 2);
  };
  body.addEventListener("click", (e) => rowOf(e) && centre(rowOf(e)));
  body.addEventListener("keydown", (e) => {
    const to = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[e.key];
    if (to) rowOf(e)[to]?.focus();
    else if (e.key === "Enter") centre(rowOf(e));
    else return;
    e.preventDefault();
    e.stopPropagation();
  });

  new ResizeObserver(schedule).observe(stage);
  schedule();
}
