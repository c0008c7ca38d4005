// Package resp reads the Redis protocol, and keeps its bytes: commands of clients, and replies and pushes of servers in
// RESP2 and RESP3.
package resp
