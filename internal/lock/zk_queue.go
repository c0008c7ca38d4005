package lock

import (
	"regexp"
	"strconv"
	"strings"
)

// ownName is how a node is found by the one who made it but never heard its name, as in Curator's "protection".
func ownName(token string) string { return "_c_" + token + "-lock-" }

// numbered is the number that ZooKeeper adds to a name: ten places, of which a sign takes the first, or an eleventh.
var numbered = regexp.MustCompile(`(-\d{9}|-?\d{10})$`)

// sequence returns the number that the server gave to a node, and whether it is one of a queue. Whatever has a number
// is: others call their nodes "lock-…" or "__lock__…" (Curator's without protection, python-kazoo's), and are to be
// queued behind all the same. A dash after a letter or digit belongs to the name, and so does one before a zero.
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
