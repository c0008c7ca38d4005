// Package trial puts a user's shop on trial: a service in any language that takes a port and the URL of a Redis. It
// starts two instances, each with a proxy to Redis of its own, learns the lock, injects faults between the commands, or
// between the requests to a database, and judges what the proxies recorded. All it knows of the shop is how an order is
// sent, and where the stock is.
//
// It has five rooms, of which each knows only those before it: shop (a Redis, two proxies, two instances, and orders
// there), sale (what is known of a shop's sale), record (what orders sent, and a cell), learn (what the lock is), and
// this package: trial.go (the whole), faults.go (the cells) with cells.go (their list), play.go (a cell, and its fresh
// orders), played.go and request.go (what the words of a line mean for a shop; package rig plays it), inflict.go (what
// is no line), moments.go (a fault at each request), elsewhere.go (a stock that is counted), every.go (every order of
// commands) with world.go (one such order). Package cause explains the cells.
package trial
