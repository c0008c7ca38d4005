// Package run makes one run: it starts or reaches what the cells need, runs the cells, and returns the run's history.
// It knows no flags and prints nothing; what it does under way it reports to a [Progress].
//
// Reading order: settings.go, preflight.go (what cannot be run at all), session.go (the cells, in order),
// environment.go (what the cells run on; instances that the run was given), local.go (servers and instances that it
// starts itself).
package run
