// Draws a timeline of package drawing as SVG: the parts that layout.js places. drawTimeline draws one frame,
// describeMark describes a mark, and timelineFile returns a frame as an SVG file. Strings of a drawing are untrusted:
// they are only ever set as text or as attributes, never as markup.
const { drawTimeline, describeMark, timelineFile } = (() => {
  "use strict";

  const { english, clean, clip, wrap, nameOf, does } = timelineTexts;
  const known = Number.isFinite; // false for null, which is never

  // ---- Elements ----

  function el(tag, attributes = {}, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== undefined) made.setAttribute(name, typeof value === "number" ? n(value) : value);
    }
    made.append(...children);
    return made;
  }

  const n = (value) => Math.round(value * 10) / 10;
  const path = (className, d, more) => el("path", { class: className, d, ...more });
  const rect = (className, { lo, hi, y, height }, more) =>
    el("rect", { class: className, x: lo, y, width: Math.max(hi - lo, 0), height, ...more });
  const textOf = (className, { text, x, y, mark }) => el("text", { class: className, x, y, "data-mark": mark }, text);
  const marked = ({ mark }) => ({ "data-mark": mark });

  const boxAt = ({ lo, hi, y, height }) => `M${n(lo)} ${n(y)}h${n(hi - lo)}v${height}h${n(lo - hi)}z`;
  const crossAt = (x, y, r) => `M${n(x - r)} ${n(y - r)}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`;
  const diamondAt = (x, y, r) => `M${n(x)} ${n(y - r)}l${n(r)} ${n(r)}l${n(-r)} ${n(r)}l${n(-r)} ${n(-r)}z`;
  const across = (className, { x, top, bottom }) => path(className, `M${n(x)} ${n(top)}V${n(bottom)}`);
  const upright = (className, x, y, height) => path(className, `M${n(x)} ${n(y)}v${height}`);

  // ---- The parts of a frame ----

  // Each layer covers the ones before it, and has the functions that return the elements of its parts. hatch is the
  // fill of what is stopped, dead or cut off.
  const layers = {
    back: { lane: ({ top, height }, { width }) => rect("lane", { lo: 0, hi: width, y: top, height }, { rx: 4 }) },
    grid: {
      tick: ({ x, top, bottom }) => el("line", { class: "grid", x1: x, x2: x, y1: top, y2: bottom }),
      gap: (part) => across("gap", part),
    },
    under: {
      queued: (part) => rect(`queued ${part.className}`, part, marked(part)),
      stop: (part, { hatch }) => rect(`stopped ${part.of}`, part, { ...marked(part), ...hatch }),
      overlap: (part) => rect("overlap lock-broken", part, marked(part)),
    },
    bars: {
      order: drawOrder,
      tenure: drawTenure,
      thin: (part) => rect(`thin ${part.className}`, part, marked(part)),
      crowd: ({ className, bars, height }) =>
        path(`thin ${className}`, bars.map((bar) => boxAt({ ...bar, height })).join("")),
      outage: (part, { hatch }) => rect("fault", part, { ...marked(part), ...hatch }),
    },
    strokes: { command: drawCommand },
    marks: {
      access: drawCommand,
      sale: (part) => path("write", diamondAt(part.x, part.y, part.r), marked(part)),
      death: (part) => path("cross", crossAt(part.x, part.y, part.r), marked(part)),
      pause: (part, { hatch }) => rect("fault", part, { ...marked(part), ...hatch }),
    },
    joins: { join: drawJoin, bracket: drawBracket, now: (part) => across("now", part) },
    texts: {
      text: (part) => textOf(part.className, part),
      tag: (part) => rect("tagbox", part, { rx: 3 }),
      verdict: drawVerdict,
    },
  };
  const kinds = Object.fromEntries(Object.entries(layers).flatMap(([layer, draws]) =>
    Object.entries(draws).map(([kind, draw]) => [kind, { layer, draw }])));

  function drawOrder({ className, mark, middle, height, waits, bars, lost, released }) {
    const y = middle - height / 2;
    const group = el("g", { class: `order ${className}`, "data-mark": mark });
    for (const [from, to] of waits) {
      group.append(el("line", { class: "wait", x1: from, x2: to, y1: middle, y2: middle }));
    }
    for (const bar of bars) {
      const rx = bar.className === "maybe" ? undefined : 2;
      group.append(rect(bar.className, { ...bar, y, height }, { rx }));
    }
    if (lost) group.append(upright("over", lost.x, y - 4, height + 8));
    if (lost?.how === "removed") group.append(path("stolen", crossAt(lost.x, middle, n(height * 0.7))));
    if (released !== undefined) group.append(upright("end", released, y - 2, height + 4));
    return group;
  }

  function drawTenure({ className, mark, bars, hi, y, height, end }, { hatch }) {
    const group = el("g", { class: `hold ${className}`, "data-mark": mark });
    const looks = { busy: hatch, bar: { rx: 1.5 } };
    for (const bar of bars) group.append(rect(bar.className, { ...bar, y, height }, looks[bar.className]));
    if (end === "removed") group.append(path("cross", crossAt(hi, y + height / 2, 5)));
    else if (end && end !== "released") group.append(upright("over", hi, y - 3, height + 6));
    return group;
  }

  function drawCommand({ of, failed, colour, x, y, r, height, mark }) {
    const shapes = {
      read: () => el("circle", { class: "read", cx: x, cy: y, r: r * 0.75 }),
      write: () => path("write", diamondAt(x, y, r)),
      unsure: () => path("unsure", diamondAt(x, y, r)),
      refused: () => path("refused", diamondAt(x, y, r * 1.4) + crossAt(x, y, n(r))),
      renew: () => path("renew", `M${n(x)} ${n(y - height / 2 + 3)}l-3.5 -6h7z`),
      release: () => upright("end", x, y - height / 2 - 2, height + 4),
      acquire: () => upright("try", x, y - height / 4, n(height / 2)),
      woken: () => upright("woken", x, y - 4, 8),
    };
    const shape = shapes[of]?.() ?? el("circle", { class: "other", cx: x, cy: y, r: 1.6 });
    if (failed && ["renew", "release", "acquire"].includes(of)) shape.classList.add("failed");
    shape.classList.add(colour);
    shape.setAttribute("data-mark", mark);
    return shape;
  }

  const signs = {
    "stock-broken": "m-5 -5l10 10m0 -10l-10 10", "lock-broken": "m0 -6l6.5 11.5h-13z", stuck: "m-5 -5h10v10h-10z",
    unfair: "m0 -6l6 6l-6 6l-6 -6z",
  };

  function drawVerdict({ sign, text, x, y, mark }, { size }) {
    const severity = Object.hasOwn(signs, sign) ? sign : "lock-broken";
    return el("g", { class: severity, "data-mark": mark },
      path("sign", `M${n(x + 6)} ${n(y - size * 0.36)}${signs[severity]}`),
      textOf("verdict", { text, x: x + 18, y }));
  }

  function drawJoin({ first, a, b, bend, flat, r, mark }) {
    const curve = `C${n(a.x + bend)} ${n(a.y)} ${n(b.x + bend)} ${n(b.y)} ${n(b.x)} ${n(b.y)}`;
    const line = path("", `M${n(a.x)} ${n(a.y)}${flat ? `L${n(b.x)} ${n(b.y)}` : curve}`);
    const rings = [a, b].map(({ x, y }) => el("circle", { cx: x, cy: y, r }));
    return el("g", { class: `join ${first ? "first" : ""}`, "data-mark": mark }, line, ...rings);
  }

  function drawBracket({ lo, hi, top, bottom }) {
    return el("g", { class: "join first" }, path("", `M${n(lo)} ${n(top)}H${n(hi)}V${n(bottom)}H${n(lo)}`));
  }

  // ---- The whole frame ----

  let frames = 0; // each has its own hatch, as a pattern in a hidden element is not drawn

  function hatchOf(id) {
    const pattern = { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
    return el("pattern", pattern, el("line", { class: "hatch", x1: 0, y1: 0, x2: 0, y2: 6 }));
  }

  // drawTimeline returns a frame as an svg element. Each mark has a data-mark, such as "command:12": its kind and its
  // index in the drawing. view has
  //
  //   from, to, width   the period that is shown, in ms, and its width in px
  //   size              the font size in px, 11 by default
  //   orders            the indices of those that matter; if there are many others, those are thin bars
  //   lanes             returns whether a lane is drawn
  //   height            of all lanes together, in px; leaves out axis and headline: for a wall
  //   now               nothing later is drawn, except when a lease will expire
  //   gaps              periods {from, to} that are cut out
  //   gutter            the width of the lanes' names, in px
  //   name, says        return the name of an order and its outcome; colour: its class
  //   words             replaces English texts
  //   headline          false leaves out the line of violations
  function drawTimeline(drawing, view) {
    const { parts, size, width, height, from, to, timeAt } = layOutTimeline(drawing, view);
    const id = `hatch-${frames += 1}`, look = { size, width, hatch: { fill: `url(#${id})` } };
    const groups = Object.fromEntries(Object.keys(layers).map((layer) => [layer, el("g")]));
    for (const part of parts) {
      const { layer, draw } = kinds[part.kind];
      groups[layer].append(draw(part, look));
    }
    const label = clean(drawing.violations?.[0]?.text || "timeline").slice(0, 300);
    const svg = el("svg", {
      class: "timeline", width, height, viewBox: `0 0 ${n(width)} ${n(height)}`, "font-size": size,
      role: "img", "aria-label": label, "data-from": String(from), "data-to": String(to),
    }, el("defs", {}, hatchOf(id)), ...Object.values(groups));
    svg.timeAt = timeAt; // for a viewer
    return svg;
  }

  // ---- The description of a mark ----

  // describeMark returns the description of a mark, as [{term, text}].
  function describeMark(drawing, mark, words = {}) {
    const w = { ...english, ...words }, [kind, number] = String(mark).split(":");
    const one = drawing[`${kind}s`]?.[number], lane = (i) => drawing.lanes?.[i]?.name;
    if (!one || !(kind in describe)) return [];
    const whose = (i) => drawing.orders?.[i] && nameOf(drawing.orders[i]);
    const who = (order, i) => [whose(order), lane(i)].filter(Boolean).join(", ");
    return describe[kind](one, w, { lane, who, drawing })
      .filter(([, text]) => text).map(([term, text]) => ({ term, text: clean(text) }));
  }

  const timeOf = (t) => (known(t) ? timeText(t) : undefined);
  const spanOf = (from, to) => (known(from) || known(to) ? `${timeText(from)} – ${timeText(to)}` : undefined);
  const describe = {
    command(one, w, { lane, who }) {
      const wire = known(one.came) || known(one.heard);
      return [
        [w.who, who(one.order, one.lane)],
        [w.command, one.text],
        [w.reply, one.reply || (known(one.end) ? "" : w.noReply)],
        [w.came, timeOf(one.came)],
        [wire ? w.sentOn : w.sent, timeOf(one.at)],
        [wire ? w.repliedAt : w.answered, timeOf(one.end)],
        [w.heard, timeOf(one.heard)],
        [w.effect, one.effect],
        [w.node, one.node],
        [w.lock, lane(one.lock)],
      ];
    },
    order: (one, w, { lane }) => [
      [w.who, [nameOf(one), lane(one.lane)].filter(Boolean).join(", ")],
      [w.outcome, does(one) || one.outcome],
      [w.sent, timeOf(one.sent)],
      [w.answered, timeText(one.done)],
      [one.lease ? w.lease : w.from, spanOf(one.from, one.to)],
      [w.released, timeOf(one.released)],
      [w.lost, one.lost && `${one.lost.why}, ${timeText(one.lost.at)}`],
      [w.order, one.id],
    ],
    tenure: (one, w, { lane, who, drawing }) => [
      [w.lock, drawing.lanes?.[one.lane]?.title || lane(one.lane)],
      [w.who, who(one.order) || w.another],
      [w.from, timeOf(one.from)],
      [w.until, one.since < one.at ? spanOf(one.since, one.at) : timeOf(one.at)],
      [w.how, one.why || w[one.how]],
    ],
    fault: (one, w, { who }) => [
      [w.fault, one.text],
      [w.who, who(one.order, one.lane)],
      [w.from, timeOf(one.from)],
      [w.until, timeOf(one.to)],
    ],
    violation: (one, w) => [[w.violation, one.what], [w.evidence, one.text]],
  };

  // ---- A file ----

  // timelineFile returns a frame as the text of a self-contained SVG file. Its colours, light and dark, are the rules
  // of the element drawing-style.
  function timelineFile(drawing, view, title, story) {
    const { size = 11, width } = view, edge = 15;
    const svg = drawTimeline(drawing, { ...view, headline: false }); // it is in the title
    const lines = wrap(story, width, 13);
    const top = edge + 30 + 18 * lines.length;
    const height = top + svg.height.baseVal.value + size * 2 + edge, whole = width + 2 * edge;
    const text = (className, y, content) => textOf(className, { x: edge, y, text: content });
    const file = el("svg", {
      class: "timeline", width: whole, height, viewBox: `0 0 ${n(whole)} ${n(height)}`,
      role: "img", "aria-labelledby": "title desc", "font-size": size,
    },
    el("title", { id: "title" }, clean(title)),
    el("desc", { id: "desc" }, clean(story)),
    el("style", {}, document.getElementById("drawing-style")?.textContent ?? ""),
    rect("paper", { lo: 0.5, hi: whole - 0.5, y: 0.5, height: height - 1 }, { rx: 8 }),
    text("title", edge + 18, clip(title, width, 20, true)),
    ...lines.map((one, i) => text("story", edge + 40 + 18 * i, one)),
    el("g", { transform: `translate(${edge} ${n(top)})` }, ...svg.childNodes),
    text("key", height - edge, clip({ ...english, ...view.words }.key, width, size)));
    return new XMLSerializer().serializeToString(file);
  }

  return { drawTimeline, describeMark, timelineFile };
})();
