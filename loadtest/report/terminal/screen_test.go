package terminal_test

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

// vt is a terminal, as far as Progress uses one: text that wraps and scrolls, a return to the line's beginning, one
// line up, the rest of a line erased, and colours. Anything else is a test's mistake, or ours.
type vt struct {
	mu            sync.Mutex
	columns, rows int
	history       []string // what has left the screen at its top
	screen        [][]rune
	x, y          int
}

func newVT(columns, rows int) *vt {
	return &vt{columns: columns, rows: rows, screen: make([][]rune, 1)}
}

func (v *vt) Size() (columns, rows int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.columns, v.rows
}

func (v *vt) Write(b []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	text := []rune(string(b))
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

func (v *vt) put(r rune) {
	if v.x == v.columns {
		v.x = 0
		v.down()
	}
	for len(v.screen[v.y]) <= v.x {
		v.screen[v.y] = append(v.screen[v.y], ' ')
	}
	v.screen[v.y][v.x] = r
	v.x++
}

func (v *vt) down() {
	v.y++
	if v.y == len(v.screen) {
		v.screen = append(v.screen, nil)
	}
	v.scroll()
}

func (v *vt) scroll() {
	for len(v.screen) > v.rows {
		v.history = append(v.history, string(v.screen[0]))
		v.screen = v.screen[1:]
		v.y--
	}
}

// sequence obeys an escape sequence and returns what follows it.
func (v *vt) sequence(text []rune) []rune {
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

// resize breaks lines anew where they have become too long, as most terminals do.
func (v *vt) resize(columns, rows int) {
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

func (v *vt) String() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	lines := slices.Clone(v.history)
	for _, line := range v.screen {
		lines = append(lines, string(line))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), " \n")
}
