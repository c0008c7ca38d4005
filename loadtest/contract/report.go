package contract

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"stockapi/loadtest/history"
)

// A Report is the result of a check.
type Report struct {
	Base, Rung, Product string
	Lines               []Line
}

// A Line is one finding about a route. A route without problems has one line that says so.
type Line struct {
	Route Route
	// Missing names what is missing, if anything.
	Missing string
	// Wrong says what is wrong, if anything.
	Wrong string
	// Unseen says why the route could not be checked, if so.
	Unseen string
	Need   Need
	// Without says what cannot be judged for that reason.
	Without string
}

// fails reports whether the line keeps the service from being measured. What is wrong misleads, even where it is
// optional.
func (l Line) fails() bool { return l.Wrong != "" || l.Missing != "" && l.Need == Must }

// Fulfilled reports whether everything needed is there, and nothing is wrong.
func (r *Report) Fulfilled() bool { return len(r.failing()) == 0 }

func (r *Report) failing() []Line {
	var failing []Line
	for _, l := range r.Lines {
		if l.fails() {
			failing = append(failing, l)
		}
	}
	return failing
}

// found returns the finding in a few words, some of which may be the service's.
func (l Line) found() string {
	switch {
	case l.Wrong != "":
		return "wrong: " + history.Plain(l.Wrong)
	case l.Missing != "":
		return "missing: " + history.Plain(l.Missing)
	case l.Unseen != "":
		return "not seen: " + l.Unseen
	}
	return "ok"
}

// without says what is lost, if anything.
func (l Line) without() string {
	if l.Missing == "" && l.Wrong == "" {
		return ""
	}
	return l.Without
}

// Write writes the report as a table, with a summary as its last line.
func (r *Report) Write(w io.Writer) {
	fmt.Fprintf(w, "contract of %s, asked for %s with product %s\n\n", r.Base, history.Plain(r.Rung), r.Product)
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "route\tneed\tfound\twithout it\t")
	for _, l := range r.Lines {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t\n", l.Route.at(r.Rung), l.Need, l.found(), l.without())
	}
	_ = table.Flush() // a Builder takes all
	for line := range strings.Lines(text.String()) {
		fmt.Fprintln(w, strings.TrimRight(line, " \n"))
	}
	fmt.Fprintln(w)
	r.summary(w)
}

func (r *Report) summary(w io.Writer) {
	failing := r.failing()
	if len(failing) == 0 {
		fmt.Fprintln(w, "everything needed is there")
		return
	}
	fmt.Fprintf(w, "not fulfilled: %s, %s", failing[0].Route.at(r.Rung), failing[0].found())
	if n := len(failing); n > 1 {
		fmt.Fprintf(w, " (the first of %d)", n)
	}
	fmt.Fprintln(w)
}

// at returns the route's name with that rung in it.
func (r Route) at(rung string) string {
	return strings.Replace(r.Name, "{rung}", history.Plain(rung), 1)
}
