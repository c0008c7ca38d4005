package wire

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2/proto"

	"stockapi/loadtest/schedule"
)

// A request is a message of a client to a server: one command, a pipeline, or a transaction.
type request struct {
	raw  []byte
	cmds [][]string
}

// parseRequest reads all commands in b. It returns false if b is not whole yet: the end of a command is missing, or the
// end of a transaction.
func parseRequest(b []byte) (r request, whole bool, err error) {
	r.raw = b
	for rest := b; len(rest) > 0; {
		cmd, size, err := schedule.ParseCommand(rest)
		if err != nil || size == 0 {
			return r, false, err
		}
		r.cmds, rest = append(r.cmds, cmd), rest[size:]
	}
	if len(r.cmds) == 0 {
		return r, false, nil
	}
	last := r.verb(len(r.cmds) - 1)
	return r, r.verb(0) != "multi" || last == "exec" || last == "discard", nil
}

// verb returns the name of command i, in lower case.
func (r request) verb(i int) string {
	if len(r.cmds[i]) == 0 {
		return ""
	}
	return strings.ToLower(r.cmds[i][0])
}

// setup are commands that concern their connection alone.
var setup = []string{"hello", "auth", "select", "client", "unwatch", "ping", "quit", "reset"}

// isSetup reports whether the request concerns its connection alone.
func (r request) isSetup() bool {
	for i := range r.cmds {
		if !slices.Contains(setup, r.verb(i)) {
			return false
		}
	}
	return true
}

func (r request) subscribes() bool {
	return slices.Contains([]string{"subscribe", "psubscribe", "ssubscribe"}, r.verb(0))
}

// describe returns the name of the request's first command. A script has its name, "eval:release", and a transaction is
// called by what it does: exec.
func (r request) describe(scripts map[string]string) string {
	switch name := r.verb(0); name {
	case "multi":
		return "exec"
	case "eval", "evalsha":
		if script := scripts[r.digest()]; script != "" {
			return "eval:" + script
		}
		return "eval"
	default:
		return name
	}
}

// digest returns the digest of the script that the request runs, or "".
func (r request) digest() string {
	switch {
	case len(r.cmds[0]) < 2:
		return ""
	case r.verb(0) == "evalsha":
		return r.cmds[0][1]
	case r.verb(0) == "eval":
		sum := sha1.Sum([]byte(r.cmds[0][1]))
		return hex.EncodeToString(sum[:])
	}
	return ""
}

// call returns what a request that runs a script has in common with the one that sends it again whole.
func (r request) call() string {
	return strings.Join(append([]string{r.digest()}, r.cmds[0][2:]...), " ")
}

// isScript reports whether a command of this name runs a script.
func isScript(name string) bool {
	return strings.EqualFold(name, "eval") || strings.EqualFold(name, "evalsha")
}

// args returns the first command that does something by itself.
func (r request) args() []string {
	for i, args := range r.cmds {
		if verb := r.verb(i); verb != "watch" && verb != "multi" && !slices.Contains(setup, verb) {
			return args
		}
	}
	return r.cmds[0]
}

// isMessage reports whether a reply is a message that was published.
func isMessage(reply string) bool {
	kind, rest, _ := strings.Cut(reply, "3\r\n")
	return len(kind) == 1 && strings.HasPrefix(rest, "$7\r\nmessage\r\n")
}

// isUnknownScript reports whether a server answers that it does not know a script. The client then sends it whole.
func isUnknownScript(reply string) bool { return strings.HasPrefix(reply, "-NOSCRIPT") }

// longestReply bounds the characters that are shown of a value in a reply.
const longestReply = 60

// replyText returns a reply as redis-cli prints it, but on one line and shortened, and whether there is an error in it.
func replyText(reply string) (text string, failed bool) {
	text = strings.TrimSuffix(reply[1:], "\r\n")
	switch kind := reply[0]; {
	case kind == '-':
		return text, true
	case kind == '_', text == "-1" && kind != ':':
		return "(nil)", false
	case kind == '$':
		if text, _ = proto.ReadString(reply); len(text) > longestReply {
			text = strings.ToValidUTF8(text[:longestReply], "") + "…"
		}
		return strconv.Quote(text), false
	case strings.ContainsRune("*~>%", rune(kind)):
		all, _ := proto.ReadArray(reply)
		for i, one := range all {
			part, wrong := replyText(one)
			all[i], failed = part, failed || wrong
		}
		return "[" + strings.Join(all, " ") + "]", failed
	}
	return text, false
}
