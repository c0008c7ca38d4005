// Draws a timeline of package drawing as SVG. drawTimeline draws one frame of it, describeMark describes a mark, and
// timelineFile returns a frame as an SVG file. Strings of a drawing are untrusted: they are only ever set as text or as
// attributes, never as markup.
const { drawTimeline, describeMark, timelineFile, timelineIndex, commandTime, timeText } = (() => {
  "use strict";

  // The texts. view.words overrides them.
  const english = {
    holds: "holds the lock", believes: "believes it holds the lock", believesShort: "believes it holds",
    ending: "loses the lock within this time", late: "late release", waits: "waits", arrival: "arrival",
    heldSince: "held by {order}, since {at}", held: "held by {order}", another: "another order holds it",
    ended: "{order}: {why} at {at}", endedBy: "{order}: {why} by {at}", endedShort: "{order}: {why}",
    perhaps: "possibly held by {order}", twice: "unit {unit} sold twice", more: "and {n} more", on: "{order} on {lane}",
    released: "released", removed: "removed", expired: "TTL over", session: "session over", gone: "lock gone",
    instance: "instance {name}", who: "who", command: "command", reply: "reply", effect: "effect", node: "node",
    lock: "lock", sent: "sent", fence: "",
    answered: "answered", came: "reached the wire", sentOn: "forwarded", repliedAt: "replied", heard: "reply forwarded",
    outcome: "outcome", lease: "lease", lost: "lost its lock", fault: "fault", from: "from", until: "until",
    how: "ended", violation: "violation", evidence: "evidence", never: "never", noReply: "no reply", order: "order",
    key: "○ reads the stock,   ◆ writes the stock;   pale: only believes it holds the lock;   hatched: stopped or dead",
  };
  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);

  const maxTall = 24, maxLow = 20; // orders drawn with labels: those that matter, and others
  const maxThin = 150, maxThinRows = 12; // orders drawn thin in a lane, each as an element
  const maxTenures = 150, maxBeside = 4, maxJoins = 60, maxPairs = 8, maxMarks = 24; // the last is per order

  const known = Number.isFinite; // false for null, which is never
  const clamp = (value, least, most) => Math.min(Math.max(value, least), most);

  // ---- Elements and texts ----

  // clean replaces the characters that XML does not allow.
  const foreign = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g;
  const clean = (text) => String(text ?? "").toWellFormed().replace(foreign, "\ufffd");

  function el(tag, attributes = {}, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === undefined) continue;
      made.setAttribute(name, typeof value === "number" ? Math.round(value * 10) / 10 : value);
    }
    made.append(...children);
    return made;
  }

  const family = 'ui-sans-serif, system-ui, "DejaVu Sans", sans-serif';
  const pen = document.createElement("canvas").getContext("2d"), widths = new Map();

  // widthOf returns the width of a text in px, with a margin for the fonts of other machines.
  function widthOf(text, size, bold) {
    const key = `${size}${bold ? "b" : ""} ${text}`;
    if (!widths.has(key)) {
      if (widths.size > 5000) widths.clear();
      pen.font = `${bold ? 700 : 400} ${size}px ${family}`;
      widths.set(key, pen.measureText(text).width * 1.04 + 2);
    }
    return widths.get(key);
  }

  // clip shortens a text to a width.
  function clip(text, width, size, bold) {
    text = clean(text).slice(0, 300);
    if (widthOf(text, size, bold) <= width) return text;
    let least = 0, most = text.length;
    while (least < most) {
      const half = (least + most + 1) >> 1;
      if (widthOf(`${text.slice(0, half)}…`, size, bold) <= width) least = half;
      else most = half - 1;
    }
    return `${clean(text.slice(0, least))}…`;
  }

  // timeText returns a time in ms, rounded to a step.
  function timeText(ms, step = 0.001) {
    if (!known(ms)) return english.never;
    const text = ms.toFixed(clamp(Math.ceil(-Math.log10(step) - 1e-9), 0, 6));
    const short = text.length > 14 ? ms.toPrecision(6) : text;
    return `${short.replace(/^-(?=[0.]*$)/, "").replace("-", "−")} ms`;
  }

  function roundStep(least) {
    const power = 10 ** Math.floor(Math.log10(least));
    return power * ([1, 2, 5].find((m) => m * power >= least) ?? 10);
  }

  // ---- The index of a drawing, made once ----

  const indices = new WeakMap();

  // commandTime returns the time at which a command is drawn.
  const commandTime = ({ came, at, end, heard }) => [end, at, heard, came].find(known) ?? NaN;

  function timelineIndex(drawing) {
    if (indices.has(drawing)) return indices.get(drawing);
    const { orders = [], commands = [], tenures = [], faults = [], violations = [] } = drawing;
    const lists = () => orders.map(() => []);
    const index = { spans: [], commandsOf: lists(), tenuresOf: lists(), faultsOf: lists(), loose: [], twice: [] };
    index.spans = orders.map(({ sent, from, to, released, done }) => {
      const starts = [sent, from].filter(known), ends = [to, released, done].filter(known);
      const lo = Math.min(...(starts.length ? starts : ends)), open = starts.length > 0 && ends.length === 0;
      return { lo, hi: open ? Infinity : Math.max(...ends) };
    });
    commands.forEach((command, i) => (index.commandsOf[command.order] ?? index.loose).push(i));
    for (const list of index.commandsOf) list.sort((i, k) => commandTime(commands[i]) - commandTime(commands[k]));
    tenures.forEach(({ order }, i) => index.tenuresOf[order]?.push(i));
    faults.forEach(({ order }, i) => index.faultsOf[order]?.push(i));
    const sales = new Map();
    orders.forEach(({ units }, i) => (units ?? []).slice(0, 20).forEach((unit) => {
      sales.set(unit, [...sales.get(unit) ?? [], i]);
    }));
    index.twice = [...sales].filter(([, sold]) => sold.length > 1);
    index.sequence = commands.map((_, i) => i).filter((i) => known(commandTime(commands[i])));
    index.sequence.sort((i, k) => commandTime(commands[i]) - commandTime(commands[k]));
    const times = [index.spans.map(({ lo }) => lo), index.spans.map(({ hi }) => hi), commands.map(commandTime),
      tenures.map(({ from }) => from), faults.flatMap(({ from, to }) => [from, to]),
      violations.flatMap(({ at }) => at ?? [])].flat().filter(known);
    index.from = times.reduce((least, t) => Math.min(least, t), Infinity);
    index.to = times.reduce((most, t) => Math.max(most, t), -Infinity);
    if (!known(index.from)) Object.assign(index, { from: 0, to: 1 });
    indices.set(drawing, index);
    return index;
  }

  // nameOf returns the display name of an order.
  const nameOf = ({ name, id }) => name || `order ${id}`;
  const does = ({ does: text, units }) => clean(text).replace("#", () => units?.[0] ?? "");

  const colourOf = (lane) => `i${(lane?.colour ?? 0) % 4}`;

  // On a wall, whose lanes are tall, an instance has only its name.
  const laneName = ({ kind, name }, { height, words }) =>
    (kind === "instance" && height === undefined ? fill({ ...english, ...words }.instance, { name }) : name);

  // ---- A frame: its scale, its layers, and the lines on which its texts are placed ----

  const layers = ["back", "grid", "under", "bars", "strokes", "marks", "joins", "texts"];
  let frames = 0; // each has its own hatch, as a pattern in a hidden element is not drawn

  function newFrame(drawing, view) {
    const { size = 11, width, gaps = [] } = view, index = timelineIndex(drawing);
    let from = known(view.from) ? view.from : 0, to = known(view.to) ? view.to : from;
    if (!(to > from)) to = from + Math.max(1, Math.abs(from) * 1e-9);
    const lanes = (drawing.lanes ?? []).map((lane, i) => ({ ...lane, i, text: laneName(lane, view) }))
      .filter((lane) => !view.lanes || view.lanes(lane));
    const queue = drawing.queue ? queued(drawing, view, index, from, to) : undefined;
    const names = [...lanes.map(({ text }) => text), ...queue ? queue.map((i) => rowName(drawing, i)) : []];
    const nameWidths = names.map((name) => widthOf(clip(name, size * 12, size, true), size, true));
    const widest = Math.max(0, ...nameWidths) + size * 1.6;
    const narrow = !queue && !view.gutter && widest > width * 0.16; // a lane's name has a line of its own
    const gutter = view.gutter ?? (narrow ? size * 0.8 : Math.min(widest, width * 0.3)), right = width - size;
    const cut = (t) => gaps.reduce((left, gap) => left - Math.max(0, Math.min(t, gap.to) - gap.from), t);
    const start = cut(from), scale = (right - gutter) / Math.max(cut(to) - start, 1e-9);
    const now = known(view.now) ? view.now : Infinity, end = Math.min(to, now);
    return {
      drawing, view, index, size, width, lanes, queue, narrow, gutter, right, from, to, now, end, gaps,
      words: { ...english, ...view.words }, bare: view.height !== undefined, id: `hatch-${frames += 1}`,
      barHeight: Math.round(size * (view.height === undefined ? 1.25 : 1.6)),
      big: new Set((view.orders ?? drawing.first?.orders ?? []).slice(0, maxTall)), // the orders that matter
      focus: new Set(drawing.violations?.[0]?.orders),
      accused: new Set(drawing.violations?.flatMap(({ orders }) => orders ?? [])),
      x: (t) => clamp(gutter + (cut(t) - start) * scale, gutter, right),
      shows: (t) => known(t) && t >= from && t <= end,
      moment: (t) => timeText(t, roundStep((to - from) / 500)),
      colour: view.colour ?? ((order) => colourOf(drawing.lanes?.[order.lane])),
      name: view.name ?? nameOf, says: view.says ?? does,
      layers: Object.fromEntries(layers.map((name) => [name, el("g")])),
      sales: new Map(), // where an order sold
    };
  }

  // A line holds texts side by side. place puts a text at the first free spot: at x, with the fraction anchor of it to
  // the left of x, between least and most. A text without room is omitted: the description of its mark contains it.
  const line = (y) => ({ y, taken: [] });

  function place(f, on, className, text, spots, mark, bold = false) {
    const most = f.right - f.gutter;
    text = clip(text, most, f.size, bold);
    const width = widthOf(text, f.size, bold);
    for (const [x, anchor, least = f.gutter, most = f.right] of text ? spots : []) {
      const from = x - anchor * width, to = from + width;
      if (from < least - 1 || to > most + 1 || on.taken.some(([a, b]) => a < to + 3 && b > from - 3)) continue;
      on.taken.push([from, to]);
      f.layers.texts.append(el("text", { class: className, x: from, y: on.y, "data-mark": mark }, text));
      return true;
    }
    return false;
  }
  const within = (a, b) => [[(a + b) / 2, 0.5, a + 3, b - 3], [a + 5, 0, a, b - 3], [b - 5, 1, a + 3, b]];

  const rect = (className, x0, x1, y, height, more) =>
    el("rect", { class: className, x: x0, y, width: Math.max(x1 - x0, 0), height, ...more });
  const path = (className, d, more) => el("path", { class: className, d, ...more });
  const n = (value) => Math.round(value * 10) / 10;
  const crossAt = (x, y, r) => `M${n(x - r)} ${n(y - r)}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`;
  const diamondAt = (x, y, r) => `M${n(x)} ${n(y - r)}l${n(r)} ${n(r)}l${n(-r)} ${n(r)}l${n(-r)} ${n(-r)}z`;
  const hatched = (f) => ({ fill: `url(#${f.id})` });

  // ---- Orders on the lane of their instance ----

  // shapeOf returns the space that an order takes with its label.
  function shapeOf(f, i) {
    const order = f.drawing.orders[i], { lo, hi } = f.index.spans[i];
    const worked = known(order.from) && order.from <= f.end; // before, it waits
    const commands = f.index.commandsOf[i].map((k) => f.drawing.commands[k]), faults = f.index.faultsOf[i];
    const x0 = f.x(worked ? order.from : lo), end = worked ? (known(order.to) ? order.to : Infinity) : hi;
    const x1 = Math.max(f.x(Math.min(end, f.end)), x0 + 2.5), text = `${f.name(order)} ${f.says(order)}`;
    const bold = f.focus.has(i), width = widthOf(clip(text, f.right - f.gutter, f.size, bold), f.size, bold);
    const shape = { i, order, worked, x0, x1, text };
    shape.lo = Math.min(f.x(lo), shape.x0);
    shape.hi = Math.max(f.x(Math.min(hi, f.end)), shape.x1);
    const right = shape.hi + width + 10 <= f.right, left = shape.lo - width - 8 >= f.gutter; // there is room beside it
    const failed = commands.some(({ kind }) => kind === "refused" || kind === "unsure");
    shape.tall = f.bare || bold || order.lost || faults.length > 0 || failed || !(right || left);
    const other = f.drawing.orders[f.label?.orders.find((k) => k !== i)], joined = bold && f.label?.orders.includes(i);
    const crossed = joined && other?.lane < order.lane && other.done > order.done; // by the line to the other sale
    const beside = crossed && shape.x0 - width - 8 >= f.gutter;
    if (shape.tall) shape.labelX = beside ? shape.x0 - width - 8 : clamp(shape.x0, f.gutter, f.right - width);
    else shape.labelX = right ? shape.hi + 8 : shape.lo - 8 - width;
    shape.lo = Math.min(shape.lo, shape.labelX);
    shape.hi = Math.max(shape.hi, shape.labelX + width + 4);
    return shape;
  }

  // pack gives each shape the first row in which it touches no other, and returns the rows.
  function pack(shapes, gap, most = Infinity) {
    const rows = [];
    for (const shape of shapes.sort((a, b) => a.lo - b.lo)) {
      let row = rows.find(({ end }) => end + gap <= shape.lo);
      if (!row && rows.length < most) rows.push(row = { shapes: [] });
      if (!row) continue;
      row.shapes.push(shape);
      row.end = shape.hi;
      shape.row = row;
    }
    return rows;
  }

  // chooseOrders divides the orders in view into those drawn with labels and those drawn as thin bars.
  function chooseOrders(f) {
    const inView = f.index.spans.flatMap(({ lo, hi }, i) => (lo <= f.end && hi >= f.from ? [i] : []));
    const others = inView.filter((i) => !f.big.has(i));
    const crowd = others.length > maxLow;
    return { drawn: inView.filter((i) => f.big.has(i) || !crowd), thin: crowd ? others : [] };
  }

  function drawInstance(f, lane, top, chosen, share) {
    const { size, barHeight } = f, of = (list) => list.filter((i) => f.drawing.orders[i].lane === lane.i);
    const rows = pack(of(chosen.drawn).map((i) => shapeOf(f, i)), 6);
    const joined = f.label && rows.find(({ shapes }) => shapes.some(({ i }) => f.label.orders.includes(i)));
    if (joined && !f.label.row && !f.bare) f.label.row = joined;
    for (const row of rows) {
      row.above = barHeight / 2 + 4 + (row.shapes.some(({ tall }) => tall) ? size * 1.3 : 0);
      row.height = row.above + barHeight / 2 + 6 + (f.label?.row === row ? size * 1.7 : 0);
    }
    const thin = of(chosen.thin).flatMap((i) => {
      const { from, to } = f.drawing.orders[i], { lo, hi } = f.index.spans[i];
      if (from > f.end || known(to) && to < f.from) return []; // it only waits in this period
      const x0 = f.x(known(from) ? from : lo);
      return [{ i, lo: x0, hi: Math.max(f.x(Math.min(known(to) ? to : hi, f.end)), x0 + 2) }];
    });
    const thinRows = pack(thin, 1, maxThinRows), sentBy = (k) => f.drawing.commands[k].lane === lane.i;
    const loose = f.index.loose.filter((k) => sentBy(k) && f.shows(commandTime(f.drawing.commands[k])));
    const head = (f.narrow ? size * 1.5 : 0) + (loose.length ? barHeight + 4 : 0) + 3;
    const left = of(chosen.thin).length - thin.filter(({ row }) => row).length;
    const natural = rows.reduce((sum, { height }) => sum + height, 0);
    const tail = thinRows.length * 4 + (left ? size * 1.5 : 0) + 4;
    const height = share ?? Math.max(head + natural + tail, barHeight + 10);
    const squeeze = Math.min(1, Math.max(height - head - tail, 1) / Math.max(natural, 1)); // on a wall
    drawLane(f, lane, top, height);
    if (loose.length) drawCommands(f, loose, top + head - barHeight / 2 - 4, barHeight, line(0));
    let y = top + head;
    for (const row of rows) {
      const words = squeeze > 0.8, rowHeight = row.height * squeeze;
      row.bar = words ? barHeight : Math.max(Math.min(barHeight, rowHeight * 0.8), 1);
      row.middle = words ? y + row.above * squeeze : y + rowHeight / 2;
      row.bottom = y + rowHeight;
      for (const shape of row.shapes) drawOrder(f, shape, row);
      if (words) writeRow(f, row);
      else writeNames(f, row, rowHeight);
      y += rowHeight;
    }
    const bars = thinRows.flatMap((row, r) => row.shapes.map((shape) => [shape, y + r * 4]));
    const className = `thin ${colourOf(lane)}`;
    if (bars.length > maxThin) {
      const d = bars.map(([{ lo, hi }, at]) => `M${n(lo)} ${n(at)}h${n(hi - lo)}v3h${n(lo - hi)}z`).join("");
      f.layers.bars.append(path(className, d));
    } else {
      f.layers.bars.append(...bars.map(([{ i, lo, hi }, at]) =>
        rect(className, lo, hi, at, 3, { "data-mark": `order:${i}` })));
    }
    for (const [{ i }, at] of bars) noteSale(f, i, at + 1.5);
    if (left) {
      place(f, line(y + thinRows.length * 4 + size), "more", fill(f.words.more, { n: left }), [[f.gutter, 0]]);
    }
    drawLaneFaults(f, lane, top, height);
    return height;
  }

  function drawLane(f, lane, top, height) {
    f.layers.back.append(rect("lane", 0, f.width, top, height, { rx: 4 }));
    const room = f.narrow ? f.width - 10 : f.gutter - f.size * 0.8;
    const className = lane.kind === "instance" ? colourOf(lane) : "";
    f.layers.texts.append(el("text", { class: `name ${className}`, x: f.size * 0.6, y: top + f.size * 1.35 },
      clip(lane.text, room, f.size, true)));
  }

  // drawOrder draws a bar: solid while the order holds its lock, dashed while the lock may have ended, then a stroke,
  // and pale after it.
  function drawOrder(f, { i, order, worked, x0, x1 }, { middle, bar }) {
    const { lo, hi } = f.index.spans[i], y = middle - bar / 2, lost = order.lost;
    const group = el("g", { class: `order ${f.colour(order)} ${order.lease ? "" : "nolease"} ` +
      `${order.outcome === "sold" ? "" : "nosale"} ${f.focus.has(i) ? "focus" : ""}`, "data-mark": `order:${i}` });
    const shape = { held: x1, gone: x1 };
    if (lost && known(lost.at) && lost.at < f.end) {
      shape.gone = clamp(f.x(lost.at), x0, x1);
      shape.held = clamp(f.x(known(lost.since) ? lost.since : lost.at), x0, shape.gone);
      if (shape.gone - shape.held <= 1) shape.held = shape.gone;
    }
    const last = f.x(Math.min(hi, f.end)), waits = worked ? [[f.x(lo), x0], [x1, last]] : [[f.x(lo), last]];
    for (const [from, to] of waits) {
      if (to > from + 0.5) group.append(el("line", { class: "wait", x1: from, x2: to, y1: middle, y2: middle }));
    }
    if (worked) {
      if (!lost || shape.held > x0) group.append(rect("bar", x0, Math.max(shape.held, x0 + 2), y, bar, { rx: 2 }));
      if (shape.held < shape.gone) group.append(rect("maybe", shape.held, shape.gone, y, bar));
      if (shape.gone < x1) group.append(rect("believes", shape.gone, x1, y, bar, { rx: 2 }));
      const kept = f.index.tenuresOf[i].map((k) => f.drawing.tenures[k]).filter(({ how }) => how !== "released");
      const expiry = Math.max(order.to ?? 0, ...kept.map(({ at }) => at ?? (known(order.to) ? Infinity : 0)));
      if (f.end === f.now && expiry > f.now) group.append(rect("maybe", f.x(f.now), f.x(expiry), y, bar));
      if (f.bare && expiry > order.to) { // on a wall the lock that it left behind has no lane
        group.append(rect("maybe", x1, f.x(Math.min(expiry, f.end)), y, bar));
      }
      if (lost && f.shows(lost.at)) {
        group.append(path("over", `M${n(f.x(lost.at))} ${n(y - 4)}v${bar + 8}`));
        if (lost.how === "removed") group.append(path("stolen", crossAt(f.x(lost.at), middle, n(bar * 0.7))));
      }
      if (f.shows(order.released)) group.append(path("end", `M${n(f.x(order.released))} ${n(y - 2)}v${bar + 4}`));
    }
    f.layers.bars.append(group);
    for (const k of f.index.faultsOf[i]) {
      const fault = f.drawing.faults[k], mark = { "data-mark": `fault:${k}` };
      const [from, to] = [known(fault.from) ? fault.from : f.from, known(fault.to) ? fault.to : Infinity];
      if (from > f.end || to < f.from) continue;
      const dead = fault.kind === "kill" || fault.kind === "died";
      const end = Math.max(f.x(Math.min(to, f.end)), f.x(from) + 3);
      f.layers.marks.append(dead ? path("cross", crossAt(f.x(from), middle, 5), mark)
        : rect("fault", f.x(from), end, y + bar + 1, 4, { ...mark, ...hatched(f) }));
    }
  }

  // writeRow writes the labels of the orders in a row, the most important ones first.
  function writeRow(f, row) {
    const { barHeight, drawing, size } = f, above = line(row.middle - barHeight / 2 - size * 0.45);
    const inside = line(row.middle + size * 0.36), commands = new Map();
    for (const { i, tall, labelX, text } of row.shapes) {
      const bold = f.focus.has(i), on = tall ? above : inside;
      place(f, on, `label ${bold ? "focus" : ""}`, text, [[labelX, 0]], `order:${i}`, bold);
      commands.set(i, drawMarks(f, i, row.middle, barHeight, inside));
    }
    const each = (write) => row.shapes.filter(({ tall }) => tall).forEach((shape) => write(shape, `order:${shape.i}`));
    each(({ order: { lost } }, mark) => {
      if (!lost || !f.shows(lost.at)) return;
      inside.taken.push([f.x(lost.at) - 2, f.x(lost.at) + 2]);
      place(f, above, "overlabel", lost.why, [[f.x(lost.at) + 3, 0], [f.x(lost.at) - 3, 1]], mark, true);
    });
    each(({ i, x0, x1, order: { lost } }) => {
      for (const k of commands.get(i)) {
        const { kind, says } = drawing.commands[k], x = f.x(commandTime(drawing.commands[k]));
        if (kind !== "refused" || !says) continue;
        const spots = [[x, 0.5], [x + 8, 0], [x - 8, 1]];
        if (!place(f, above, "refusal", says, spots, `command:${k}`, true)) {
          const before = within(x0, lost ? f.x(lost.at) : x).reverse(); // the end first
          place(f, inside, "refusal", says, [[x1 + 10, 0], [x - 10, 1], ...before], `command:${k}`, true);
        }
      }
    });
    each(({ i, x1 }) => {
      for (const k of f.index.faultsOf[i]) {
        const { from, to, text, short } = drawing.faults[k], x = f.x(known(from) ? from : f.from);
        if (x >= f.right || known(to) && to < f.from) continue;
        const end = Math.max(...above.taken.map(([, b]) => b).filter((b) => b < f.right - 40), x) + 8;
        const spots = [[x, 0], [above.taken[0] ? above.taken[0][1] + 8 : x, 0], [(x + x1) / 2, 0.5], [end, 0]];
        for (const one of [text, short]) if (place(f, above, "faulttext", one, spots, `fault:${k}`)) break;
      }
    });
    const next = size * 0.42 + 5; // beside a mark
    each(({ i, x0, x1, worked, order }, mark) => {
      for (const k of commands.get(i)) {
        const { kind, says } = drawing.commands[k], x = f.x(commandTime(drawing.commands[k]));
        if (kind === "refused" || !says) continue;
        if (!place(f, inside, "inside", says, [[x + next, 0, x0, x1], [x - next, 1, x0, x1]], `command:${k}`)) {
          place(f, above, "inside", says, [[x, 0.5], [x, 0], [x, 1]], `command:${k}`);
        }
      }
      place(f, inside, "label", f.words.waits, worked ? within(f.x(f.index.spans[i].lo), x0) : within(x0, x1), mark);
      if (!worked || !order.lease || f.index.tenuresOf[i].length === 0) return;
      const at = (t) => (known(t) ? clamp(f.x(t), x0, x1) : x1);
      const gone = at(order.lost?.at), held = Math.min(at(order.lost?.since), gone);
      const until = Math.max(at(order.released), gone);
      if (order.fence) {
        const after = Math.max(f.x(f.index.spans[i].hi), x1) + 12, fence = fill(f.words.fence, order);
        place(f, inside, "fence", fence, [[held - 7, 1, x0 + 3, held], ...within(x0, held), [after, 0]], mark, true);
      }
      place(f, inside, "inside", f.words.holds, within(x0, held), mark);
      place(f, inside, "inside", f.words.ending, within(held, gone), mark);
      for (const text of [f.words.believes, f.words.believesShort]) {
        if (place(f, inside, "inside warn", text, within(gone, until), mark, true)) break;
      }
      if (order.lost) place(f, inside, "inside warn", f.words.late, within(until, x1), mark, true);
    });
  }

  // writeNames writes the names of a row that is too low for labels: beside the bars, or in them. An order of a violation
  // has its name even if the row is lower than a text.
  function writeNames(f, row, rowHeight) {
    const on = line(row.middle + f.size * 0.36), next = f.size * 0.42 + 5;
    for (const { i, x0, x1, text } of row.shapes) {
      drawMarks(f, i, row.middle, row.bar, line(0));
      if (rowHeight < f.size * 0.9 && !f.accused.has(i)) continue;
      const { lo, hi } = f.index.spans[i], last = Math.max(f.x(Math.min(hi, f.end)), x1);
      const first = Math.min(f.x(lo), x0), bold = f.focus.has(i); // beyond the last the sales of a unit are joined
      const spots = [[first - next, 1, f.gutter + f.size], [last + next, 0], ...within(x0, x1)];
      place(f, on, `label ${bold ? "focus" : ""}`, text, spots, `order:${i}`, bold);
    }
  }

  // drawMarks draws an order's commands in view, records where it sold, and returns the commands that it drew.
  function drawMarks(f, i, y, height, inside) {
    const drawn = drawCommands(f, f.index.commandsOf[i], y, height, inside, i);
    noteSale(f, i, y, inside);
    return drawn;
  }

  // drawCommands draws the commands in view, and returns those that it drew: of two at one spot only the first.
  function drawCommands(f, list, y, height, inside, order) {
    const drawn = [], last = {}, r = f.size * 0.42;
    for (const k of list) {
      const command = f.drawing.commands[k], { kind } = command, t = commandTime(command), x = f.x(t);
      const stock = ["read", "write", "refused", "unsure"].includes(kind);
      if (!f.shows(t) || x - last[kind] < (stock ? 1 : 4) || drawn.length >= maxMarks) continue;
      last[kind] = x;
      drawn.push(k);
      const colour = f.colour(f.drawing.orders[order] ?? { lane: command.lane });
      const failed = command.failed ? "failed" : "";
      const shape = {
        read: () => el("circle", { class: "read", cx: x, cy: y, r: r * 0.75 }),
        write: () => path("write", diamondAt(x, y, r)),
        unsure: () => path("unsure", diamondAt(x, y, r)),
        refused: () => path("refused", diamondAt(x, y, r * 1.4) + crossAt(x, y, n(r))),
        renew: () => path(`renew ${failed}`, `M${n(x)} ${n(y - height / 2 + 3)}l-3.5 -6h7z`),
        release: () => path(`end ${failed}`, `M${n(x)} ${n(y - height / 2 - 2)}v${height + 4}`),
        acquire: () => path(`try ${failed}`, `M${n(x)} ${n(y - height / 4)}v${n(height / 2)}`),
        woken: () => path("woken", `M${n(x)} ${n(y - 4)}v8`),
      }[kind]?.() ?? el("circle", { class: "other", cx: x, cy: y, r: 1.6 });
      shape.classList.add(colour);
      shape.setAttribute("data-mark", `command:${k}`);
      f.layers[stock ? "marks" : "strokes"].append(shape);
      inside.taken.push([x - (stock ? r : 1), x + (stock ? r : 1)]);
    }
    return drawn;
  }

  // noteSale records where an order sold: at its last write or, without one, at its answer.
  function noteSale(f, i, y, inside) {
    const { units, done } = f.drawing.orders[i], commands = f.drawing.commands ?? [];
    if (!units?.length) return;
    const write = f.index.commandsOf[i].findLast((k) => commands[k].kind === "write");
    const t = write === undefined ? done : commandTime(commands[write]);
    if (!known(t) || !f.shows(t)) return;
    const x = f.x(t);
    if (write === undefined && inside) {
      f.layers.marks.append(path("write", diamondAt(x, y, f.size * 0.42), { "data-mark": `order:${i}` }));
      inside.taken.push([x - 5, x + 5]);
    }
    f.sales.set(i, { x, y });
  }

  // drawLaneFaults hatches the lane of an instance while its process is stopped or dead, and any other during a fault.
  function drawLaneFaults(f, lane, top, height) {
    (f.drawing.faults ?? []).forEach((fault, k) => {
      const dead = fault.kind === "kill" || fault.kind === "died", around = lane.kind !== "instance";
      const from = known(fault.from) ? fault.from : f.from, to = known(fault.to) && !dead ? fault.to : Infinity;
      if (fault.lane !== lane.i || from > f.end || to < f.from) return;
      const x0 = f.x(from), x1 = Math.max(f.x(Math.min(to, f.end)), x0 + 3), mark = `fault:${k}`;
      const drawn = f.drawing.orders[fault.order] && f.index.spans[fault.order].lo <= f.end;
      if (around) {
        const middle = top + height / 2, on = line(middle + f.size * 0.36), text = fault.text;
        f.layers.bars.append(rect("fault", x0, x1, top + 3, height - 6, { "data-mark": mark, ...hatched(f) }));
        for (const one of [text, fault.short]) {
          if (place(f, on, "faulttext", one, [...within(x0, x1), [x0 - 6, 1], [x1 + 6, 0]], mark)) break;
        }
        return;
      }
      const low = fault.kind === "slow" ? 8 : height;
      if (fault.kind) {
        f.layers.under.append(rect(`stopped ${fault.kind}`, x0, x1, top + height - low, low, {
          "data-mark": mark, ...hatched(f) }));
      }
      if (f.bare) place(f, line(top + height - 10), "faulttext", fault.text, [[x0 + 4, 0], [x1, 1]], mark);
      if (dead && !drawn && f.shows(from)) {
        const r = f.bare ? f.size : 5;
        f.layers.marks.append(path("cross", crossAt(x0, top + height / 2, r), { "data-mark": mark }));
      }
    });
  }

  // ---- A queue: a row for each order, in order of arrival ----

  function queued(drawing, view, index, from, to) {
    const focus = view.orders ?? drawing.first?.orders ?? [], all = focus.length ? focus : index.spans.map((_, i) => i);
    return all.filter((i) => index.spans[i]?.lo <= to && index.spans[i].hi >= from).slice(0, maxTall);
  }
  const rowName = ({ orders, lanes = [] }, i) => fill(english.on, {
    order: clean(nameOf(orders[i])).slice(0, 60), lane: clean(lanes[orders[i].lane]?.name ?? "?").slice(0, 20) });

  function drawQueue(f, top) {
    const { size, queue, barHeight } = f, pitch = size * 1.7, height = queue.length * pitch + 8;
    f.layers.back.append(rect("lane", 0, f.width, top, height, { rx: 4 }));
    queue.forEach((i, r) => {
      const order = f.drawing.orders[i], middle = top + 4 + (r + 0.5) * pitch, inside = line(middle + size * 0.36);
      const row = { middle, bar: Math.min(barHeight, pitch - 4) }, shape = shapeOf(f, i);
      const from = known(order.from) ? order.from : Infinity;
      const x0 = f.x(Math.min(from, f.end)), sent = f.x(f.index.spans[i].lo), mark = `order:${i}`;
      drawOrder(f, shape, row);
      f.layers.under.append(rect(`queued ${f.colour(order)}`, sent, x0, middle - 2, 4, { "data-mark": mark }));
      const name = { class: `name ${f.colour(order)}`, x: size * 0.6, y: inside.y, "data-mark": mark };
      f.layers.texts.append(el("text", name, clip(rowName(f.drawing, i), f.gutter - size, size, true)));
      const turn = [[shape.x1 + 8, 0], [x0 - 8, 1]];
      place(f, inside, `turn ${order.overtaken ? "overtaken" : ""}`, order.turn, turn, mark, true);
      drawCommands(f, f.index.commandsOf[i], middle, row.bar, inside, i);
      noteSale(f, i, middle);
    });
    return height;
  }

  // ---- Locks ----

  // drawLock draws the tenures of a lock: solid while an order certainly holds it, dashed while it may still hold it.
  function drawLock(f, lane, top, alone) {
    const { size, barHeight, drawing } = f, rows = [], drawn = [];
    let last = -9;
    (drawing.tenures ?? []).forEach((tenure, k) => {
      const from = known(tenure.from) ? tenure.from : f.from, at = known(tenure.at) ? tenure.at : Infinity;
      if (tenure.lane !== lane.i || from > f.end || at < f.from) return;
      const lo = f.x(from), hi = Math.max(f.x(at), lo + 1.5);
      const focus = f.focus.has(tenure.order);
      if (hi - lo < 4 && lo - last < 3 && !focus) return; // it would cover the previous one
      last = lo;
      let row = tenure.beside ? rows.findIndex((end) => end <= lo) : 0;
      if (row < 0) row = Math.min(rows.length, maxBeside);
      rows[row] = Math.max(rows[row] ?? 0, hi);
      drawn.push({ tenure, k, lo, hi, row, focus, at });
    });
    const words = alone && rows.length < 2, pitch = barHeight + 6;
    const height = (f.narrow ? size * 1.5 : 0) + (words ? size * 1.3 : 0) + Math.max(rows.length, 1) * pitch + 4;
    drawLane(f, lane, top, height);
    const bottom = top + height - 2 - pitch / 2, above = line(bottom - barHeight / 2 - size * 0.45);
    const lines = rows.map((_, r) => line(bottom - r * pitch + size * 0.36));
    // In a crowd the shortest ones share one element for each colour, without marks.
    const ranked = drawn.sort((a, b) => b.focus - a.focus || b.hi - b.lo - (a.hi - a.lo));
    const of = ({ tenure }) => drawing.orders?.[tenure.order];
    const crowd = new Map(); // shapes, by colour
    for (const { tenure, lo, hi, row } of ranked.splice(maxTenures)) {
      const colour = of({ tenure }) ? f.colour(of({ tenure })) : "", y = bottom - row * pitch - barHeight / 2;
      crowd.set(colour, (crowd.get(colour) ?? "") + `M${n(lo)} ${n(y)}h${n(hi - lo)}v${barHeight}h${n(lo - hi)}z`);
    }
    f.layers.bars.append(...[...crowd].map(([colour, d]) => path(`thin ${colour}`, d)));
    for (const { tenure, k, lo, hi, row } of drawn) {
      const order = drawing.orders?.[tenure.order], y = bottom - row * pitch - barHeight / 2;
      const since = known(tenure.since) ? Math.min(tenure.since, f.end) : f.from;
      const solid = tenure.maybe ? lo : clamp(f.x(since), lo, hi);
      const ended = f.shows(tenure.at) ? tenure.how : undefined;
      const group = el("g", { class: `hold ${order ? f.colour(order) : ""} ${f.focus.has(tenure.order) ? "focus" : ""}`,
        "data-mark": `tenure:${k}` });
      if (!order) group.append(rect("busy", lo, hi, y, barHeight, hatched(f)));
      else if (!tenure.maybe) group.append(rect("bar", lo, Math.max(solid, lo + 1.5), y, barHeight, { rx: 1.5 }));
      if (order && hi > solid + 1) group.append(rect("maybe", solid, hi, y, barHeight));
      if (ended === "removed") group.append(path("cross", crossAt(hi, y + barHeight / 2, 5)));
      else if (ended && ended !== "released") group.append(path("over", `M${n(hi)} ${n(y - 3)}v${barHeight + 6}`));
      f.layers.bars.append(group);
    }
    const { commands = [] } = drawing, renews = (k) => commands[k].kind === "renew" && commands[k].lock === lane.i;
    drawCommands(f, f.index.sequence.filter(renews), bottom, barHeight, line(0));
    for (const { tenure, k, lo, hi, row, focus, at } of drawn.sort((a, b) => b.focus - a.focus)) {
      const order = drawing.orders?.[tenure.order], name = order ? f.name(order) : "", mark = `tenure:${k}`;
      const values = { order: name, at: f.moment(at), why: tenure.why || f.words[tenure.how] };
      const held = { order: name, at: f.moment(tenure.from) };
      const inside = !order ? [f.words.another] : tenure.maybe ? [fill(f.words.perhaps, held)]
        : [fill(f.words.heldSince, held), fill(f.words.held, held), name, name.replace(/^order /, "")];
      for (const text of inside) if (place(f, lines[row], "inside", text, within(lo, hi), mark)) break;
      if (!words || !tenure.how || !f.shows(at) || tenure.how === "released" && hi - lo < 30 && !focus) continue;
      const ended = at - tenure.since > 1.1 ? f.words.endedBy : f.words.ended, lost = tenure.how !== "released";
      for (const text of [fill(ended, values), fill(f.words.endedShort, values), values.why]) {
        if (place(f, above, lost ? "overlabel" : "gone", text, [[hi, 1], [hi - 3, 0], [hi, 0.5]], mark, lost)) break;
      }
    }
    return height;
  }

  // ---- Violations ----

  const signs = {
    "stock-broken": "m-5 -5l10 10m0 -10l-10 10", "lock-broken": "m0 -6l6.5 11.5h-13z", stuck: "m-5 -5h10v10h-10z",
    unfair: "m0 -6l6 6l-6 6l-6 -6z",
  };
  const severity = ({ sign }) => (sign in signs ? sign : "lock-broken");

  function drawHeadline(f, y) {
    const on = line(y);
    let x = f.size * 0.6;
    (f.drawing.violations ?? []).forEach((violation, i) => {
      const text = clip(violation.what, f.width - 40, f.size, true), width = widthOf(text, f.size, true);
      if (i > 0 && x + width + 40 > f.width) return;
      const group = el("g", { class: severity(violation), "data-mark": `violation:${i}` },
        path("sign", `M${n(x + 6)} ${n(on.y - f.size * 0.36)}${signs[severity(violation)]}`),
        el("text", { class: "verdict", x: x + 18, y: on.y }, text));
      f.layers.texts.append(group);
      x += width + 36;
    });
  }

  // drawOverlaps shades the time in which two orders held a lock, or believed that they did.
  function drawOverlaps(f, top, bottom) {
    (f.drawing.violations ?? []).forEach((violation, i) => {
      const [from, to = from] = (violation.at ?? []).filter(known).sort((a, b) => a - b);
      if (violation.sign !== "lock-broken" || !(from <= f.end && to >= f.from)) return;
      const x0 = f.x(from), x1 = Math.max(f.x(to), x0 + 2), mark = { "data-mark": `violation:${i}` };
      f.layers.under.append(rect(`overlap ${severity(violation)}`, x0, x1, top, bottom - top, mark));
    });
  }

  // drawJoins rings and joins the sales of a unit that was sold more than once: those of the violation last, on top.
  function drawJoins(f) {
    let left = maxJoins;
    const first = f.label, matters = (i) => Boolean(first?.orders.includes(i));
    const pairs = f.index.twice.flatMap(([unit, orders]) => {
      const sold = orders.filter((i) => f.sales.has(i)).sort((a, b) => f.sales.get(a).x - f.sales.get(b).x);
      if (sold.length > maxPairs) {
        bracket(f, sold.map((i) => f.sales.get(i)));
        return [];
      }
      return sold.slice(1).map((b, k) => ({ unit, a: sold[k], b, first: matters(b) && matters(sold[k]) }));
    });
    for (const pair of pairs.sort((a, b) => a.first - b.first)) {
      if (left-- <= 0 && !pair.first) continue;
      const a = f.sales.get(pair.a), b = f.sales.get(pair.b), bend = Math.max(a.x, b.x) > f.right - 60 ? -18 : 18;
      const flat = b.x - a.x > 200; // browsers thin the stroke of such a flat curve
      const d = flat ? `M${n(a.x)} ${n(a.y)}L${n(b.x)} ${n(b.y)}`
        : `M${n(a.x)} ${n(a.y)}C${n(a.x + bend)} ${n(a.y)} ${n(b.x + bend)} ${n(b.y)} ${n(b.x)} ${n(b.y)}`;
      const mark = first ? `violation:${first.i}` : undefined;
      f.layers.joins.append(el("g", { class: `join ${pair.first ? "first" : ""}`, "data-mark": mark },
        path("", d), ...[a, b].map(({ x, y }) => el("circle", { cx: x, cy: y, r: f.size * 0.68 }))));
      if (!pair.first || !first.row || first.written) continue;
      first.written = true;
      const text = fill(f.words.twice, { unit: pair.unit }), width = widthOf(text, f.size, true) + 10;
      // The label is where the line crosses the space below the row.
      const y = first.row.bottom - f.size * 0.95, t = clamp((y - a.y) / (b.y - a.y || 1), 0, 1);
      const middle = a.x + (b.x - a.x) * t + (flat ? 0 : 3 * bend * t * (1 - t));
      const x = clamp(middle - width / 2, f.gutter, f.right - width);
      f.layers.texts.append(rect("tagbox", x, x + width, y - f.size * 0.75, f.size * 1.5, { rx: 3 }),
        el("text", { class: "twice", x: x + 5, y: y + f.size * 0.36, "data-mark": mark }, text));
    }
  }

  // bracket joins the sales of a unit with many buyers, where lines from sale to sale would tangle.
  function bracket(f, sales) {
    const xs = sales.map(({ x }) => x), ys = sales.map(({ y }) => y);
    const x = Math.min(Math.max(...xs) + f.size, f.right - 2);
    const left = x - f.size * 0.6, [top, bottom] = [Math.min(...ys), Math.max(...ys)];
    const d = `M${n(left)} ${n(top)}H${n(x)}V${n(bottom)}H${n(left)}`;
    f.layers.joins.append(el("g", { class: "join first" }, path("", d)));
  }

  // ---- The whole frame ----

  function drawAxis(f, top, bottom) {
    const most = Math.floor((f.right - f.gutter) / (widthOf(f.moment(f.to), f.size) + f.size * 2));
    const step = roundStep((f.to - f.from) / Math.max(1, most)), on = line(top - f.size * 0.6);
    const first = Math.ceil(f.from / step);
    for (let i = 0; i < 40 && (first + i) * step <= f.to; i++) {
      const t = (first + i) * step, x = f.x(t);
      if (f.gaps.some((gap) => t > gap.from && t < gap.to)) continue;
      f.layers.grid.append(el("line", { class: "grid", x1: x, x2: x, y1: top - 4, y2: bottom }));
      place(f, on, "axis", timeText(t, step), [[x, 0.5, 0, f.width], [x, 1, 0, f.width], [x, 0]]);
    }
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
    const f = newFrame(drawing, view), { size, lanes } = f, violations = drawing.violations ?? [];
    const alone = lanes.filter(({ kind }) => kind === "lock").length === 1;
    const headed = !f.bare && view.headline !== false && violations.length > 0;
    const twice = violations.findIndex(({ unit, orders }) => unit && (orders ?? []).length > 1);
    if (twice >= 0) f.label = { i: twice, orders: violations[twice].orders };
    const top = f.bare ? 0 : size * (headed ? 4.2 : 2.2);
    const share = f.bare ? (view.height - 4 * (lanes.length - 1)) / Math.max(lanes.length, 1) : undefined;
    let y = top;
    if (headed) drawHeadline(f, size * 1.3);
    const chosen = chooseOrders(f);
    if (f.queue) y += drawQueue(f, y) + 4;
    for (const lane of lanes) {
      if (f.queue && lane.kind === "instance") continue;
      if (lane.kind === "instance") y += drawInstance(f, lane, y, chosen, share) + 4;
      else if (lane.kind === "lock") y += drawLock(f, lane, y, alone) + 4;
      else {
        const height = f.barHeight + 10 + (f.narrow ? size * 1.5 : 0);
        drawLane(f, lane, y, height);
        drawLaneFaults(f, lane, y + (f.narrow ? size * 1.5 : 0), f.barHeight + 10);
        y += height + 4;
      }
    }
    if (!f.bare) drawAxis(f, top, y);
    drawOverlaps(f, top, y);
    drawJoins(f);
    const across = (className, t) => path(className, `M${n(f.x(t))} ${n(top)}V${n(y)}`);
    f.layers.grid.append(...f.gaps.filter(({ from }) => f.shows(from)).map(({ from }) => across("gap", from)));
    if (f.now >= f.from && f.now <= f.to) f.layers.joins.append(across("now", f.now));
    const height = Math.max(view.height ?? y, 1), units = "userSpaceOnUse", turned = "rotate(45)";
    const pattern = { id: f.id, width: 6, height: 6, patternUnits: units, patternTransform: turned };
    const hatch = el("pattern", pattern, el("line", { class: "hatch", x1: 0, y1: 0, x2: 0, y2: 6 }));
    const svg = el("svg", { class: "timeline", width: f.width, height, viewBox: `0 0 ${n(f.width)} ${n(height)}`,
      "font-size": size, role: "img", "aria-label": clean(violations[0]?.text || "timeline").slice(0, 300),
      "data-from": String(f.from), "data-to": String(f.to) }, el("defs", {}, hatch), ...Object.values(f.layers));
    svg.timeAt = (x) => f.from + (x - f.gutter) / (f.right - f.gutter) * (f.to - f.from); // for a viewer, without gaps
    return svg;
  }

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
      return [[w.who, who(one.order, one.lane)], [w.command, one.text],
        [w.reply, one.reply || (known(one.end) ? "" : w.noReply)], [w.came, timeOf(one.came)],
        [wire ? w.sentOn : w.sent, timeOf(one.at)], [wire ? w.repliedAt : w.answered, timeOf(one.end)],
        [w.heard, timeOf(one.heard)], [w.effect, one.effect], [w.node, one.node], [w.lock, lane(one.lock)]];
    },
    order: (one, w, { lane }) => [[w.who, [nameOf(one), lane(one.lane)].filter(Boolean).join(", ")],
      [w.outcome, does(one) || one.outcome], [w.sent, timeOf(one.sent)], [w.answered, timeText(one.done)],
      [one.lease ? w.lease : w.from, spanOf(one.from, one.to)], [w.released, timeOf(one.released)],
      [w.lost, one.lost && `${one.lost.why}, ${timeText(one.lost.at)}`], [w.order, one.id]],
    tenure: (one, w, { lane, who, drawing }) => [[w.lock, drawing.lanes?.[one.lane]?.title || lane(one.lane)],
      [w.who, who(one.order) || w.another], [w.from, timeOf(one.from)],
      [w.until, one.since < one.at ? spanOf(one.since, one.at) : timeOf(one.at)], [w.how, one.why || w[one.how]]],
    fault: (one, w, { who }) => [[w.fault, one.text], [w.who, who(one.order, one.lane)], [w.from, timeOf(one.from)],
      [w.until, timeOf(one.to)]],
    violation: (one, w) => [[w.violation, one.what], [w.evidence, one.text]],
  };

  // timelineFile returns a frame as the text of a self-contained SVG file. Its colours, light and dark, are the rules
  // of the element drawing-style.
  function timelineFile(drawing, view, title, story) {
    const edge = 15, text = (className, y, content) => el("text", { class: className, x: edge, y }, content);
    const { size = 11, width } = view, words = { ...english, ...view.words };
    const svg = drawTimeline(drawing, { ...view, headline: false }); // it is in the title
    const lines = clean(story).slice(0, 2000).split(/\s+/).reduce((all, word) => {
      const longer = all.length ? `${all.at(-1)} ${word}` : word;
      if (all.length && widthOf(longer, 13) <= width) return [...all.slice(0, -1), longer];
      return [...all, clip(word, width, 13)];
    }, []);
    const top = edge + 30 + 18 * lines.length, height = top + svg.height.baseVal.value + size * 2 + edge;
    const whole = width + 2 * edge, told = lines.map((one, i) => text("story", edge + 40 + 18 * i, one));
    const file = el("svg", { class: "timeline", width: whole, height, viewBox: `0 0 ${n(whole)} ${n(height)}`,
      role: "img", "aria-labelledby": "title desc", "font-size": size },
    el("title", { id: "title" }, clean(title)), el("desc", { id: "desc" }, clean(story)),
    el("style", {}, document.getElementById("drawing-style")?.textContent ?? ""),
    rect("paper", 0.5, whole - 0.5, 0.5, height - 1, { rx: 8 }),
    text("title", edge + 18, clip(title, width, 20, true)), ...told,
    el("g", { transform: `translate(${edge} ${n(top)})` }, ...svg.childNodes),
    text("key", height - edge, clip(words.key, width, size)));
    return new XMLSerializer().serializeToString(file);
  }

  return { drawTimeline, describeMark, timelineFile, timelineIndex, commandTime, timeText };
})();
