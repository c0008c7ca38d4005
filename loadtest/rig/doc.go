// Package rig starts instances behind wires, of the ladder or of any shop, so that a fault can be injected between
// their commands.
//
//   - rig.go: servers and instances with wires between them. scripts.go: the names of scripts.
//   - order.go: an order in flight. fresh.go: fresh orders afterwards.
//   - trap.go: what catches one thing of an order: command_trap.go a command or its reply, request_trap.go a request to
//     a database or its reply.
//   - player.go: plays lines, move by move. turn.go: orders that go step by step, and when they are at rest. step.go:
//     plays traces, step by step. command.go: one command. quiet.go: waits until instances are idle.
//   - fault.go: faults of instances and servers, and their records.
//   - database.go: the link of an instance to a database of any protocol. pattern.go: the requests and replies of a
//     plain sale.
package rig
