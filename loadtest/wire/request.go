package wire

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// A request is a client's command as it is sent on: a whole transaction, or one command with what must be sent just
// before it.
type request struct {
	raw    []byte
	args   []string
	queued [][]string // the commands of a transaction
}

// verb returns the name of the command, in lower case.
func (r request) verb() string { return verb(r.args) }

func verb(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return strings.ToLower(args[0])
}

// is reports whether the command begins with these words, in any case.
func (r request) is(words ...string) bool {
	return len(r.args) >= len(words) && slices.EqualFunc(r.args[:len(words)], words, strings.EqualFold)
}

var (
	// ordered are commands that change what others on their connection mean. They keep their place.
	ordered = []string{"hello", "auth", "select", "client", "unwatch", "discard", "quit", "reset"}
	// unordered are further commands that bypass the gate: they concern only their connection, or the server's scripts.
	unordered = []string{"ping", "script", "monitor", "unsubscribe", "punsubscribe", "sunsubscribe"}

	subscribing = []string{"subscribe", "psubscribe", "ssubscribe"}
	messages    = []string{"message", "pmessage", "smessage"}
	blocking    = []string{"blpop", "brpop", "brpoplpush", "blmove", "blmpop", "bzpopmin", "bzpopmax", "bzmpop",
		"wait", "waitaof"}
)

// isOrdered reports whether the command and its neighbours on the connection must keep their order. WAIT concerns the
// writes before it.
func (r request) isOrdered() bool {
	return slices.Contains(ordered, r.verb()) || strings.HasPrefix(r.verb(), "wait")
}

// isSetup reports whether the command bypasses the gate.
func (r request) isSetup() bool { return isSetup(r.verb()) }

func isSetup(verb string) bool {
	return slices.Contains(ordered, verb) || slices.Contains(unordered, verb)
}

// withUser adds the user "default" to an AUTH with only a password. A server without a password accepts any from that
// user, so a client that was given one can be tried.
func (r request) withUser() request {
	if !r.is("auth") || len(r.args) != 2 {
		return r
	}
	args := []string{r.args[0], "default", r.args[1]}
	raw := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, arg := range args {
		raw = fmt.Appendf(raw, "$%d\r\n%s\r\n", len(arg), arg)
	}
	return request{raw: raw, args: args}
}

func (r request) subscribes() bool { return slices.Contains(subscribing, r.verb()) }

// isAboutChannels reports whether the command subscribes or unsubscribes.
func (r request) isAboutChannels() bool { return strings.HasSuffix(r.verb(), "subscribe") }

// blocks reports whether the command may block at the server.
func (r request) blocks() bool {
	return slices.Contains(blocking, r.verb()) || strings.HasPrefix(r.verb(), "xread") &&
		slices.ContainsFunc(r.args, func(arg string) bool { return strings.EqualFold(arg, "block") })
}

// Reasons for refusing what a wire cannot proxy.
const (
	noCluster  = "a wire leads to one Redis server: connect without Redis Cluster"
	noSentinel = "a wire leads to one Redis server: connect to it without Sentinel"
)

// harmful are commands that would disturb the load test too, which uses the same server.
var harmful = [][]string{
	{"shutdown"}, {"debug"}, {"failover"}, {"replicaof"}, {"slaveof"}, {"client", "kill"}, {"client", "pause"},
	{"config", "set", "bind"}, {"config", "set", "maxclients"}, {"config", "set", "maxmemory"}, {"config", "set", "port"},
	{"config", "set", "requirepass"}, {"config", "set", "timeout"},
	{"acl", "setuser"}, {"acl", "deluser"}, {"acl", "load"},
}

// refusal returns why a wire does not pass a command on; "" if it does.
func (r request) refusal(inTransaction bool) string {
	if i := slices.IndexFunc(harmful, func(words []string) bool { return r.is(words...) }); i >= 0 {
		return "a wire does not pass " + strings.ToUpper(strings.Join(harmful[i], " ")) +
			" on, since the load test uses the same server: leave it out"
	}
	switch {
	case r.is("cluster"):
		return noCluster
	case r.is("sentinel"):
		return noSentinel
	case r.is("sync"), r.is("psync"):
		return "a wire does not carry replication: connect replicas to the server"
	case r.is("client", "reply", "off"), r.is("client", "reply", "skip"):
		return "a wire knows a command's end by its reply: leave CLIENT REPLY on"
	case inTransaction && r.isAboutChannels():
		return "a wire does not pass subscriptions on in a transaction"
	}
	return ""
}

// describe returns the command's name, with the script's if it has one: "eval:release".
func (r request) describe(scripts map[string]string) string {
	if !isScript(r.verb()) {
		return r.verb()
	}
	if script := scripts[r.digest()]; script != "" {
		return "eval:" + script
	}
	return "eval"
}

// digest returns the digest of the script that the command runs, or "".
func (r request) digest() string {
	switch {
	case len(r.args) < 3:
		return ""
	case r.is("evalsha"):
		return strings.ToLower(r.args[1])
	case r.is("eval"):
		sum := sha1.Sum([]byte(r.args[1]))
		return hex.EncodeToString(sum[:])
	}
	return ""
}

// call identifies a script call, so that its resend is recognized; "" for other commands.
func (r request) call() string {
	if r.digest() == "" {
		return ""
	}
	return strings.Join(append([]string{r.digest()}, r.args[2:]...), " ")
}

// isScript reports whether a command of this name runs a script.
func isScript(name string) bool {
	return strings.EqualFold(name, "eval") || strings.EqualFold(name, "evalsha")
}

// shown returns the arguments; of a transaction, those of the first command that is not connection setup.
func (r request) shown() []string {
	for _, args := range r.queued {
		if !isSetup(verb(args)) {
			return args
		}
	}
	return r.args
}

// A transaction collects a client's commands from MULTI on. They are sent on together with the EXEC, so that no other
// command of the connection gets in between; until then the wire answers +OK and +QUEUED. CLIENT CACHING is sent with
// the next command in the same way.
type transaction struct {
	multi     bool
	raw       []byte
	queued    [][]string
	collected int // commands that the wire has answered
}

// collect keeps a command that is sent on with a later one, and returns its reply; "" if it is sent on now.
func (t *transaction) collect(r request) (reply string) {
	verb := r.verb()
	switch {
	case t.multi && (verb == "multi" || verb == "watch"):
		return "-ERR " + verb + " inside MULTI is not allowed"
	case t.multi && slices.Contains([]string{"exec", "discard", "quit", "reset"}, verb):
		return ""
	case t.multi:
		t.queued = append(t.queued, r.args)
		reply = "+QUEUED"
	case verb == "multi", r.is("client", "caching"):
		t.multi = verb == "multi"
		reply = "+OK"
	default:
		return ""
	}
	t.raw = append(t.raw, r.raw...)
	t.collected++
	return reply
}

// size is its share of [maxKept].
func (t *transaction) size() int { return len(t.raw) + t.collected*exchangeSize }

const unwatch = "*1\r\n$7\r\nUNWATCH\r\n"

// attach puts the collected bytes before a command that is sent on now.
func (t *transaction) attach(e *exchange) {
	if t.multi && e.verb() != "exec" {
		*t = transaction{}
		if e.verb() == "discard" {
			e.raw = []byte(unwatch) // as DISCARD does
		}
	}
	e.queued, e.skipped, e.raw = t.queued, t.collected, append(t.raw, e.raw...)
	*t = transaction{}
}
