package html

import (
	"cmp"
	"slices"
	"strings"

	"stockapi/loadtest/history"
)

// faultsOf returns the faults of an order: from its own trace if it was answered, else from the notes of the client.
func (d *drawing) faultsOf(op *history.Op) []history.Fault {
	var traced, noted []history.Fault
	for i := range op.Trace {
		if cmd := &op.Trace[i]; cmd.Fault() {
			traced = append(traced, history.Fault{Order: op.Order, Instance: op.Instance, Text: cmd.Key,
				Kind: history.FaultKindOf(cmd.Key), At: cmd.At, End: cmd.End})
		}
	}
	for _, f := range d.cell.Faults {
		if f.Order == op.Order && f.On == "" {
			noted = append(noted, f)
		}
	}
	if len(traced) > 0 && !slices.ContainsFunc(noted, kills) {
		return traced
	}
	return noted
}

// around draws a lane for the faults of the network, and one for those of each kind of servers.
func (d *drawing) around() {
	for _, lane := range []struct{ on, name string }{
		{"network", "network"}, {"locks", "lock servers"}, {"stock", "stock's server"},
	} {
		var faults []history.Fault
		for _, f := range d.cell.Faults {
			if f.On == lane.on && f.At.Known() && f.End.Known() && d.meets(span{float64(f.At), float64(f.End)}) {
				faults = append(faults, f)
			}
		}
		if len(faults) == 0 {
			continue
		}
		d.lane(lane.name, rowHeight+4)
		for _, f := range faults {
			d.aroundOne(f, d.y+2+rowHeight/2)
		}
		d.y += rowHeight + 8
	}
}

// aroundOne hatches the time of one fault, with its text inside if there is room, else beside it.
func (d *drawing) aroundOne(f history.Fault, middle float64) {
	x0, x1 := d.faultSpan(f)
	x0, x1 = max(x0, gutter), min(max(x1, x0+3), d.right())
	d.rect("fault", d.faultText(f), x0, x1, middle-barHeight/2-2, barHeight+4)
	text := clip(f.Instance+", "+f.Text, 90)
	d.put("faulttext", append(d.within(x0, x1, middle+4, text),
		spot{x0 - 6, middle + 4, text, "end"}, spot{x1 + 6, middle + 4, text, ""})...)
}

// faults hatches the time of each fault below its order's bar, and marks the death of a process by a cross.
func (d *drawing) faults(op *history.Op, middle float64) {
	for _, f := range d.faultsOf(op) {
		x0, x1 := d.faultSpan(f)
		if kills(f) {
			d.cross(x0, middle)
			continue
		}
		d.rect("fault", d.faultText(f), x0, max(x1, x0+3), middle+barHeight/2+1, 4)
	}
}

// faultWords writes what happened to an order on the line above its bar: as the client noted it, if it did.
func (d *drawing) faultWords(b *bar, line float64) {
	faults := d.faultsOf(b.op)
	if len(faults) == 0 {
		return
	}
	text := describePoint(faults[0].Text)
	for _, f := range d.cell.Faults {
		if f.Order == b.op.Order && f.On == "" {
			text = f.Text
		}
	}
	var spots []spot
	for _, text := range []string{clip(text, 90), clip(text, 40)} {
		spots = append(spots, spot{b.labelX + textWidth(b.label)*1.06 + 16, line, text, ""})
		spots = append(append(spots, d.within(b.x0, b.x1, line, text)...), d.within(b.x0, d.right(), line, text)...)
	}
	d.put("faulttext", append(spots, spot{d.right(), line, clip(text, 60), "end"})...)
}

// describePoint puts a point of a fault, such as "hold@before:set/stock", into words.
func describePoint(point string) string {
	action, at, found := strings.Cut(point, "@")
	if !found {
		return point
	}
	action, _, _ = strings.Cut(action, ":")
	done := map[string]string{"hold": "held", "stop": "stopped", "sleep": "delayed", "crash": "killed"}[action]
	return cmp.Or(done, action) + " " + strings.Replace(at, ":", " ", 1)
}

// stopped hatches the whole lane for the time in which the whole process was stopped or dead.
func (d *drawing) stopped(bars []*bar, height float64) {
	for _, b := range bars {
		for _, f := range d.faultsOf(b.op) {
			if f.Kind == "" {
				continue
			}
			x0, x1 := d.faultSpan(f)
			if kills(f) {
				x1 = d.right()
			}
			d.rect("stopped", "the whole process: "+d.faultText(f), x0, max(x1, x0+3), d.y, height)
		}
	}
}

func (d *drawing) faultSpan(f history.Fault) (x0, x1 float64) {
	x0, x1 = gutter, d.right()
	if f.At.Known() {
		x0 = d.x(float64(f.At))
	}
	if f.End.Known() {
		x1 = d.x(float64(f.End))
	}
	return x0, max(x0, x1)
}

func (d *drawing) faultText(f history.Fault) string {
	return "fault " + clip(f.Text, 80) + ", " + d.when(f.At) + " to " + d.when(f.End)
}

func kills(f history.Fault) bool { return f.Kind == history.FaultKill }
