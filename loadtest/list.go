package main

import (
	"fmt"
	"io"

	"stockapi/loadtest/history"
	"stockapi/loadtest/scenario"
)

// run prints the table of expectations.
func (*listFlags) run(stdout io.Writer) int {
	for _, s := range scenario.Table {
		fmt.Fprintf(stdout, "%s: %s\n", s.Name, s.Does)
		fmt.Fprintf(stdout, "  %-26s", "rung")
		for _, v := range history.Verdicts {
			fmt.Fprintf(stdout, " %-11s", v)
		}
		fmt.Fprintln(stdout, " because")
		for _, e := range s.Expect {
			fmt.Fprintf(stdout, "  %-13s %-12s", e.Rung, scenario.NameOf(e.Rung))
			for _, v := range history.Verdicts {
				fmt.Fprintf(stdout, " %-11s", e.Verdicts.Of(v))
			}
			fmt.Fprintf(stdout, " %s\n", e.Why)
		}
		fmt.Fprintln(stdout)
	}
	return asExpected
}
