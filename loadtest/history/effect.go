package history

import (
	"fmt"
	"strings"
)

// A Source says how it is known what a command did.
type Source string

const (
	// Told means that its sender reported it: the command's name, reply and error decide.
	Told Source = ""
	// Looked means that the server's data were read before it and after it. Then its effect decides, whatever its name
	// and reply: a foreign client takes a lock by a script without a name.
	Looked Source = "looked"
	// Unseen means that a wire carried it while nobody looked at the server: its name and reply decide.
	Unseen Source = "unseen"
	// ReplyLost means that no reply came, and nobody looked: it may have been done, or may yet be.
	ReplyLost Source = "reply-lost"
)

// An Effect is what a command did to a lock or to the stock: a set of flags. An effect on a lock does not show whose
// the lock was.
type Effect uint16

const (
	acquires Effect = 1 << iota // asks for the lock
	renews                      // gives the lock a new expiry, or another value of the same holder
	releases                    // removes the lock, or one holder of several
	reads                       // the stock
	writes                      // the stock
	done                        // it did what it was sent for
	wrote                       // the stock, which it may have left as it was
	refused                     // the server answered with an error instead, or aborted the transaction
	owned                       // it renews no lock but its sender's
	// Beside is the flag of an acquire that leaves other holders in.
	Beside
	// Endless is the flag of a command that leaves the lock without a TTL.
	Endless
)

// The effects of commands. [Beside] and [Endless] may be added to some.
const (
	// EffectTried asked for the lock, or looked at it in a script, and left it as it was: somebody had it.
	EffectTried = acquires
	// EffectAcquired made the sender a holder.
	EffectAcquired = acquires | done
	// EffectRenewed gave the lock a new expiry, or another value of the same holder.
	EffectRenewed = renews | done
	// EffectReleased removed the lock, or one holder of several.
	EffectReleased = releases | done
	// EffectRead and EffectWrote are about the stock. A write may have left it as it was.
	EffectRead  = reads | done
	EffectWrote = writes | done | wrote
	// EffectRefused is an access to the stock that was answered with an error, or a transaction that was aborted.
	EffectRefused = writes | refused
	// EffectNothing is the effect of any other command, whatever its name.
	EffectNothing Effect = 0
)

// flags are the words of the flags in a file, in their order.
var flags = [...]string{"acquires", "renews", "releases", "reads", "writes", "done", "wrote", "refused", "owned",
	"beside", "endless"}

func (e Effect) has(flag Effect) bool { return e&flag != 0 }

// String returns the words of the flags.
func (e Effect) String() string {
	var words []string
	for i, word := range flags {
		if e.has(1 << i) {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

// MarshalText returns the words of the flags.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads the words of the flags. It refuses any other word.
func (e *Effect) UnmarshalText(text []byte) error {
	*e = EffectNothing
words:
	for _, word := range strings.Fields(string(text)) {
		for i, flag := range flags {
			if word == flag {
				*e |= 1 << i
				continue words
			}
		}
		return fmt.Errorf("there is no effect %.40q", word)
	}
	return nil
}
