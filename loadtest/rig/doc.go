// Package rig starts instances behind wires, ours or anybody's, so that a fault can be injected between their commands.
//
//   - rig.go: servers and instances with wires between them. scripts.go: the names of scripts.
//   - order.go: an order in flight. fresh.go: fresh orders afterwards.
//   - command.go: one command is let through. quiet.go: when an instance has nothing left to do.
//   - fault.go: faults of instances and servers, and how they are noted.
package rig
