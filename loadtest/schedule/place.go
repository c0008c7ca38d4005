package schedule

import (
	"cmp"
	"strings"
)

// A Place orders the commands of one client that wait at one time. The digit of a step counts in this order, which does
// not depend on which goroutine of the client came first.
type Place struct {
	Server    int // 0: that of the stock
	Name, Key string
	Nth       int // counts the commands with the same server, name and key
}

// Compare orders places by server, then by name, key and number.
func (p Place) Compare(other Place) int {
	return cmp.Or(p.Server-other.Server, strings.Compare(p.Name, other.Name), strings.Compare(p.Key, other.Key),
		p.Nth-other.Nth)
}

// Message is the text of a step that delivers a message.
const Message = "gets the message"

// CommandText names a command and its server: "set lock", or "set on node 2".
func CommandText(name, server string) string {
	if server != "stock" && server != "lock" {
		server = "on node " + server
	}
	return name + " " + server
}
