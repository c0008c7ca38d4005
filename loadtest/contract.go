package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/contract"
)

// contractFlags are the flags of the command contract.
type contractFlags struct {
	URL  string `arg:"" help:"Where the service listens, such as http://127.0.0.1:5000."`
	Rung string `placeholder:"RUNG" help:"The rung to ask for, by its number. Default: the first one listed."`
}

// run asks the service and prints what was found. The exit code is 1 if something that is needed is not there, and 2 if
// the service could not be asked.
func (f *contractFlags) run(ctx context.Context, stdout, stderr io.Writer) int {
	base := []string{f.URL}
	if err := checkURLs(base); err != nil {
		return complain(stderr, fmt.Errorf("contract: %w", err))
	}
	found, err := contract.Check(ctx, contract.Options{
		Base: base[0], Token: adminToken(), Rung: f.Rung,
	})
	if other, is := errors.AsType[*contract.NotOfferedError](err); is {
		err = fmt.Errorf("%w%s", err, catalog.DidYouMean(other.Rung, other.Offered))
	}
	if err != nil {
		return complain(stderr, err)
	}
	found.Write(stdout)
	if !found.Fulfilled() {
		return surprised
	}
	return asExpected
}
