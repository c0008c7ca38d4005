// Package rig starts instances behind wires, of the ladder or of any shop, so that a fault can be injected between
// their commands.
//
//   - rig.go: servers and instances with wires between them. scripts.go: the names of scripts.
//   - order.go: an order in flight. fresh.go: fresh orders afterwards.
//   - step.go: the steps of a trace. command.go: a step of one command. quiet.go: waits until instances are idle.
//   - fault.go: faults of instances and servers, and their records.
//   - database.go: the link of an instance to a database of any protocol. trap.go: holds its requests and replies.
//     pattern.go: the requests and replies of a plain sale.
package rig
