"use strict";

// drawTimeline returns a part of a drawing as an svg element. view has
//
//   from, to    the time that is shown, in ms
//   width       in px; and height, if the lanes are to share it
//   size        of the text, in px
//   orders      the numbers of those that are drawn with all that they did; of others there is a thin bar if there are many
//   lanes       says of a lane whether it is drawn
//   now         nothing later is drawn but the end of a lease; without it all has happened
//   gaps        times {from, to} that are cut out
//   gutter      the room for the names of lanes, in px
//   name, says, colour    what an order is called, what became of it, and the class of its colour
//   why         says of what an order has lost why; "" writes nothing
//   words       in place of the English ones
//   headline    false leaves out the line that names the violation
//
// A mark has data-mark, such as "command:12": its kind, and its number in the drawing. All text is set as text.
function drawTimeline(drawing, view) {
  return new Timeline(drawing, view).draw();
}

const timelineWords = {
  holds: "holds the lock", believes: "believes it holds the lock", shorter: "believes it holds",
  ends: "its lock ends at some time here", late: "its release comes late", waits: "waits", twice: "unit {unit} sold twice",
  held: "held by {name}", since: "since {at}", more: "and {count} more", arrival: "arrival", order: "order {id}",
  "stock-broken": "stock broken", "lock-broken": "lock broken", stuck: "stuck", unfair: "unfair",
};

// orderName returns what an order is called.
const orderName = (order) => order.name || timelineWords.order.replace("{id}", order.id);

// momentText returns a time in ms or s, with as many decimals as a span of that length needs.
function momentText(ms, span) {
  const digits = Math.max(0, Math.min(3, Math.ceil(2 - Math.log10(Math.max(span, 1e-3)))));
  return Math.abs(ms) < 10000 ? `${ms.toFixed(digits)} ms` : `${(ms / 1000).toFixed(Math.min(6, digits + 2))} s`;
}

const svgSpace = "http://www.w3.org/2000/svg";

function svgElement(tag, className, attributes = {}, ...children) {
  const made = document.createElementNS(svgSpace, tag);
  if (className) made.setAttribute("class", className);
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, typeof value === "number" ? Math.round(value * 10) / 10 : value);
  }
  made.append(...children);
  return made;
}

// A Line keeps texts and marks of one line from covering each other.
class Line {
  constructor() { this.taken = []; }

  take(from, to) { this.taken.push([from, to]); }

  isFree(from, to) { return this.taken.every(([a, b]) => to <= a || b <= from); }
}

class Timeline {
  constructor(drawing, view) {
    const colour = (order) => `i${drawing.lanes[order.lane]?.colour ?? 0}`;
    const says = (order) => order.does.replace("#", order.units?.[0] ?? "");
    Object.assign(this, { size: 11, gaps: [], lanes: () => true, name: orderName, says, colour, why: (lost) => lost.why,
      now: Infinity }, view);
    this.drawing = drawing;
    this.words = { ...timelineWords, ...view.words };
    this.shown = new Set(view.orders ?? drawing.first.orders ?? []);
    this.pen = document.createElement("canvas").getContext("2d");
    this.pen.font = `600 ${this.size}px system-ui, sans-serif`;
    const names = drawing.lanes.filter(this.lanes).map((lane) => this.wide(lane.name));
    if (drawing.queue) names.push(this.wide(this.words.arrival));
    this.gutter = view.gutter ?? Math.max(...names, 20) + 16;
    this.span = this.drawnTime(this.to) - this.drawnTime(this.from) || 1;
    this.right = this.width - 4;
    this.bar = this.size * 1.25;
    this.back = svgElement("g"); // below the lines of the axis
    this.front = svgElement("g");
    this.joined = svgElement("g"); // above all else
    this.sales = [];
  }

  // ---- Time and room ----

  // drawnTime is a time without those before it that are cut out.
  drawnTime(at) {
    return this.gaps.reduce((left, gap) => left - Math.max(0, Math.min(at, gap.to) - gap.from), at);
  }

