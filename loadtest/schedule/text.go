package schedule

import (
	"strconv"
	"strings"
)

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

// texts describe the kinds of steps. COMMAND and SERVER are placeholders.
var texts = [...]string{
	Grant: "COMMAND", Time: "time passes", Expiry: "time passes, commands wait", Hold: "is held, time passes",
	CrashBefore: "dies", CrashAfter: "COMMAND, then dies", LoseRequest: "COMMAND: lost on its way",
	LoseReply: "COMMAND: the reply is lost", Late: "COMMAND: still in flight when its client gives it up",
	Drop: "the message is lost", GiveUp: "its caller has gone", Arrive: "COMMAND arrives late",
	NodeDown: "SERVER cannot be reached", NodeBack: "SERVER is back", NodeEmpty: "SERVER restarts empty",
	ClockJump: "the clock of SERVER jumps",
}

// Text describes a step. Command names the command that it concerns, and server the lock server.
func (s Step) Text(command, server string) string {
	return strings.NewReplacer("COMMAND", command, "SERVER", server).Replace(texts[s.Kind])
}

// Fault describes a fault as a predicate whose subject is the client.
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
		return "whose " + command + " was still in flight when it was given up"
	case Drop:
		return "whose message was lost"
	default:
		return "whose caller had gone"
	}
}
