// Package contract states what loadtest needs of a service, and checks a running one, route by route. docs/contract.md
// says the same in prose; a test compares the two.
//
// Reading order: routes.go (the contract itself), kind.go (types of members), ask.go (one request), check.go (the order
// of the checks), sell.go (the checks of a sale), report.go (what was found).
package contract
