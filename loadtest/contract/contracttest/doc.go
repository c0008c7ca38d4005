// Package contracttest serves a shop that fulfils the contract, from memory, for tests: as it should be, or with one
// thing that a test has it do otherwise.
//
// Reading order: store.go (what instances share), instance.go (one of them, and what can be bent), order.go (a sale).
package contracttest
