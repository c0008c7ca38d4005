package stage

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// A line of code is in one rung (-), in the other (+), or in both.
type line struct {
	Op   string `json:"op"`
	Text string `json:"text"`
}

// maxLines bounds the lines of a difference on the wall.
const maxLines = 40

// diff returns the lines that differ between two texts.
func diff(old, changed string) (lines []line) {
	lines = []line{}
	unified, _ := udiff.ToUnifiedDiff("", "", old, udiff.Lines(old, changed), 0) // cannot fail: the edits are its own
	ops := map[udiff.OpKind]string{udiff.Delete: "-", udiff.Insert: "+", udiff.Equal: " "}
	for _, hunk := range unified.Hunks {
		for _, one := range hunk.Lines {
			text := strings.ReplaceAll(strings.TrimRight(one.Content, "\n"), "\t", "  ")
			if strings.TrimSpace(text) != "" {
				lines = append(lines, line{ops[one.Kind], text})
			}
		}
	}
	return lines[:min(len(lines), maxLines)]
}
