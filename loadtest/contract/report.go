package contract

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Report is what a service was found to be.
type Report struct {
	Base, Rung, Product string
	Lines               []Line
}

// Line is one thing that was found of a route; a route of which nothing is missing has one that says so.
type Line struct {
	Route Route
	// Missing names what is not there; empty if all is.
	Missing string
	// Wrong says what is there and is not what it has to be.
	Wrong string
	// Unseen says why nothing can be said of the route.
	Unseen string
	Need   Need
	// Without says what cannot be judged for that.
	Without string
}

// fails reports whether the service cannot be measured for it. What is wrong misleads, whoever could do without it.
func (l Line) fails() bool { return l.Wrong != "" || l.Missing != "" && l.Need == Must }

// Fulfilled reports whether all that is needed is there, and nothing that is there is wrong.
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

// found is the line in a few words.
func (l Line) found() string {
	switch {
	case l.Wrong != "":
		return "wrong: " + l.Wrong
	case l.Missing != "":
		return "missing: " + l.Missing
	case l.Unseen != "":
		return "not seen: " + l.Unseen
	}
	return "ok"
}

// without says what is lost, if anything is.
func (l Line) without() string {
	if l.Missing == "" && l.Wrong == "" {
		return ""
	}
	return l.Without
}

// Write writes the report as a table, and what it comes to as its last line.
func (r *Report) Write(w io.Writer) {
	fmt.Fprintf(w, "contract of %s, asked for %s with product %s\n\n", r.Base, r.Rung, r.Product)
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
		fmt.Fprintln(w, "all that is needed is there")
		return
	}
	fmt.Fprintf(w, "not fulfilled: %s, %s", failing[0].Route.at(r.Rung), failing[0].found())
	if n := len(failing); n > 1 {
		fmt.Fprintf(w, " (the first of %d)", n)
	}
	fmt.Fprintln(w)
}

// at is the route's name with that rung in it.
func (r Route) at(rung string) string { return strings.Replace(r.Name, "{rung}", rung, 1) }
