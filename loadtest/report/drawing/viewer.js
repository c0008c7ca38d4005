"use strict";
function viewTimeline(box, drawing) { const { from, to } = drawing.first; box.replaceChildren(drawTimeline(drawing, { from, to, width: box.clientWidth })); }
