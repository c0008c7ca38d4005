package main

import (
	"fmt"
	"io"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

const rungWidth = 32

func rungTitle(number string) string { return fmt.Sprintf("%-14s %s", number, catalog.NameOf(number)) }

// run prints the table of expectations.
func (*listFlags) run(stdout io.Writer) int {
	for _, s := range catalog.Table {
		fmt.Fprintf(stdout, "%s: %s\n", s.Name, s.Does)
		fmt.Fprintf(stdout, "  %-*s", rungWidth, "rung")
		for _, v := range history.Verdicts {
			fmt.Fprintf(stdout, " %-11s", v)
		}
		fmt.Fprintln(stdout, " because")
		for _, e := range s.Expect {
			fmt.Fprintf(stdout, "  %-*s", rungWidth, rungTitle(e.Rung))
			for _, v := range history.Verdicts {
				fmt.Fprintf(stdout, " %-11s", e.Results[v])
			}
			fmt.Fprintf(stdout, " %s\n", e.Why)
		}
		for _, r := range catalog.Rungs {
			if why := s.NotApplicable[r.Number]; why != "" {
				fmt.Fprintf(stdout, "  %-*s does not apply: %s\n", rungWidth, rungTitle(r.Number), why)
			}
		}
		fmt.Fprintln(stdout)
	}
	return asExpected
}
