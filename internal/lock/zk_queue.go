package lock

import (
	"strconv"
	"strings"
)

// ownName is how a node is found by the one who made it but never heard its name, as in Curator's "protection".
func ownName(token string) string { return "_c_" + token + "-lock-" }

// sequence returns the number that the server gave to a node, and whether it is one of a queue.
func sequence(name string) (int32, bool) {
	const before = "-lock-"
	i := strings.Index(name, before)
	if i < 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(name[i+len(before):], 10, 32)
	return int32(n), err == nil
}

// ahead reports whether the node with number a was made before that with number b. The server counts in 32 bits with a
// sign: after 2147483647 comes -2147483648. So what counts is on which side of each other they lie, as in RFC 1982.
func ahead(a, b int32) bool { return a-b < 0 }

// predecessor returns who is next before the node of that name, or "" if it is first. It is false if the node is not
// there. Whatever else lies beside the queue is passed over.
func predecessor(names []string, own string) (before string, queued bool) {
	mine, _ := sequence(own)
	var nearest int32
	for _, name := range names {
		n, ok := sequence(name)
		switch {
		case !ok:
		case name == own:
			queued = true
		case ahead(n, mine) && (before == "" || ahead(nearest, n)):
			before, nearest = name, n
		}
	}
	return before, queued
}
