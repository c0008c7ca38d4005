package join

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"stockapi/loadtest/latch"
)

const (
	// beat is how often a party says that it is still there, and looks whether the others are.
	beat = time.Second
	// notice is how long before a start everybody has to know of it, beside what messages take.
	notice = 200 * time.Millisecond
	// farewell is how long saying goodbye may take.
	farewell = 2 * time.Second
)

// Options says which parties are to come together, where.
type Options struct {
	// URL is the Redis where they meet, Name what they all call their run.
	URL, Name string
	Parties   int
	// Wait is how long to wait for the others.
	Wait  time.Duration
	Terms Terms
	// Say is told what is going on, for a progress line.
	Say func(string)
}

// Party is one of the load generators that make a run together.
type Party struct {
	redis   *redis.Client
	name    string // of the run
	id      string
	members []string // their ids, in the order in which they came
	number  int      // among them, from 0
	lead    time.Duration
	gather  *latch.Latch
	watch   sync.WaitGroup
	stop    context.CancelFunc
	stale   []string // keys of what all have read when they next meet
}

// Gather waits until all parties are there. The context it returns ends, with the reason as its cause, when one of them
// is gone. An error is one line; the arrival has been taken back by then, so that the others wait for somebody else.
func Gather(ctx context.Context, o Options) (*Party, context.Context, error) {
	logging.Disable() // its complaints about a server that is away would stand between our own lines
	at, err := redis.ParseURL(o.URL)
	if err != nil {
		return nil, ctx, errors.New("the Redis where the parties meet: not a URL such as redis://127.0.0.1:6379")
	}
	p := &Party{redis: redis.NewClient(at), name: o.Name}
	if err := p.come(ctx, o); err != nil {
		p.redis.Close()
		return nil, ctx, err
	}
	watched, fail := context.WithCancelCause(ctx)
	resting, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stop = stop
	p.watch.Go(func() { fail(p.watchOthers(resting)) })
	return p, watched, nil
}

// come introduces the party and waits for the others.
func (p *Party) come(ctx context.Context, o Options) error {
	_, longest, err := latch.ReadClock(ctx, p.redis)
	if err != nil {
		return fmt.Errorf("the Redis where the parties meet does not answer: %w", err)
	}
	p.lead = notice + 2*longest
	if p.id, err = p.newID(ctx); err != nil {
		return err
	}
	p.gather = &latch.Latch{Redis: p.redis, Name: p.base(), Parties: o.Parties, Party: p.id, Terms: o.Terms.text()}
	waiting, cancel := context.WithTimeoutCause(ctx, o.Wait, errLate)
	defer cancel()
	var there []string
	s, err := p.gather.Await(waiting, func(s latch.State) {
		there = s.There
		o.Say(fmt.Sprintf("%d of %d parties have come to %s…", len(there), o.Parties, o.Name))
	})
	if err != nil {
		goodbye, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		return errors.Join(explain(err, o, there), p.gather.Leave(goodbye))
	}
	slices.Sort(s.There) // an id begins with when it came
	p.members, p.number = s.There, slices.Index(s.There, p.id)
	return nil
}

// newID makes a name that no other party has, that tells people which it is, and that sorts by when the party came.
func (p *Party) newID(ctx context.Context) (string, error) {
	now, err := p.redis.Time(ctx).Result()
	if err != nil {
		return "", err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	var more [4]byte
	_, _ = rand.Read(more[:]) // it never fails
	return fmt.Sprintf("%016x-%s %s, process %d", now.UnixMicro(), hex.EncodeToString(more[:]), host, os.Getpid()), nil
}

// errLate is the cause of a wait that took too long.
var errLate = errors.New("too late")

// explain says why the parties did not come together, and what can be done about it.
func explain(err error, o Options, there []string) error {
	var other *latch.TermsError
	switch {
	case errors.Is(err, errLate):
		var who []string
		for _, id := range there {
			who = append(who, labelOf(id))
		}
		return fmt.Errorf("%d of %d parties came to %s within %s: %s; start the others, or wait longer by --join-wait",
			len(there), o.Parties, o.Name, o.Wait, strings.Join(who, "; "))
	case errors.Is(err, latch.ErrFull):
		return fmt.Errorf("%s has its %d parties already: choose another name for --join, or wait until they are done", o.Name, o.Parties)
	case errors.As(err, &other):
		return o.Terms.differ(o, other)
	case errors.Is(err, context.Canceled):
		return err
	}
	return fmt.Errorf("the Redis where the parties meet: %w", err)
}

// watchOthers says again and again that the party is there, and returns when somebody else no longer is, with who that
// is, or when nothing is to be watched any more.
func (p *Party) watchOthers(ctx context.Context) error {
	heard := time.Now()
	for {
		s, err := p.gather.Arrive(ctx)
		switch {
		case errors.Is(err, latch.ErrFull):
			return fmt.Errorf("the other parties of %s have given this one up: it did not come again within %s", p.name, latch.Lease)
		case err == nil:
			heard = time.Now()
			if s.Gone != "" {
				return fmt.Errorf("party %d (%s) is gone: unless it was killed, it says why itself", slices.Index(p.members, s.Gone)+1, labelOf(s.Gone))
			}
		case ctx.Err() == nil && time.Since(heard) > latch.Lease:
			return fmt.Errorf("the Redis where the parties meet does not answer: %w", err)
		}
		select {
		case <-time.After(beat):
		case <-ctx.Done():
			return nil
		}
	}
}

// Close ends the party's part in the run. With done it waits until the others have read what it gave them, and then
// leaves nothing behind; otherwise the others see that it has gone. What it cannot remove any more expires.
func (p *Party) Close(ctx context.Context, done bool) {
	defer p.redis.Close()
	done = done && p.Meet(ctx, "end") == nil
	p.stop()
	p.watch.Wait()
	goodbye, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if done {
		_ = p.gather.Done(goodbye)
		return
	}
	for _, key := range p.stale {
		p.redis.Expire(goodbye, key, latch.Lease) // somebody may be about to read it
	}
	_ = p.gather.Leave(goodbye)
}

// First reports whether this is the party that does what has to be done once.
func (p *Party) First() bool { return p.number == 0 }

// Name is p1, p2 and so on.
func (p *Party) Name() string { return nameOf(p.number) }

func nameOf(number int) string { return fmt.Sprintf("p%d", number+1) }

// Label tells people which party this is: its host and its process.
func (p *Party) Label() string { return labelOf(p.id) }

// labelOf is the part of an id that is for people.
func labelOf(id string) string {
	_, label, _ := strings.Cut(id, " ")
	return label
}

// Run is what the run is called, the same for all parties and different from any other run's.
func (p *Party) Run() string {
	_, run, _ := strings.Cut(p.members[0], "-")
	run, _, _ = strings.Cut(run, " ")
	return run
}

// base is what all keys on Redis begin with: in a hash tag, so that they share one slot of a cluster.
func (p *Party) base() string { return "{loadtest:" + p.name + "}" }

// key is what the keys of a step begin with. They are this run's: one before it may have left some behind.
func (p *Party) key(step string) string { return p.base() + ":" + p.Run() + ":" + step }
