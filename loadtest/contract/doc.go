// Package contract says what loadtest needs of a service, and asks a running one for it, route by route. docs/contract.md
// tells the same in prose; a test holds the two together.
//
// Reading order: routes.go (the contract itself), kind.go (what a member holds), ask.go (one request), check.go (the
// order in which a service is asked), sell.go (what is asked of a sale), report.go (what was found).
package contract