  x(at) {
    const share = (this.drawnTime(at) - this.drawnTime(this.from)) / this.span;
    return this.gutter + Math.max(-9, Math.min(9, share)) * (this.right - this.gutter);
  }

  // ends returns when something ends: at the right edge or now, if that is not known.
  ends(...times) {
    const known = times.filter((at) => at !== null && at !== undefined);
    return Math.min(known.length ? Math.max(...known) : Infinity, this.now, this.to + (this.to - this.from));
  }

  isSeen(from, to) { return from <= this.to && to >= this.from && from <= this.now; }

  inSight(x) { return x >= this.gutter && x <= this.right; }

  wide(text) { return this.pen.measureText(text).width + 2; }

  put(parent, className, x, y, text, anchor = "start") {
    parent.append(svgElement("text", className, { x, y, "font-size": this.size, "text-anchor": anchor }, text));
  }

  // write puts a text on a line where there is room: at x, else ending there, else beside what stands there.
  write(parent, className, line, x, y, text, elsewhere = true) {
    const width = this.wide(text), begin = Math.min(Math.max(x, this.gutter + 2), this.right - width);
    const right = line.taken.map(([, to]) => to + 5).filter((to) => to > begin).sort((a, b) => a - b);
    const left = line.taken.map(([from]) => from - width - 5).filter((from) => from < begin).sort((a, b) => b - a);
    for (const from of [begin, ...elsewhere ? [x - width - 6, ...right, ...left] : []]) {
      if (from < this.gutter || from + width > this.right + 2 || !line.isFree(from - 3, from + width + 3)) continue;
      this.put(parent, className, from, y, text);
      line.take(from, from + width + 6);
      return true;
    }
    return false;
  }

  // within puts the first of some texts that fits into the widest free room between two places of a line.
  within(parent, className, line, from, to, y, ...texts) {
    const inner = line.taken.filter(([a, b]) => b > from && a < to).sort(([a], [b]) => a - b);
    let best = [0, 0], at = Math.max(from, this.gutter);
    for (const [a, b] of [...inner, [Math.min(to, this.right), 0]]) {
      if (a - at > best[1] - best[0]) best = [at, a];
      at = Math.max(at, b);
    }
    const text = texts.find((one) => this.wide(one) + 8 <= best[1] - best[0]);
    if (!text) return false;
    const middle = (best[0] + best[1]) / 2, half = this.wide(text) / 2;
    this.put(parent, className, middle, y, text, "middle");
    line.take(middle - half, middle + half);
    return true;
  }

  // ---- The whole ----

  draw() {
    const { violations } = this.drawing, first = violations[0];
    this.y = this.top = this.size * (first && this.headline !== false ? 4.2 : 2.4);
    if (this.height) this.y = this.top = 0;
    this.packAll();
    for (const [i, lane] of this.drawing.lanes.entries()) {
      if (this.lanes(lane) && this.rows[i]) this[`${lane.kind}Lane`](i, lane);
    }
    for (const [i, v] of violations.entries()) {
      if (v.verdict === "exclusion") this.overlap(v, i);
    }
    this.joins();
    const height = this.height ?? this.y;
    const svg = svgElement("svg", `timeline ${first?.sign ?? ""}`, { viewBox: `0 0 ${this.width} ${Math.ceil(height)}`,
      width: this.width, height: Math.ceil(height), role: "img" }, svgElement("defs", "", {}, hatch("hatch", 45), hatch("hatch2", -45)),
    this.back, ...this.height ? [] : [this.axis(height)], ...this.gaps.map((gap) =>
      svgElement("path", "gap", { d: `M${this.x(gap.from)} 0V${height}` })), this.front, this.joined);
    if (first && this.headline !== false && !this.height) svg.append(this.headlineOf(first));
    if (this.now < this.to) svg.append(svgElement("path", "now", { d: `M${this.x(this.now)} 0V${height}` }));
    svg.setAttribute("aria-label", first ? first.text : "timeline");
    return svg;
  }

