package rig

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// logOf returns a log of sales, each followed by a time without orders. "3>" is a request on connection 3, "3<" its
// reply.
func logOf(lines ...string) (log []Piece, sales []int) {
	for i, line := range lines {
		sale, idle, _ := strings.Cut(line, "|")
		sales = append(sales, i+1)
		number, asked := 0, map[int]int{}
		for at, pieces := range []string{sale, idle} {
			for _, piece := range strings.Fields(pieces) {
				p := Piece{Conn: int(piece[0] - '0'), Reply: piece[1] == '<'}
				if at == 0 {
					p.Order = i + 1
					if !p.Reply {
						number++
						asked[p.Conn] = number
					}
					p.Number = asked[p.Conn]
				}
				log = append(log, p)
			}
		}
	}
	return log, sales
}

// textOf returns steps in the notation of logOf, each with its number.
func textOf(steps []Step) string {
	var all []string
	for _, s := range steps {
		direction := ">"
		if s.Reply {
			direction = "<"
		}
		all = append(all, string(rune('0'+s.Conn))+direction+string(rune('0'+s.Number)))
	}
	return strings.Join(all, " ")
}

// times repeats a line n times.
func times(n int, line string) (lines []string) {
	for range n {
		lines = append(lines, line)
	}
	return lines
}

func TestPatternOfSales(t *testing.T) {
	long, short := "1> 1< 1> 1<", "1> 1<"
	for name, c := range map[string]struct {
		lines  []string
		want   string
		stable bool
	}{
		"the same from the first":              {times(7, long), "1>1 1<1 1>2 1<2", true},
		"too few sales":                        {times(6, long), "", false},
		"prepared at the fifth":                {append(append(times(4, short), long), times(3, short)...), "1>1 1<1", true},
		"prepared at the fifth, too few since": {append(append(times(4, short), long), times(2, short)...), "", false},
		"another one is prepared at the last sale": {
			append(times(7, short), long), "", false},
		"a connection for each order": {
			[]string{long, long, long, long, "5> 5< 5> 5<", "6> 6< 6> 6<", "7> 7< 7> 7<"}, "1>1 1<1 1>2 1<2", true},
		"two connections for each order": {
			[]string{long, long, long, long, "5> 5< 6> 6<", "8> 8< 7> 7<", "7> 7< 9> 9<"}, "1>1 1<1 2>2 2<2", true},
		"two connections, used in another way": {
			[]string{long, long, long, long, "5> 5< 6> 6<", "5> 5< 6> 6<", "5> 6> 5< 6<"}, "", false},
		"two requests at once": {times(7, "1> 2> 2< 1<"), "1>1 2>2 2<2 1<1", true},
		"pings": {
			[]string{long, long, long, long + " 9> 9< | 9> 9<", "9> 9< " + long, "1> 9> 9< 1< 1> 1<", long},
			"1>1 1<1 1>2 1<2", true},
		"pings on the connection of sales": {append(times(6, long), long+"| 1> 1<"), "", true},
		"background work, for once, during a sale": {
			append(times(6, long), "2> 2< "+long), "", false},
		"no reply to the last": {times(7, "1> 1< 1>"), "1>1 1<1 1>2", true},
		"no database in use":   {times(7, ""), "", true},
		"sales that alternate": {
			[]string{long, short, long, short, long, short, long, short, long, short, long, short, long, short, long},
			"", false},
	} {
		p, stable := Learn(logOf(c.lines...))
		assert.Equal(t, c.stable, stable, name)
		if stable {
			assert.Equal(t, c.want, textOf(p.Steps), name)
		}
	}
}

func TestRequestsOfAPattern(t *testing.T) {
	p, _ := Learn(logOf(times(7, "1> 1< 1> 2> 2< | 3>")...))
	assert.Equal(t, 3, p.Requests())
	assert.Equal(t, map[int]bool{3: true}, p.Noisy)
	assert.False(t, p.isSilent(1))
	assert.True(t, p.isSilent(2))
	assert.False(t, p.isSilent(4), "it is not in the pattern")
}
