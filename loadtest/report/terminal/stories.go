package terminal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// A kind identifies the rows that share one story.
type kind struct {
	scenario string
	verdict  history.Verdict
	twice    bool // whether a unit was sold twice
}

// A story is the first violation of a row, printed for all rows of its kind.
type story struct {
	kind
	rungs []string
	at    []int // the positions of its rows
	text  string
	rank  int // its index in Lessons
}

// fewStories is the number of stories that are printed without --verbose.
const fewStories = 3

// A Lesson is a cell whose story takes precedence.
type Lesson struct{ Scenario, Rung string }

// Lessons are the cells with the most instructive stories, the best first. They are those of WORKSHOP.md.
var Lessons = []Lesson{
	{"pause", "v5.5"}, {"pause", "v15"}, {"slow-work", "v4"}, {"crash", "v1"}, {"check-delete-gap", "v3"},
	{"two-instances", "v0.5"}, {"node-restart", "v6"}, {"hung-holder", "v5"}, {"cut-off", "v5"}, {"failover", "v5.5"},
	{"write-only-fence", "v15-write-only"}, {"stock-failover", "v17"}, {"nested", "v7-cached"}, {"queue-order", "v7"},
	{"herd", "v13"}, {"majority-down", "v6"}, {"sold-out-restock", "v5-as-printed"}, {"late-release", "v2"},
	{"opposite-order", "v9-naive"},
}

// Stories prints the violations of rows that are as expected; the summary covers the others. With all it prints each
// row's story, and the number of woken waiters where there was no herd; otherwise the three most instructive stories,
// each for all rows of its kind. Defects of a shop on trial come before violations by design.
func (p Printer) Stories(rows []*catalog.Row, all bool) {
	stories := storiesOf(rows, !all)
	byRank := slices.Clone(stories)
	slices.SortStableFunc(byRank, func(a, b *story) int { return cmp.Compare(a.rank, b.rank) })
	if !all {
		byRank = byRank[:min(len(byRank), fewStories)]
	}
	for _, s := range stories {
		if slices.Contains(byRank, s) {
			p.story(s)
		}
	}
	if len(stories) > 0 {
		fmt.Fprintln(p)
	}
	if all {
		p.tokens(rows)
	}
}

// tokens prints the fencing tokens that the stories refer to by number.
func (p Printer) tokens(rows []*catalog.Row) {
	rows = filter(rows, func(r *catalog.Row) bool {
		_, said := storyOf(r)
		return strings.Contains(said, "token ")
	})
	if len(rows) == 0 {
		return
	}
	p.wrapped("", 2, "the fencing tokens 1, 2, … of the stories, in full (Redis takes them from its clock and does not "+
		"count them, so they grow even if a restart or a failover loses the last one)")
	for _, r := range rows {
		tokens := strings.Trim(fmt.Sprint(r.Shown().Tokens()), "[]")
		p.wrapped("  ", 4, fmt.Sprintf("%s %s: %s", r.Scenario.Name, r.Rung, tokens))
	}
	fmt.Fprintln(p)
}

// storiesOf returns the stories in the order of the rows, defects first; with together, only one for each kind.
func storiesOf(rows []*catalog.Row, together bool) (stories []*story) {
	of := map[kind]*story{}
	for i, r := range rows {
		k, said := storyOf(r)
		if said == "" && !together {
			said = audit.Remark(r.Shown().Findings)
		}
		defect := r.Shown().Defect != nil
		if said == "" || len(r.Surprises) > 0 && !defect {
			continue
		}
		rank := slices.Index(Lessons, Lesson{r.Scenario.Name, r.Rung})
		switch {
		case defect:
			rank = ofDefects
		case rank < 0:
			rank = len(Lessons)
		}
		s := of[k]
		if s == nil || !together {
			s = &story{kind: k, text: said, rank: rank}
			of[k], stories = s, append(stories, s)
		}
		s.rungs, s.at = append(s.rungs, r.Rung), append(s.at, i)
		if rank < s.rank {
			s.text, s.rank = said, rank
		}
	}
	slices.SortStableFunc(stories, func(a, b *story) int { return cmp.Compare(min(a.rank, 0), min(b.rank, 0)) })
	return stories
}

// ofDefects is the rank of the stories of defects.
const ofDefects = -1

// storyOf returns the story of the row's first violation, empty if there is none.
func storyOf(r *catalog.Row) (k kind, said string) {
	c := r.Shown()
	f := history.FirstBroken(c.Findings)
	return kind{r.Scenario.Name, f.Verdict, c.SoldTwice() > 0}, f.Because
}

// story prints the cells of a story, and the story.
func (p Printer) story(s *story) {
	for i, line := range wrap(s.of()+": "+s.text, p.width()-4) {
		switch bold, rest, whole := strings.Cut(line, ":"); {
		case i > 0:
			line = "    " + line
		case p.Colour && whole:
			line = text.Bold.Sprint(bold) + ":" + rest
		}
		fmt.Fprintln(p, line)
	}
}

// of names the cells of a story.
func (s *story) of() string {
	return strings.Join(append([]string{s.scenario}, ranges(s.rungs, s.at)...), " ")
}

// ranges names the rungs at these positions. Three or more in a row become a range.
func ranges(rungs []string, at []int) (names []string) {
	for i := 0; i < len(at); {
		n := 1
		for i+n < len(at) && at[i+n] == at[i]+n {
			n++
		}
		if n < 3 {
			n = 1
			names = append(names, rungs[i])
		} else {
			names = append(names, rungs[i]+"–"+rungs[i+n-1])
		}
		i += n
	}
	return names
}
