package history

import "strings"

// An Effect is what a command did to a lock or to the stock, as looks at the server before it and after it have shown.
// It is empty if nobody looked, and then the command's name and reply decide. With an effect they do not: a foreign
// client takes a lock by a script without a name, and with any reply.
type Effect string

// The effects. Those on a lock do not tell whose it was.
const (
	// EffectTried asked for the lock, or looked at it in a script, and left it as it was: somebody had it.
	EffectTried Effect = "tried"
	// EffectAcquired made the sender a holder. [Beside] and [Endless] may follow.
	EffectAcquired Effect = "acquired"
	// EffectRenewed gave the lock a new end, or another value of the same holder. [Endless] may follow.
	EffectRenewed Effect = "renewed"
	// EffectReleased removed the lock, or one holder of several.
	EffectReleased Effect = "released"
	// EffectRead and EffectWrote are about the stock. A write may have left it as it was.
	EffectRead  Effect = "read"
	EffectWrote Effect = "wrote"
	// EffectRefused is an access to the stock that was answered with an error, or a transaction that was aborted.
	EffectRefused Effect = "refused"
	// EffectNothing is the effect of any other command, whatever its name.
	EffectNothing Effect = "nothing"
)

// What may follow the word of an effect, in this order.
const (
	Beside  Effect = " beside others"
	Endless Effect = " without a TTL"
)

// is reports whether the effect is that word, whatever follows it.
func (e Effect) is(word Effect) bool {
	first, _, _ := strings.Cut(string(e), " ")
	return first == string(word)
}

// has reports whether Beside or Endless follows the word.
func (e Effect) has(what Effect) bool { return strings.Contains(string(e), string(what)) }

// done reports whether the effect is one that its sender wanted.
func (e Effect) done() bool {
	return !e.is(EffectTried) && !e.is(EffectRefused) && !e.is(EffectNothing)
}
