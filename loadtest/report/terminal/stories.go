package terminal

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/catalog"
)

// A chapter is a group of stories under one title.
type chapter struct {
	title   string
	stories []story
}

type story struct{ of, text string }

// Stories prints the first violation of each broken row: first the unexpected ones, then scenario by scenario. For the
// herd scenario it also prints how many waiters were woken where there was no herd.
func (p Printer) Stories(rows []*catalog.Row) {
	written := false
	for _, c := range chapters(rows) {
		if len(c.stories) > 0 {
			p.chapter(c)
			written = true
		}
	}
	if written {
		fmt.Fprintln(p)
	}
}

func chapters(rows []*catalog.Row) []*chapter {
	unexpected := &chapter{title: "broken, and not as expected:"}
	all := []*chapter{unexpected}
	for _, r := range rows {
		said := storyOf(r)
		switch {
		case said == "":
			continue
		case len(r.Surprises) > 0:
			unexpected.stories = append(unexpected.stories, story{r.Scenario + " " + r.Rung, said})
			continue
		case all[len(all)-1].title != titleOf(r.Scenario):
			all = append(all, &chapter{title: titleOf(r.Scenario)})
		}
		last := all[len(all)-1]
		last.stories = append(last.stories, story{r.Rung, said})
	}
	return all
}

// storyOf returns the row's first violation, or if there is none, as expected, how many waiters a release woke.
func storyOf(r *catalog.Row) string {
	findings := r.Shown().Findings
	if said := audit.Story(findings); said != "" || len(r.Surprises) > 0 {
		return said
	}
	return audit.Remark(findings)
}

// chapter prints the stories, each beside its row.
func (p Printer) chapter(c *chapter) {
	p.wrapped("", 2, c.title)
	width := 0
	for _, s := range c.stories {
		width = max(width, len(s.of))
	}
	for _, s := range c.stories {
		p.wrapped(fmt.Sprintf("  %-*s  ", width, s.of), width+4, s.text)
	}
}

// together matches the spaces at which no line should end: before a unit of time and before a number.
var together = regexp.MustCompile(`(\d) (m?s\b)|\b(order|unit) (\d)`)

// wrap breaks a text into lines, between words.
func wrap(s string, width int) []string {
	const joined = "\u00a0"
	var lines []string
	room := 0
	for word := range strings.SplitSeq(together.ReplaceAllString(s, "$1$3"+joined+"$2$4"), " ") {
		length := utf8.RuneCountInString(word)
		word = strings.ReplaceAll(word, joined, " ")
		if room -= 1 + length; room < 0 || lines == nil {
			lines, room = append(lines, word), width-length
			continue
		}
		lines[len(lines)-1] += " " + word
	}
	return lines
}
