"use strict";

// unpackDrawing returns a drawing with the rows of drawing.go from the columns of its JSON: times are in milliseconds,
// null for never; empty fields are missing.
function unpackDrawing(packed) {
  const drawing = { lanes: [], orders: [], tenures: [], commands: [], faults: [], violations: [], notes: [] };
  for (const [name, value] of Object.entries(packed)) drawing[name] = value.by ? rowsOf(value) : value;
  return drawing;
}

function rowsOf({ rows, times, by }) {
  const names = Object.keys(by).filter((name) => !times?.includes(name));
  let above = 0;
  return Array.from({ length: rows }, (_, r) => {
    const row = Object.fromEntries(names.map((name) => [name, by[name][r]]));
    let last = above, first = true;
    for (const name of times ?? []) {
      const step = by[name]?.[r] ?? null;
      row[name] = step === null ? null : (last += step) / 1000;
      if (step !== null) {
        if (first) above = last;
        first = false;
      }
    }
    return row;
  });
}

// cannotInflate is the sentence that a page shows in place of content that the browser cannot unpack; empty if it can.
const cannotInflate = "DecompressionStream" in globalThis ? "" : "This needs a browser from 2023 or later.";

// inflate returns the value that drawing.Compress packed into a text.
async function inflate(text) {
  const bytes = Uint8Array.from(atob(text.trim()), (char) => char.charCodeAt(0));
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(inflated).text());
}
