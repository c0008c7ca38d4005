package schedule

import (
	"cmp"
	"strconv"
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

// ServerName names one of several lock servers, counted from 0.
func ServerName(who, of int) string {
	if of == 1 {
		return "the lock server"
	}
	return "node " + strconv.Itoa(who+1)
}

// Text says what a step does. Command names the command that it concerns, and server the lock server.
func (s Step) Text(command, server string) string {
	switch s.Kind {
	case Time:
		return "time passes"
	case Expiry:
		return "time passes, commands wait"
	case Hold:
		return "is held, time passes"
	case CrashBefore:
		return "dies"
	case CrashAfter:
		return command + ", then dies"
	case LoseRequest:
		return command + ": lost on its way"
	case LoseReply:
		return command + ": the reply is lost"
	case Late:
		return command + ": still on its way when its client gives it up"
	case Arrive:
		return command + " arrives late"
	case Drop:
		return "the message is lost"
	case GiveUp:
		return "its caller has gone"
	case NodeDown:
		return server + " cannot be reached"
	case NodeBack:
		return server + " is back"
	case NodeEmpty:
		return server + " restarts empty"
	case ClockJump:
		return "the clock of " + server + " jumps"
	}
	return command
}

// Fault says what a fault does to its client, so that it reads on after the client's name.
func (s Step) Fault(command string) string {
	switch s.Kind {
	case CrashBefore:
		return strings.TrimSuffix("killed before "+command, " before ")
	case CrashAfter:
		return "killed after " + command
	case LoseRequest:
		return "whose " + command + " was lost on its way"
	case LoseReply:
		return "whose reply to " + command + " was lost"
	case Late:
		return "whose " + command + " was still on its way when it was given up"
	case Drop:
		return "whose message was lost"
	default:
		return "whose caller had gone"
	}
}
