// Package rig starts instances behind wires, ours or anybody's, so that a fault can be injected between their commands.
//
//   - rig.go: servers and instances with wires between them. scripts.go: the names of scripts.
//   - order.go: an order in flight. fresh.go: fresh orders afterwards.
//   - step.go: the steps of a trace. command.go: one command is let through. quiet.go: when an instance has nothing
//     left to do.
//   - fault.go: faults of instances and servers, and how they are noted.
//   - database.go: the link of an instance to a database of any protocol. trap.go: requests and replies are held there.
//     pattern.go: which of them a plain sale has.
package rig
