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

// isSignature reports whether a line is the signature of a rung, which names every change and shows none.
func (l line) isSignature() bool {
	return strings.HasPrefix(l.Text, "func ") || strings.HasPrefix(strings.TrimSpace(l.Text), "return func(ctx ")
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
