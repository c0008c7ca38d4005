package lock

import (
	"regexp"
	"strconv"
	"strings"
)

// ownName begins the names of a client's nodes, so that the client finds its node when it did not get the reply with
// the full name. Curator calls this "protection".
func ownName(token string) string { return "_c_" + token + "-lock-" }

// numbered matches the number that ZooKeeper appends to a name: ten characters, or eleven with a sign.
var numbered = regexp.MustCompile(`(-\d{9}|-?\d{10})$`)

// sequence returns the number that the server gave to a node, and whether there is one. Every node with a number
// belongs to the queue, since other programs name theirs "lock-…" (Curator without protection) or "__lock__…"
// (python-kazoo), and we queue behind those too. A dash after a letter or a digit belongs to the name, and so does a
// dash before a zero.
func sequence(name string) (int32, bool) {
	number := numbered.FindString(name)
	before := strings.TrimSuffix(name, number)
	if len(number) == len("-2147483648") && (number[1] == '0' || endsInWord.MatchString(before)) {
		number = number[1:]
	}
	n, err := strconv.ParseInt(number, 10, 32)
	return int32(n), err == nil
}

var endsInWord = regexp.MustCompile(`[A-Za-z0-9]$`)

// ahead reports whether the node with number a was created before the node with number b. The server counts in 32 bits
// with a sign, and -2147483648 follows 2147483647. So the sign of the difference decides, as in RFC 1982.
func ahead(a, b int32) bool { return a-b < 0 }

// predecessor returns the node just before ours in the queue, or "" if ours is the first. It returns false if our node
// does not exist. It skips nodes that do not belong to the queue.
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
