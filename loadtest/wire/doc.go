// Package wire proxies the Redis servers that an instance uses. Each instance reaches each server over a wire of its
// own, which parses the Redis protocol. A command waits at the wire until its gate lets it pass, and the wire can lose
// the command or its reply. The instances run their usual code, unaware of the wires.
//
//   - gate.go: a command as its wire sees it, and the gate at which it waits. Clients, servers and decisions come from
//     loadtest/schedule.
//   - wire.go, conn.go, channels.go: how commands, replies and messages are forwarded, over package socket.
//   - request.go: what a command means for its connection. Package resp reads the protocol.
//   - narrow.go: which commands an order sent, and when they took effect.
//   - state.go: the state of a key, and a lock as a difference of states. keys.lua and look.lua read a server's keys.
//   - looker.go: reads the keys before and after each command. effects.go: derives what the command did.
//   - ledger.go: all writes of the stock, without a look at each command. monitor.go: MONITOR, the source of both.
//   - store.go: a server without a wire.
package wire
