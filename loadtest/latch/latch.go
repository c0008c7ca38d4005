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
	// Lease is for how long a party counts as there unless it comes again.
	Lease = 10 * time.Second
	// again is how often a party that waits comes again. A few parties ask for little; a message that the latch is
	// open would come sooner, and could be lost.
	again = 20 * time.Millisecond
	// ttl is how long what nobody comes to any more stays on Redis.
	ttl = time.Minute
)

// ErrFull is what a party gets that is one too many, or comes again after it was given up for dead.
var ErrFull = errors.New("all parties have come already")

// TermsError is what a party gets that comes on other terms than those who are there.
type TermsError struct {
	// Parties and Terms are those of the others.
	Parties int
	Terms   string
}

func (e *TermsError) Error() string {
	return fmt.Sprintf("those who are there wait for %d parties, on the terms %q", e.Parties, e.Terms)
}

// Latch is one party's side of a latch. It opens once, and is not used again.
type Latch struct {
	// Redis is where the parties meet. Its client may retry: to come twice is to come once.
	Redis redis.Scripter
	// Name is what all parties call the latch. Its keys begin with it: on a cluster it needs a hash tag.
	Name string
	// Parties is how many have to come, Party the name of this one, which no other has.
	Parties int
	Party   string
	// Terms is what all have to agree on, in any words.
	Terms string
	// Lead is how long before the start each party has to know of it. The longest of all parties' counts.
	Lead time.Duration
}

// State is how a latch stands.
type State struct {
	// Open says that all have come. Start is the instant at which they begin, by Redis' clock.
	Open  bool
	Start time.Time
	// Gone is who was the first to leave or to die after that, empty if nobody was.
	Gone string
	// There is who is there, in no order.
	There []string
}

// Arrive counts the party as there, for the time of a lease, and returns how the latch stands. A party that arrives
// again counts once. It fails with ErrFull, with a *TermsError, or because Redis could not be asked.
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

// Await arrives, and waits until all have. Of each state in which some are missing it tells meanwhile, if that is not
// nil. It fails as Arrive does, or with the cause of ctx; the arrival then stands until it is taken back by Leave.
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

// Done says that the party needs the latch, which is open, no more. When all have said so nothing of it is left.
func (l *Latch) Done(ctx context.Context) error {
	return doneScript.Run(ctx, l.Redis, l.keys(), l.Party).Err()
}

// Leave takes the arrival back. Parties that wait go on waiting; those that have begun can see who is missing.
func (l *Latch) Leave(ctx context.Context) error {
	return leaveScript.Run(ctx, l.Redis, l.keys(), l.Party).Err()
}

func (l *Latch) keys() []string {
	return []string{l.Name + ":there", l.Name + ":about"}
}
