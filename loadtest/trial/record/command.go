package record

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// An Effect is what a command did to a key of the lock, or to the stock.
type Effect struct {
	Observation
	history.Command
}

// EffectsOf returns the effects of commands, in their order.
func EffectsOf(commands []Observation) (all []Effect) {
	for _, c := range commands {
		for _, e := range c.Effects {
			all = append(all, Effect{c, e})
		}
	}
	return all
}

// Acquired reports whether the command acquired the lock.
func (d *Effect) Acquired() bool { return sale.Acquired(&d.Command) }

// AcquiredAt returns when an order first took the lock.
func AcquiredAt(commands []Observation) time.Time {
	for _, d := range EffectsOf(commands) {
		if d.Acquired() {
			return d.Sent
		}
	}
	return time.Time{}
}

// An Observation is a command that was forwarded to the Redis, with its effects.
type Observation struct {
	wire.Seen
	Effects []history.Command // one for each key; none if they were not observed
	Unseen  []history.Command // the command itself, if its effects were not observed
	Stepped bool              // it changed the count of a lock that was held before and after
	// Before and After are the names of the holders, by lock, if they have names of their own.
	Before, After map[string][]string
	Cmd           *wire.Command
}

// AnyOf reports whether is holds for one of a command's effects.
func AnyOf(effects []history.Command, is func(*history.Command) bool) bool {
	for i := range effects {
		if is(&effects[i]) {
			return true
		}
	}
	return false
}

// Did reports whether the command had such an effect.
func (c *Observation) Did(what func(*history.Command) bool) bool { return AnyOf(c.Effects, what) }

// SentBy returns the commands that an instance has sent since the cell began, in order of arrival.
func (b *Bench) SentBy(at int) (all []Observation) {
	looker := b.Pair.Looker.Load()
	var commands []*wire.Command
	b.Pair.Rig.Gate.Each(func(cmd *wire.Command) {
		if cmd.Client.Index == at && !cmd.Sent.IsZero() && !cmd.Came.Before(b.Cell.Start) {
			commands = append(commands, cmd)
			all = append(all, Observation{Seen: cmd.Seen, Cmd: cmd})
		}
	})
	for i, cmd := range commands {
		if looker == nil || cmd.Message {
			continue
		}
		all[i].Before, all[i].After = looker.Holders(cmd)
		for _, c := range looker.Traced(cmd) {
			c.At, c.End = b.Since(all[i].Sent), b.Since(all[i].Answered)
			c.Wire.Came, c.Wire.Heard = b.Since(all[i].Came), b.Since(all[i].Delivered)
			shape := b.Shape(&all[i].Seen)
			c.Wire.Usual = b.Passport.Usual(shape)
			c.Wire.Granted = c.Reply != "" && c.Reply == b.Passport.Granted[shape]
			if c.Source != history.Looked {
				all[i].Unseen = append(all[i].Unseen, c)
				continue
			}
			c.Wire.Lease = b.Passport.LeaseOf(looker, cmd, &c)
			all[i].Effects = append(all[i].Effects, c)
			all[i].Stepped = all[i].Stepped || looker.Stepped(cmd, c.Key)
		}
	}
	slices.SortStableFunc(all, func(x, y Observation) int { return x.Came.Compare(y.Came) })
	return all
}

// executed returns when the server had executed a command, which may have blocked there, or when it was sent, if there
// was no answer.
func (c *Observation) executed() time.Time {
	if c.Answered.IsZero() {
		return c.Sent
	}
	return c.Answered
}

// AsExecuted sorts commands into the order in which the server executed them: those of several connections may overtake
// one another.
func AsExecuted(commands []Observation) []Observation {
	slices.SortStableFunc(commands, func(x, y Observation) int { return x.executed().Compare(y.executed()) })
	return commands
}

// ByOrder returns the commands of each order: those that its instance sent while it was open, or after it, before the
// next order. Under nil are those that several orders may have sent: they prove nothing about any.
func (b *Bench) ByOrder() map[*shop.Order][]Observation {
	record := map[*shop.Order][]Observation{}
	for at := range b.Pair.Rig.Ends {
		b.attribute(at, b.SentBy(at), record)
	}
	for o := range record {
		if o != nil {
			resolve(record[o])
		}
	}
	return record
}

// resolve clears the apparent effects of one order's commands on the lock. An order that undoes its own failed step of
// a counter has done nothing. A read of the lock by its holder, or after the write, is no try.
func resolve(commands []Observation) {
	takePlaces(commands)
	has, steps, wrote := map[string]bool{}, map[string]int{}, false
	for i := range commands {
		for j := range commands[i].Effects {
			e := &commands[i].Effects[j]
			switch e.Effect {
			case history.EffectTried:
				if commands[i].Stepped {
					steps[e.Key]++
				} else if has[e.Key] || wrote {
					e.Effect = history.EffectNothing
				}
			case history.EffectReleased:
				if steps[e.Key] > 0 {
					steps[e.Key]--
					e.Effect = history.EffectNothing
				} else {
					has[e.Key] = false
				}
			case history.EffectWrote:
				wrote = true
			default:
				has[e.Key] = has[e.Key] || e.Acquires() && e.Succeeded()
			}
		}
	}
}

// changes reports whether a command changed a lock or the stock.
func changes(c *history.Command) bool { return sale.Acquired(c) || isHolders(c) }

// isHolders reports whether a command does what no waiter does.
func isHolders(c *history.Command) bool {
	return c.WritesStock() || c.Prolongs() || c.Releases() || c.Names()
}

// WritesStock reports whether a command writes the stock, or tried to.
func WritesStock(c Observation) bool { return c.Did((*history.Command).WritesStock) }

// values returns the arguments after the key of a command, or after the keys of a script.
func (c *Observation) values() []string {
	from := 2
	if verb := strings.ToLower(c.Args[0]); strings.HasPrefix(verb, "eval") || strings.HasPrefix(verb, "fcall") {
		if len(c.Args) > 2 {
			keys, _ := strconv.Atoi(c.Args[2])
			from = 3 + min(max(0, keys), len(c.Args))
		}
	}
	return c.Args[min(from, len(c.Args)):]
}

// leastToken is the least length of a token, so that no other argument equals one by chance.
const leastToken = 8