  axis(height) {
    const group = svgElement("g"), room = (this.right - this.gutter) / this.wide("00000.000 ms") / 1.3;
    const raw = this.span / Math.max(1, room), power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 5, 10].find((times) => times * power >= raw);
    for (let at = Math.ceil(this.from / step) * step, n = 0; at <= this.to && n < 40; at += step, n++) {
      const x = this.x(at), half = this.wide(momentText(at, this.span)) / 2;
      group.append(svgElement("line", "grid", { x1: x, x2: x, y1: this.top - 6, y2: height }));
      const middle = Math.max(this.gutter + half, Math.min(this.right - half, x));
      this.put(group, "axis", middle, this.top - 10, momentText(at, step * 10), "middle");
    }
    return group;
  }

  headlineOf({ sign, what }) {
    const y = this.size * 1.4, r = this.size / 2, shapes = {
      "stock-broken": `M8 ${y - r}m${-r / 1.2} ${-r / 1.2}l${r * 1.7} ${r * 1.7}m0 ${-r * 1.7}l${-r * 1.7} ${r * 1.7}`,
      "lock-broken": `M8 ${y - 2 * r}l${r * 1.2} ${2 * r}h${-r * 2.4}z`,
      stuck: `M${8 - r} ${y - 1.8 * r}h${2 * r}v${2 * r}h${-2 * r}z`,
      unfair: `M8 ${y - 2 * r}l${r * 1.2} ${r * 1.2}l${-r * 1.2} ${r * 1.2}l${-r * 1.2} ${-r * 1.2}z`,
    };
    const group = svgElement("g", `headline ${sign}`, {}, svgElement("path", "sign", { d: shapes[sign] ?? "" }));
    this.put(group, "verdict", 20, y, what ? `${this.words[sign]}: ${what}` : this.words[sign]);
    return group;
  }

  lane(lane, height) {
    const { y } = this;
    this.back.append(svgElement("rect", "lane", { x: 0, y, width: this.width, height, rx: 4 }));
    const name = svgElement("g", lane.kind === "instance" ? `lane-name i${lane.colour}` : "lane-name", {},
      svgElement("rect", "head", { x: 0, y, width: this.gutter - 4, height, rx: 4 }));
    this.put(name, "name", 8, y + (this.height ? height / 2 + this.size / 3 : this.size * 1.4), lane.name);
    name.append(svgElement("title", "", {}, lane.title ?? lane.name));
    this.front.append(name);
    this.y += height + 4;
    return y;
  }

  // ---- The lanes of instances ----

  start(order) { return order.sent ?? order.from ?? 0; }

  // packAll decides in which row of its lane each order is drawn that is seen. A queue is one lane.
  packAll() {
    const { lanes, queue } = this.drawing;
    this.rows = lanes.map(({ kind }, i) => (queue && kind === "instance" && i > 0 ? undefined : { tall: [], thin: [] }));
    const seen = this.drawing.orders.map((order, number) => ({ order, number })).filter(({ order }) =>
      order.lane >= 0 && this.isSeen(this.start(order), this.ends(order.done, order.to, order.released)));
    const few = seen.length <= 20;
    seen.sort((a, b) => this.start(a.order) - this.start(b.order));
    for (const one of seen) {
      const { order, number } = one, { tall, thin } = this.rows[queue ? 0 : order.lane];
      if (few || this.shown.has(number)) tall.push(one);
      else if (this.isSeen(order.from ?? this.start(order), this.ends(order.from === null ? order.done : order.to))) thin.push(one);
    }
    for (const lane of this.rows.filter(Boolean)) {
      lane.tallRows = this.pack(lane.tall, (one) => [this.x(this.start(one.order)), Math.max(
        this.x(this.ends(one.order.done, one.order.to, one.order.released)), this.labelEnd(one.order))]);
      const rows = this.pack(lane.thin, ({ order }) => [this.x(order.from ?? this.start(order)),
        this.x(this.ends(order.from === null ? order.done : order.to)) - 6]);
      lane.thinRows = Math.min(12, rows);
      lane.more = lane.thin.filter((one) => one.row >= 12).length;
      lane.thin = lane.thin.filter((one) => one.row < 12);
    }
  }

  pack(all, extent) {
    const ends = [];
    for (const one of all) {
      const [from, to] = extent(one);
      one.row = this.drawing.queue && all === this.rows[0]?.tall ? ends.length : ends.findIndex((end) => end + 8 <= from);
      if (one.row < 0) one.row = ends.length;
      ends[one.row] = to;
    }
    return ends.length;
  }

  label(order) {
    const at = this.drawing.queue ? ` on ${this.drawing.lanes[order.lane]?.name}: ` : " ";
    return this.name(order) + at + (order.turn || this.says(order));
  }

  labelEnd(order) {
    const x = Math.max(this.gutter + 2, this.x(order.from ?? this.start(order)));
    return this.drawing.queue ? 0 : Math.min(x, this.right - this.wide(this.label(order))) + this.wide(this.label(order)) + 8;
  }

  instanceLane(number, lane) {
    const { tall, thin, tallRows, thinRows, more } = this.rows[number];
    const line = this.drawing.queue ? 0 : this.size * 1.45;
    let tallRow = line + this.bar + this.size * 0.55, height = tallRows * tallRow + thinRows * 4 + (more ? this.size * 1.5 : 0) + 8;
    if (this.height) { // the lanes share it
      const lanes = this.drawing.lanes.filter(this.lanes).length;
      height = (this.height - 4 * (lanes - 1)) / lanes;
      tallRow = Math.min(tallRow * 1.4, (height - 8 - thinRows * 4) / Math.max(2, tallRows));
    }
    if (tall.length + thin.length === 0 && !this.height) height = tallRow + 8;
    const y = this.lane(this.drawing.queue ? { kind: "queue", name: this.words.arrival } : lane, height);
    this.drawing.faults.forEach((fault, i) => {
      if (fault.lane === number && fault.kind && !this.drawing.queue) this.stopped(fault, i, y, height);
    });
    for (const { order, row } of thin) {
      const top = y + 4 + tallRows * tallRow + row * 4, from = order.from ?? this.start(order);
      const x = this.x(from);
      this.front.append(svgElement("rect", `thin ${this.colour(order)}${order.from === null ? " idle" : ""}`,
        { x, y: top, width: Math.max(1.5, this.x(this.ends(order.from === null ? order.done : order.to)) - x), height: 3 }));
    }
    if (more) this.put(this.front, "gone", this.gutter + 2, y + height - 5, this.words.more.replace("{count}", more));
    const { bar } = this, labelled = tallRow >= bar + line * 0.9;
    if (this.height) this.bar = Math.min(bar * 1.5, tallRow - 3 - (labelled ? line : 0));
    for (const one of tall) {
      this.order(one, y + 4 + one.row * tallRow, tallRow, labelled ? line : 0);
    }
    this.bar = bar;
  }

  stopped({ kind, from, to, text }, i, y, height) {
    const x = this.x(from ?? this.from), end = this.x(kind === "stop" ? this.ends(to) : Math.min(this.now, this.to));
    if (!this.isSeen(from ?? this.from, kind === "stop" ? this.ends(to) : Infinity)) return;
    const rect = svgElement("rect", "stopped", { x: Math.max(x, this.gutter), y, "data-mark": `fault:${i}`,
      width: Math.max(3, Math.min(end, this.right) - Math.max(x, this.gutter)), height }, svgElement("title", "", {}, text));
    this.front.append(rect);
  }

  // order draws an order in a row: a line of text, and its bar below.
  order({ order, number }, top, row, line) {
    const middle = top + line + this.bar / 2, edge = middle - this.bar / 2, above = new Line(), on = new Line();
    const focus = this.drawing.violations.some((v) => v.orders?.includes(number));
    const group = svgElement("g", `order ${this.colour(order)}${order.lease ? "" : " nolease"}${focus ? " focus" : ""}${
      order.outcome === "sold" ? "" : " nosale"}${order.overtaken ? " overtaken" : ""}`, { "data-mark": `order:${number}` });
    this.front.append(group);
    const begins = this.x(this.start(order)), over = this.x(this.ends(order.done, order.to));
    if (this.drawing.queue && order.from !== null) {
      group.append(svgElement("rect", "queued", { x: begins, y: middle - 2, width: Math.max(0, this.x(order.from) - begins), height: 4 }));
    }
    group.append(svgElement("line", "wait", { x1: Math.max(begins, this.gutter), x2: Math.min(over, this.right), y1: middle, y2: middle }));
    if (order.from !== null) this.tenureOf(order, group, edge);
    this.drawing.faults.forEach((fault, i) => {
      if (fault.order !== number || !this.isSeen(fault.from ?? this.from, this.ends(fault.to))) return;
      const x = this.x(fault.from ?? this.from), end = this.x(this.ends(fault.to));
      group.append(fault.kind === "kill" ? svgElement("path", "cross", { d: crossAt(x, middle, 5), "data-mark": `fault:${i}` })
        : svgElement("rect", "fault", { x, y: edge + this.bar + 1, width: Math.max(3, end - x), height: 4, "data-mark": `fault:${i}` }));
    });
    const marks = svgElement("g"), says = [];
    this.drawing.commands.forEach((command, i) => {
      if (command.order === number) this.command(command, i, { marks, says, on, middle, edge });
    });
    this.sale(order, number, middle, on);
    group.append(marks);
    this.wordsOf(order, number, group, { above, on, line, edge, middle, says });
  }

  // tenureOf draws the bar of an order: solid while it has its lock, dashed while that may have ended, pale from there on.
  tenureOf(order, group, y) {
    const { lost } = order, height = this.bar, from = this.x(order.from), to = Math.max(this.x(this.ends(order.to)), from + 2);
    const since = lost ? Math.min(Math.max(this.x(lost.since ?? lost.at), from), to) : to;
    const gone = lost ? Math.min(Math.max(this.x(lost.at), from), to) : to;
    const rect = (className, a, b) => b > a && group.append(svgElement("rect", className,
      { x: Math.max(a, this.gutter), y, width: Math.max(0, Math.min(b, this.right) - Math.max(a, this.gutter)), height, rx: 2 }));
    rect("bar", from, Math.max(since, from + (lost ? 0 : 2)));
    rect("maybe", since, gone);
    rect("believes", gone, to);
    if (lost && order.to === null && lost.at > this.now) rect("maybe", this.x(this.now), this.x(lost.at)); // still to come
    if (order.left) rect("maybe", to, this.x(order.left.at ?? this.ends()));
    if (lost && this.inSight(this.x(lost.at)) && lost.at <= this.now) {
      group.append(svgElement("path", "over", { d: `M${this.x(lost.at)} ${y - 3}v${height + 6}` }));
      if (lost.how === "removed") {
        group.append(svgElement("path", "stolen", { d: crossAt(this.x(lost.at), y + height / 2, height * 0.7) }));
      }
    }
    if (order.to === null && this.now < Infinity && lost === null) return;
    if (order.released !== null && this.inSight(this.x(order.released)) && order.released <= this.now) {
      group.append(svgElement("path", "end", { d: `M${this.x(order.released)} ${y - 2}v${height + 4}` }));
    }
  }

  // command draws a mark: what is sent is a line while it is under way, if there is room to see that.
  command(command, i, { marks, says, on, middle, edge }) {
    const at = command.end ?? command.at, begun = command.came ?? command.at;
    if (at === null || begun > this.now || !this.isSeen(begun, command.heard ?? at)) return;
    const x = this.x(Math.min(at, this.now)), r = Math.min(this.bar * 0.42, this.size * 0.6);
    if (this.x(command.heard ?? at) - this.x(begun) > 6) {
      marks.append(svgElement("path", "flight", { d: `M${this.x(begun)} ${middle}H${this.x(Math.min(command.heard ?? at, this.now))}` }));
    }
    if (!this.inSight(x)) return;
    const failed = command.failed ? " failed" : "", diamond = `M${x} ${middle - r}l${r} ${r}l${-r} ${r}l${-r} ${-r}z`;
    const shapes = {
      read: () => svgElement("circle", "read", { cx: x, cy: middle, r: r * 0.75 }),
      write: () => svgElement("path", "write", { d: diamond }),
      refused: () => svgElement("path", "refused", { d: diamond + crossAt(x, middle, r) }),
      unsure: () => svgElement("path", "unsure", { d: diamond }),
      renew: () => svgElement("path", `renew${failed}`, { d: `M${x} ${edge + 3}l${-r * 0.8} ${-r * 1.3}h${r * 1.6}z` }),
      acquire: () => svgElement("path", `try${failed}`, { d: `M${x} ${edge}v${this.bar}` }),
      release: () => svgElement("path", `end${failed}`, { d: `M${x} ${edge - 2}v${this.bar + 4}` }),
      woken: () => svgElement("path", "woken", { d: `M${x} ${middle - 4}v8` }),
      other: () => svgElement("circle", "other", { cx: x, cy: middle, r: 1.6 }),
    };
    const mark = shapes[command.kind]();
    mark.setAttribute("data-mark", `command:${i}`);
    marks.append(mark);
    if (command.kind !== "woken") on.take(x - r, x + r);
    if (command.says) says.push({ x, r, text: command.says, kind: command.kind });
    if (command.kind === "write" && !command.failed) this.lastWrite = { order: command.order, x };
  }

  // sale notes where an order sold its units: at its last write, or at its answer if no write was seen.
  sale(order, number, y, on) {
    if (order.outcome !== "sold") return;
    const x = this.lastWrite?.order === number ? this.lastWrite.x : this.x(order.done ?? order.to ?? 0);
    const written = this.drawing.commands.some((one) => one.order === number && one.kind === "write");
    if (written && this.lastWrite?.order !== number || !this.inSight(x) || order.done === null && !written) return;
    for (const unit of order.units ?? []) this.sales.push({ unit, x, y, number });
    on.take(x - 7, x + 7);
  }

  wordsOf(order, number, group, { above, on, line, edge, middle, says }) {
    const y = edge - this.size * 0.35, inside = middle + this.size * 0.36, { lost } = order;
    const from = this.x(order.from ?? this.start(order)), to = this.x(this.ends(order.to, order.from === null ? order.done : null));
    if (this.drawing.queue) {
      this.write(group, "turn", on, to + 10, inside, this.label(order));
    } else if (line) {
      this.write(group, "label", above, from, y, this.label(order));
      const why = lost && lost.at <= this.now && this.inSight(this.x(lost.at)) ? this.why(lost) : "";
      if (why) this.write(group, "overlabel", above, this.x(lost.at) + 4, y, why);
    }
    for (const { x, text, kind } of line && !this.drawing.queue ? says : []) {
      if (kind !== "read") this.write(group, "refusal", above, x - this.wide(text), y, text);
    }
    for (const { x, r, text, kind } of says) {
      if (kind === "read" && x + r + this.wide(text) < to) this.write(group, "inside", on, x + r + 3, inside, text, false);
    }
    const fault = this.drawing.faults.find((one) => one.order === number);
    if (fault && line) {
      const x = this.x(fault.from ?? this.from);
      this.write(group, "faulttext", above, x, y, fault.text) || this.write(group, "faulttext", above, x, y, fault.short ?? fault.text);
    }
    if (order.from === null || !order.lease || this.bar < this.size) return;
    const gone = lost ? Math.min(Math.max(this.x(lost.at), from), to) : to;
    if (order.fence && this.words.fence) {
      const fence = this.words.fence.replace("{fence}", order.fence);
      this.within(group, "fence", on, from, gone, inside, fence) || this.write(group, "fence", on, to + 4, inside, fence);
    }
    const since = lost ? Math.min(this.x(lost.since ?? lost.at), gone) : to;
    this.within(group, "inside", on, from, since, inside, this.words.holds);
    if (lost) {
      this.within(group, "inside", on, since, gone, inside, this.words.ends);
      this.within(group, "inside warn", on, gone, to, inside, this.words.believes, this.words.shorter);
    }
  }

  // ---- The other lanes ----

  aroundLane(number, lane) {
    const y = this.lane(lane, this.bar + 8), line = new Line();
    this.drawing.faults.forEach((fault, i) => {
      if (fault.lane !== number || !this.isSeen(fault.from ?? this.from, this.ends(fault.to))) return;
      const x = Math.max(this.gutter, this.x(fault.from ?? this.from)), end = Math.min(this.right, this.x(this.ends(fault.to)));
      this.front.append(svgElement("rect", "fault", { x, y: y + 3, width: Math.max(3, end - x), height: this.bar + 2, "data-mark": `fault:${i}` }));
      this.write(this.front, "faulttext", line, x + 4, y + 4 + this.bar * 0.75, fault.text);
    });
  }

  lockLane(number, lane) {
    const single = this.drawing.lanes.filter(({ kind }) => kind === "lock").length === 1, rows = [];
    const all = this.drawing.tenures.map((tenure, i) => ({ tenure, i })).filter(({ tenure }) => tenure.lane === number &&
      this.isSeen(tenure.from ?? this.from, this.ends(tenure.at)));
    for (const one of all.slice(0, 400)) { // those that share the lock have rows of their own
      one.row = one.tenure.beside ? Math.max(0, Math.min(3, rows.findIndex((end) => end <= one.tenure.from))) : 0;
      if (one.tenure.beside && !(rows[one.row] <= one.tenure.from) && rows.length < 4) one.row = rows.length;
      rows[one.row] = Math.max(rows[one.row] ?? 0, one.tenure.at ?? Infinity);
    }
    const text = single && rows.length < 2 ? this.size * 1.45 : 0, row = this.bar + 5;
    const y = this.lane(lane, text + Math.max(1, rows.length) * row + 6), above = new Line();
    const rank = ({ tenure }) => (this.drawing.violations.some((v) => v.orders?.includes(tenure.order)) ? 0 : 1);
    for (const one of all.slice(0, 400).sort((a, b) => rank(a) - rank(b))) this.tenure(one, y + 4 + text + one.row * row, text ? above : null);
    this.drawing.commands.forEach((command, i) => {
      const x = this.x(command.end ?? command.at);
      if (command.lock !== number || command.kind !== "renew" || !this.inSight(x)) return;
      this.front.append(svgElement("path", `renew${command.failed ? " failed" : ""}`, { d: `M${x} ${y + 7 + text}l-3.5 -6h7z`, "data-mark": `command:${i}` }));
    });
  }

  tenure({ tenure, i }, y, above) {
    const order = this.drawing.orders[tenure.order], height = this.bar, line = new Line();
    const from = this.x(tenure.from ?? this.from), at = this.x(this.ends(tenure.at)), since = Math.min(at, this.x(this.ends(tenure.since)));
    const group = svgElement("g", `hold ${order ? this.colour(order) : ""}`, { "data-mark": `tenure:${i}` });
    const rect = (className, a, b) => group.append(svgElement("rect", className, { x: Math.max(a, this.gutter), y,
      width: Math.max(1.5, Math.min(b, this.right) - Math.max(a, this.gutter)), height, rx: 2 }));
    this.front.append(group);
    if (tenure.maybe) rect(order ? "maybe" : "busy", from, at);
    else {
      rect("bar", from, at - since > 1 ? since : at);
      if (at - since > 1) rect("maybe", since, at);
    }
    if (this.inSight(at) && tenure.how === "removed") group.append(svgElement("path", "cross", { d: crossAt(at, y + height / 2, 5) }));
    else if (this.inSight(at) && !["", "released", undefined].includes(tenure.how)) {
      group.append(svgElement("path", "over", { d: `M${at} ${y - 3}v${height + 6}` }));
    }
    if (!order) return;
    const name = this.name(order), held = this.words.held.replace("{name}", name);
    const begun = this.words.since.replace("{at}", momentText(tenure.from ?? 0, this.span));
    if (!tenure.maybe) this.within(group, "label", line, from, at, y + height * 0.78, `${held}, ${begun}`, held, name);
    if (!above || !tenure.why) return;
    const when = tenure.at - tenure.since > 1.1 ? "by" : "at", full = `${name}: ${tenure.why} ${when} ${momentText(tenure.at ?? 0, this.span)}`;
    const texts = tenure.maybe ? [tenure.why] : tenure.how === "released" ? [] : [full, `${name}: ${tenure.why}`, tenure.why];
    const x = tenure.maybe ? from : at;
    texts.some((text) => this.inSight(x) && this.write(this.front, tenure.how && !tenure.maybe ? "overlabel" : "gone", above, x - this.wide(text) / 2,
      y - this.size * 0.4, text));
  }

  // ---- What joins orders ----

  overlap({ at, text, sign }) {
    const times = (at ?? []).filter((one) => one !== null);
    if (times.length === 0 || !this.isSeen(Math.min(...times), Math.max(...times))) return;
    const x = Math.max(this.gutter, this.x(Math.min(...times))), end = Math.min(this.right, this.x(Math.max(...times)));
    this.back.append(svgElement("rect", `overlap ${sign}`, { x, y: this.top - 4, width: Math.max(2, end - x), height: this.y - this.top },
      svgElement("title", "", {}, text)));
  }

  // joins rings and joins the sales of each unit that was sold more than once. The violation's come last, on top.
  joins() {
    const first = this.drawing.violations.find((v) => v.unit && v.orders?.length > 1);
    const isFirst = (sale) => first && sale.unit === first.unit && first.orders.includes(sale.number);
    const units = Map.groupBy(this.sales, (sale) => sale.unit);
    for (const strong of [false, true]) {
      for (const [unit, all] of units) {
        const sales = strong ? all.filter(isFirst) : all;
        if (sales.length < 2 || strong === false && all.some(isFirst) && all.length < 3) continue;
        this.join(unit, sales.sort((a, b) => a.x - b.x), strong);
      }
    }
  }

  join(unit, sales, strong) {
    const group = svgElement("g", `join${strong ? " first" : ""} stock-broken`);
    this.joined.append(group);
    sales.slice(1).forEach((b, i) => {
      const a = sales[i], bend = Math.abs(b.x - a.x) > 200 ? 0 : a.x > this.right - 60 || b.x > this.right - 60 ? -18 : 18;
      group.append(svgElement("path", "joins", { d: bend ? `M${a.x} ${a.y}C${a.x + bend} ${a.y} ${b.x + bend} ${b.y} ${b.x} ${b.y}`
        : `M${a.x} ${a.y}L${b.x} ${b.y}` }));
    });
    for (const { x, y } of sales) group.append(svgElement("circle", "", { cx: x, cy: y, r: this.size * 0.7 }));
    if (!strong || this.height) return;
    const [a, b] = sales, text = this.words.twice.replace("{unit}", unit), half = this.wide(text) / 2 + 6;
    // Between the lanes nothing else is written.
    const upper = Math.min(a.y, b.y), y = upper + this.bar / 2 + this.size * 1.35, share = b.y === a.y ? 0.5 : (y - a.y) / (b.y - a.y);
    const x = Math.max(this.gutter + half, Math.min(this.right - half, a.x + (b.x - a.x) * Math.max(0, Math.min(1, share))));
    group.append(svgElement("rect", "tagbox", { x: x - half, y: y - this.size, width: 2 * half, height: this.size * 1.4, rx: 3 }));
    this.put(group, "twice", x, y, text, "middle");
  }
}

const crossAt = (x, y, r) => `M${x - r} ${y - r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`;

function hatch(id, angle) {
  return svgElement("pattern", "", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: `rotate(${angle})` },
    svgElement("line", id, { x1: 0, y1: 0, x2: 0, y2: 6 }));
}
