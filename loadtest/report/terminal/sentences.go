package terminal

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"stockapi/loadtest/catalog"
)

// A sentence is a story with all rows of which it is true, but for numbers, times and names.
type sentence struct {
	rows []*catalog.Row
	text string // of the first row
	of   string // the scenarios and rungs
}

var (
	someNumber   = regexp.MustCompile(`\d+(\.\d+)?`)
	someKey      = regexp.MustCompile(`DistributedLock_[\w-]+(\.\w+\.\d+)?`)
	someSeller   = regexp.MustCompile(`(^|; )[\w.-]+ sold`)
	theFirst     = regexp.MustCompile(` \(the first of N\)`)
	someInstance = regexp.MustCompile(` on [\w.-]+|[\w.-]+ answered`)
)

// alike returns what stories have in common that tell the same.
func alike(story string) string {
	story = someKey.ReplaceAllString(story, "KEY")
	story = someNumber.ReplaceAllString(story, "N")
	story = someSeller.ReplaceAllString(story, "${1}A sold")
	story = someInstance.ReplaceAllString(story, "A")
	return theFirst.ReplaceAllString(story, "")
}

// sentences returns the stories of all rows that are as expected, each sentence once, in the order in which they come.
// The summary tells of the others.
func (p Printer) sentences(rows []*catalog.Row) []*sentence {
	var all []*sentence
	of := map[string]*sentence{}
	for _, r := range rows {
		said := storyOf(r)
		if said == "" || len(r.Surprises) > 0 {
			continue
		}
		key := alike(said)
		if of[key] == nil {
			of[key] = &sentence{text: said}
			all = append(all, of[key])
		}
		of[key].rows = append(of[key].rows, r)
	}
	for _, s := range all {
		s.of = whereTrue(s.rows, rows)
	}
	return all
}

// whereTrue names the rows, by scenario: "pause v4–v6 v8". A range leaves out rungs that have no row in the scenario.
func whereTrue(some, all []*catalog.Row) string {
	var parts []string
	for len(some) > 0 {
		scenario, n := some[0].Scenario, 0
		for n < len(some) && some[n].Scenario == scenario {
			n++
		}
		parts, some = append(parts, scenario+" "+ranges(some[:n], filter(all, func(r *catalog.Row) bool {
			return r.Scenario == scenario
		}))), some[n:]
	}
	return strings.Join(parts, ", ")
}

// ranges names the rungs of some rows of a scenario. Three or more in a row become a range.
func ranges(some, all []*catalog.Row) string {
	var names []string
	for i := 0; i < len(some); {
		at, n := slices.Index(all, some[i]), 1
		for i+n < len(some) && at+n < len(all) && all[at+n] == some[i+n] {
			n++
		}
		if n < 3 {
			n = 1
			names = append(names, some[i].Rung)
		} else {
			names = append(names, some[i].Rung+"–"+some[i+n-1].Rung)
		}
		i += n
	}
	return strings.Join(names, " ")
}

// A Lesson is a cell whose story is told first where there is no room for all.
type Lesson struct{ Scenario, Rung string }

// Lessons are the cells whose stories teach most, the best first. They are those of WORKSHOP.md.
var Lessons = []Lesson{
	{"pause", "v5.5"}, {"pause", "v15"}, {"slow-work", "v4"}, {"crash", "v1"}, {"check-delete-gap", "v3"},
	{"two-instances", "v0.5"}, {"node-restart", "v6"}, {"hung-holder", "v5"}, {"cut-off", "v5"}, {"failover", "v5.5"},
	{"write-only-fence", "v15-write-only"}, {"stock-failover", "v17"}, {"nested", "v7-cached"}, {"queue-order", "v7"},
	{"herd", "v13"}, {"majority-down", "v6"}, {"sold-out-restock", "v5-as-printed"}, {"late-release", "v2"},
	{"opposite-order", "v9-naive"},
}

// rank returns the place of a sentence among the lessons, the number of lessons if it is none.
func (s *sentence) rank() int {
	i := slices.IndexFunc(Lessons, func(l Lesson) bool {
		return slices.ContainsFunc(s.rows, func(r *catalog.Row) bool {
			return r.Scenario == l.Scenario && r.Rung == l.Rung
		})
	})
	if i < 0 {
		return len(Lessons)
	}
	return i
}

// tell prints as many sentences as the room allows, those that teach most, and returns how many are left out.
func (p Printer) tell(all []*sentence, room int) (missing int) {
	byRank := slices.Clone(all)
	slices.SortStableFunc(byRank, func(a, b *sentence) int { return a.rank() - b.rank() })
	room -= 2 // the title and a blank line
	told := map[*sentence]string{}
	for _, s := range byRank {
		printed := p.text(func(p Printer) { p.sentence(s) })
		if room -= lineCount(printed); room < 0 {
			break
		}
		told[s] = printed
	}
	if len(told) > 0 {
		p.wrapped("", 2, "what went wrong: each story once, with the rungs of which it is true")
		for _, s := range all {
			fmt.Fprint(p, told[s])
		}
		fmt.Fprintln(p)
	}
	return len(all) - len(told)
}

// sentence prints a story after the cells of which it is true.
func (p Printer) sentence(s *sentence) {
	printed := p.text(func(p Printer) { p.wrapped("  ", 4, s.of+"  "+s.text) })
	if p.Colour {
		printed = strings.Replace(printed, s.of, text.Bold.Sprint(s.of), 1)
	}
	fmt.Fprint(p, printed)
}
