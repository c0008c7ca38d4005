package latch

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed arrive.lua
	arriveSource string
	//go:embed done.lua
	doneSource string
	//go:embed leave.lua
	leaveSource string

	arriveScript = redis.NewScript(arriveSource)
	doneScript   = redis.NewScript(doneSource)
	leaveScript  = redis.NewScript(leaveSource)
)

const (
	// Lease is the time for which a party counts as present after it arrived.
	Lease = 10 * time.Second
	// again is the interval at which a waiting party arrives again. It polls, as a few parties cost little; a message
	// would come sooner, but could be lost.
	again = 20 * time.Millisecond
	// ttl bounds the life of an abandoned latch's keys on Redis.
	ttl = time.Minute
)

// ErrFull means that all parties have come already, or that this one comes again after it was given up.
var ErrFull = errors.New("all parties have come already")

// A TermsError means that the parties that are present have other terms.
type TermsError struct {
	// Parties and Terms are those of the others.
	Parties int
	Terms   string
}

func (e *TermsError) Error() string {
	return fmt.Sprintf("those who are there wait for %d parties, on the terms %q", e.Parties, e.Terms)
}

// A Latch is one party's side of a latch. It opens once, and is not used again.
type Latch struct {
	// Redis keeps the latch. Its client may retry: arriving twice is arriving once.
	Redis redis.Scripter
	// Name is the parties' common name for the latch. Its keys begin with it: on a cluster it needs a hash tag.
	Name string
	// Parties is the number of parties that have to come, and Party the unique name of this one.
	Parties int
	Party   string
	// Terms are the settings that all parties have to agree on, in any format.
	Terms string
	// Lead is the time that this party needs between hearing of the start and the start. The longest of all parties
	// counts.
	Lead time.Duration
}

// A State is the state of a latch.
type State struct {
	// Open is true when all parties have come. Start is the instant at which they begin, by Redis' clock.
	Open  bool
	Start time.Time
	// Gone is the first party that left or died after that, empty if none did.
	Gone string
	// There lists the parties that are present, in no order.
	There []string
}

// Arrive counts the party as present, for the time of a lease, and returns the state of the latch. A party that arrives
// again counts once. It fails with ErrFull, with a *TermsError, or because Redis could not be reached.
func (l *Latch) Arrive(ctx context.Context) (State, error) {
	reply, err := arriveScript.Run(ctx, l.Redis, l.keys(), l.Party, l.Parties, l.Terms,
		l.Lead.Microseconds(), Lease.Microseconds(), ttl.Milliseconds()).StringSlice()
	if err != nil {
		return State{}, err
	}
	switch reply[0] {
	case "full":
		return State{}, ErrFull
	case "terms":
		parties, err := strconv.Atoi(reply[1])
		return State{}, errors.Join(&TermsError{parties, reply[2]}, err)
	}
	s := State{Gone: reply[1], There: reply[2:]}
	if reply[0] != "" {
		micros, err := strconv.ParseInt(reply[0], 10, 64)
		if err != nil {
			return State{}, err
		}
		s.Open, s.Start = true, time.UnixMicro(micros)
	}
	return s, nil
}

// Await arrives, and waits until all parties have. While some are missing it calls meanwhile, unless nil, with each
// state. It fails as Arrive does, or with the cause of ctx; the party then stays present until it leaves.
func (l *Latch) Await(ctx context.Context, meanwhile func(State)) (State, error) {
	for {
		s, err := l.Arrive(ctx)
		if ctx.Err() != nil {
			return State{}, context.Cause(ctx)
		}
		if err != nil || s.Open {
			return s, err
		}
		if meanwhile != nil {
			meanwhile(s)
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return State{}, context.Cause(ctx)
		}
	}
}

// Done says that the party no longer needs the open latch. When all parties have said so, nothing of it is left.
func (l *Latch) Done(ctx context.Context) error {
	return doneScript.Run(ctx, l.Redis, l.keys(), l.Party).Err()
}

// Leave ends the party's presence. Parties that wait go on waiting; those that have begun can see which party is
// missing.
func (l *Latch) Leave(ctx context.Context) error {
	return leaveScript.Run(ctx, l.Redis, l.keys(), l.Party).Err()
}

func (l *Latch) keys() []string {
	return []string{l.Name + ":there", l.Name + ":about"}
}
