// Package wire proxies the Redis servers that an instance uses. Each instance reaches each server over a wire of its
// own, which knows the protocol of Redis. A command that arrives at a wire waits there until its gate lets it pass, and
// the wire can lose it, or its reply. The instances know nothing of that: they run the code that they always run.
//
//   - gate.go: what a wire knows of a command, and the gate at which it waits. Clients, servers and decisions are of
//     loadtest/schedule.
//   - wire.go, conn.go, channels.go, outbox.go: the way of a command to a server, of its reply, and of messages.
//   - request.go: what a command means for its connection. resp.go: the protocol.
//   - narrow.go: which commands an order sent.
//   - state.go: the state of a key, and a lock as a difference of states. keys.lua and look.lua read a server's keys.
//   - looker.go: looks at the keys before a command and after it. effects.go: what the command did, then.
//   - ledger.go: all writes of the stock, also where nobody looks at each command. monitor.go: what MONITOR tells both.
//   - store.go: a server without a wire.
package wire
