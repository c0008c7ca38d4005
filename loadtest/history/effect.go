package history

import (
	"fmt"
	"strings"
)

// A Source is how the effect of a command is known.
type Source string

const (
	// Told means that the sender reported it: the command's name, reply and error decide.
	Told Source = ""
	// Looked means that the server's data were read before and after the command. Then the observed effect decides,
	// whatever the name and the reply: a foreign client acquires a lock by a script without a name.
	Looked Source = "looked"
	// Unseen means that a proxy carried it without reading the server's data: its name and reply decide.
	Unseen Source = "unseen"
	// ReplyLost means that the reply was lost and the effect not observed: it may take effect at any later time.
	ReplyLost Source = "reply-lost"
)

// An Effect is the effect of a command on a lock or on the stock: a set of flags. An effect on a lock does not show
// whose the lock was.
type Effect uint16

const (
	acquires Effect = 1 << iota // tries to acquire the lock
	renews                      // gives the lock a new expiry, or another value of the same holder
	releases                    // removes the lock, or one holder of several
	reads                       // the stock
	writes                      // the stock
	done                        // it succeeded
	wrote                       // the stock, maybe with the same value
	refused                     // the server replied with an error, or aborted the transaction
	owned                       // it renews only its sender's lock
	// Beside is the flag of an acquire that leaves other holders in.
	Beside
	// Endless is the flag of a command that leaves the lock without a TTL.
	Endless
	names  // gives the lock's holder another name, in a key beside the lock
	excess // gives back more than was taken
)

// The effects of commands. [Beside] and [Endless] may be added to some.
const (
	// EffectTried tried to acquire the lock, or read it in a script, and left it as it was: it was held.
	EffectTried = acquires
	// EffectAcquired made the sender a holder.
	EffectAcquired = acquires | done
	// EffectRenewed gave the lock a new expiry, or another value of the same holder.
	EffectRenewed = renews | done
	// EffectNamed changed the name of the holder, in a key beside the lock.
	EffectNamed = names
	// EffectReleased removed the lock, or one holder of several.
	EffectReleased = releases | done
	// EffectExcess gave back a place in a lock that was free: it admits one order more then.
	EffectExcess = releases | excess
	// EffectRead and EffectWrote are on the stock. A write may have left it as it was.
	EffectRead  = reads | done
	EffectWrote = writes | done | wrote
	// EffectRefused is an access to the stock whose reply was an error, or an aborted transaction.
	EffectRefused = writes | refused
	// EffectNothing is the effect of any other command, whatever its name.
	EffectNothing Effect = 0
)

// flags are the words of the flags in a file, in their order.
var flags = [...]string{"acquires", "renews", "releases", "reads", "writes", "done", "wrote", "refused", "owned",
	"beside", "endless", "names", "excess"}

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
