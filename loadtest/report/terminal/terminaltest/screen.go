// Package terminaltest has terminals for tests: a screen that obeys what is written to it, and a pseudo-terminal of the
// system that ends in one.
package terminaltest

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// A Screen is a terminal, as far as loadtest uses one: text that wraps, a return to the line's beginning, one line up,
// the rest of a line erased, and colours. It panics at anything else. What leaves it at its top is kept.
type Screen struct {
	mu            sync.Mutex
	columns, rows int
	lines         [][]rune
	x, y          int
	wrapped       bool
	rest          []byte // a rune or a sequence that is not written whole yet
}

// New returns an empty screen of that size.
func New(columns, rows int) *Screen {
	return &Screen{columns: columns, rows: rows, lines: make([][]rune, 1)}
}

// Size returns the size.
func (v *Screen) Size() (columns, rows int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.columns, v.rows
}

// Write obeys what is written.
func (v *Screen) Write(b []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.rest = append(v.rest, b...)
	for v.obey() {
	}
	return len(b), nil
}

var sequence = regexp.MustCompile(`^\x1b\[([0-9;]*)([A-Za-z])`)

// obey obeys the next rune or sequence, if it is whole.
func (v *Screen) obey() bool {
	if len(v.rest) > 0 && v.rest[0] == '\x1b' {
		found := sequence.FindSubmatch(v.rest)
		if found == nil {
			return false
		}
		v.control(string(found[1]), string(found[2]))
		v.rest = v.rest[len(found[0]):]
		return true
	}
	if !utf8.FullRune(v.rest) {
		return false
	}
	r, n := utf8.DecodeRune(v.rest)
	v.rest = v.rest[n:]
	switch r {
	case '\r':
		v.x = 0
	case '\n':
		v.down()
	default:
		v.put(r)
	}
	return true
}

func (v *Screen) control(numbers, letter string) {
	n, _ := strconv.Atoi(numbers)
	switch letter {
	case "A":
		v.y = max(0, v.y-max(1, n))
	case "K":
		v.lines[v.y] = v.lines[v.y][:min(v.x, len(v.lines[v.y]))]
	case "m":
	default:
		panic("what is " + numbers + letter)
	}
}

func (v *Screen) put(r rune) {
	if v.x == v.columns {
		v.wrapped = true
		v.down()
	}
	for len(v.lines[v.y]) <= v.x {
		v.lines[v.y] = append(v.lines[v.y], ' ')
	}
	v.lines[v.y][v.x] = r
	v.x++
}

func (v *Screen) down() {
	v.x, v.y = 0, v.y+1
	if v.y == len(v.lines) {
		v.lines = append(v.lines, nil)
	}
}

// Resize breaks lines anew where they have become too long, as most terminals do.
func (v *Screen) Resize(columns, rows int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var lines [][]rune
	for _, line := range v.lines[:v.y+1] { // below the cursor there is nothing
		for len(line) > columns {
			lines, line = append(lines, line[:columns:columns]), line[columns:]
		}
		lines = append(lines, line)
	}
	v.lines, v.y, v.columns, v.rows = lines, len(lines)-1, columns, rows
}

// String returns all lines.
func (v *Screen) String() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var all strings.Builder
	for _, line := range v.lines {
		all.WriteString(string(line) + "\n")
	}
	return strings.TrimRight(all.String(), " \n")
}

// Wrapped reports whether a line has been wider than the screen.
func (v *Screen) Wrapped() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.wrapped
}
