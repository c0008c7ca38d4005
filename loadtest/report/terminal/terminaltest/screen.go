// Package terminaltest has terminals for tests: a screen that obeys what is written to it, and a pseudo-terminal of the
// system that ends in one.
package terminaltest

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// A Screen is a terminal, as far as loadtest uses one: text that wraps and scrolls, a return to the line's beginning,
// one line up, the rest of a line erased, and colours. It panics at anything else.
type Screen struct {
	mu            sync.Mutex
	columns, rows int
	history       []string // what has left the screen at its top
	screen        [][]rune
	x, y          int
	wrapped       bool
	cut           []byte // a rune or a sequence that is not written whole yet
}

// New returns an empty screen of that size.
func New(columns, rows int) *Screen {
	return &Screen{columns: columns, rows: rows, screen: make([][]rune, 1)}
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
	whole, cut := split(append(v.cut, b...))
	v.cut = cut
	text := []rune(string(whole))
	for len(text) > 0 {
		r := text[0]
		text = text[1:]
		switch r {
		case '\r':
			v.x = 0
		case '\n':
			v.x = 0
			v.down()
		case '\x1b':
			text = v.sequence(text)
		default:
			v.put(r)
		}
	}
	return len(b), nil
}

func (v *Screen) put(r rune) {
	if v.x == v.columns {
		v.wrapped = true
		v.x = 0
		v.down()
	}
	for len(v.screen[v.y]) <= v.x {
		v.screen[v.y] = append(v.screen[v.y], ' ')
	}
	v.screen[v.y][v.x] = r
	v.x++
}

func (v *Screen) down() {
	v.y++
	if v.y == len(v.screen) {
		v.screen = append(v.screen, nil)
	}
	v.scroll()
}

func (v *Screen) scroll() {
	for len(v.screen) > v.rows {
		v.history = append(v.history, string(v.screen[0]))
		v.screen = v.screen[1:]
		v.y--
	}
}

// sequence obeys an escape sequence and returns what follows it.
func (v *Screen) sequence(text []rune) []rune {
	end := 1
	for text[0] == '[' && (text[end] == ';' || text[end] >= '0' && text[end] <= '9') {
		end++
	}
	n, _ := strconv.Atoi(string(text[1:end]))
	switch text[end] {
	case 'A':
		v.y = max(0, v.y-max(1, n))
	case 'K':
		v.screen[v.y] = v.screen[v.y][:min(v.x, len(v.screen[v.y]))]
	case 'm':
	default:
		panic("what is " + strconv.Quote(string(text[:end+1])))
	}
	return text[end+1:]
}

// Resize breaks lines anew where they have become too long, as most terminals do.
func (v *Screen) Resize(columns, rows int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var screen [][]rune
	for _, line := range v.screen[:v.y+1] { // below the cursor there is nothing
		for len(line) > columns {
			screen, line = append(screen, line[:columns:columns]), line[columns:]
		}
		screen = append(screen, line)
	}
	v.screen, v.y, v.columns, v.rows = screen, len(screen)-1, columns, rows
	v.scroll()
}

// String returns all lines: those that have left the screen at its top, and those on it.
func (v *Screen) String() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	lines := slices.Clone(v.history)
	for _, line := range v.screen {
		lines = append(lines, string(line))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), " \n")
}

// unfinished is an escape sequence without its end.
var unfinished = regexp.MustCompile(`\x1b(\[[0-9;]*)?$`)

// split separates what can be obeyed from a rune or a sequence that is not whole at the end.
func split(b []byte) (whole, cut []byte) {
	end := len(b)
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if utf8.RuneStart(b[len(b)-n]) {
			if !utf8.FullRune(b[len(b)-n:]) {
				end = len(b) - n
			}
			break
		}
	}
	const longest = 16 // of a sequence
	tail := max(0, end-longest)
	if at := unfinished.FindIndex(b[tail:end]); at != nil {
		end = tail + at[0]
	}
	return b[:end], slices.Clone(b[end:])
}

// Wrapped reports whether a line has been wider than the screen.
func (v *Screen) Wrapped() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.wrapped
}

// Visible returns the lines on the screen.
func (v *Screen) Visible() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var lines []string
	for _, line := range v.screen {
		lines = append(lines, strings.TrimRight(string(line), " "))
	}
	return lines
}
