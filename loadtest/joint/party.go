package joint

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
	// heartbeat is the interval at which a party reports that it is there, and checks the others.
	heartbeat = time.Second
	// minLead is the least time between telling every party of a start and the start, besides the time of messages.
	minLead = 200 * time.Millisecond
	// leaveTime bounds how long leaving may take.
	leaveTime = 2 * time.Second
)

// Options say which parties come together, and where.
type Options struct {
	// URL is the Redis where they meet, Name their common name for the run.
	URL, Name string
	Parties   int
	// Wait bounds the wait for the others.
	Wait  time.Duration
	Terms Terms
	// Say receives texts for a progress line.
	Say func(string)
}

// A Party is one of the load generators that make a run together.
type Party struct {
	redis   *redis.Client
	name    string // of the run
	id      string
	members []string // their ids, in the order in which they came
	number  int      // among them, from 0
	lead    time.Duration
	latch   *latch.Latch
	watch   sync.WaitGroup
	stop    context.CancelFunc
	stale   []string // keys of payloads that all have read when they next meet
}

// Gather waits until all parties are there. The returned context is cancelled, with the reason as its cause, when one
// of them is gone. After an error this party no longer counts as there, so the others go on waiting. An error is one
// line.
func Gather(ctx context.Context, o Options) (*Party, context.Context, error) {
	logging.Disable() // its messages about a server that is away would mix with our output
	at, err := redis.ParseURL(o.URL)
	if err != nil {
		return nil, ctx, errors.New("the Redis where the parties meet: not a URL such as redis://127.0.0.1:6379")
	}
	p := &Party{redis: redis.NewClient(at), name: o.Name}
	if err := p.arrive(ctx, o); err != nil {
		p.redis.Close()
		return nil, ctx, err
	}
	watched, fail := context.WithCancelCause(ctx)
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stop = stop
	p.watch.Go(func() { fail(p.watchOthers(background)) })
	return p, watched, nil
}

// arrive announces the party and waits for the others.
func (p *Party) arrive(ctx context.Context, o Options) error {
	_, longest, err := latch.ReadClock(ctx, p.redis)
	if err != nil {
		return fmt.Errorf("the Redis where the parties meet does not answer: %w", err)
	}
	p.lead = minLead + 2*longest
	if p.id, err = p.newID(ctx); err != nil {
		return err
	}
	p.latch = &latch.Latch{Redis: p.redis, Name: p.base(), Parties: o.Parties, Party: p.id, Terms: o.Terms.text()}
	waiting, cancel := context.WithTimeoutCause(ctx, o.Wait, errJoinTimeout)
	defer cancel()
	var there []string
	s, err := p.latch.Await(waiting, func(s latch.State) {
		there = s.There
		o.Say(fmt.Sprintf("%d of %d parties have come to %s…", len(there), o.Parties, o.Name))
	})
	if err != nil {
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
		defer cancel()
		return errors.Join(explain(err, o, there), p.latch.Leave(leaving))
	}
	slices.Sort(s.There) // an id begins with when it came
	p.members, p.number = s.There, slices.Index(s.There, p.id)
	return nil
}

// newID returns an id that is unique, tells people which party it is, and sorts by when the party came.
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

// errJoinTimeout is the cause when the wait for the others took too long.
var errJoinTimeout = errors.New("too late")

// explain says why the parties did not come together, and what the user can do.
func explain(err error, o Options, there []string) error {
	var other *latch.TermsError
	switch {
	case errors.Is(err, errJoinTimeout):
		var who []string
		for _, id := range there {
			who = append(who, labelOf(id))
		}
		return fmt.Errorf("%d of %d parties came to %s within %s: %s; start the others, or wait longer by --join-wait",
			len(there), o.Parties, o.Name, o.Wait, strings.Join(who, "; "))
	case errors.Is(err, latch.ErrFull):
		return fmt.Errorf("%s has its %d parties already: choose another name for --join, or wait until they are done",
			o.Name, o.Parties)
	case errors.As(err, &other):
		return o.Terms.differ(o, other)
	case errors.Is(err, context.Canceled):
		return err
	}
	return fmt.Errorf("the Redis where the parties meet: %w", err)
}

// watchOthers reports again and again that this party is there. It returns an error when another party is gone, with
// its name, and nil when ctx ends.
func (p *Party) watchOthers(ctx context.Context) error {
	heard := time.Now()
	for {
		s, err := p.latch.Arrive(ctx)
		switch {
		case errors.Is(err, latch.ErrFull):
			return fmt.Errorf("the other parties of %s have given this one up: it did not come again within %s", p.name,
				latch.Lease)
		case err == nil:
			heard = time.Now()
			if s.Gone != "" {
				return fmt.Errorf("party %d (%s) is gone: unless it was killed, it says why itself",
					slices.Index(p.members, s.Gone)+1, labelOf(s.Gone))
			}
		case ctx.Err() == nil && time.Since(heard) > latch.Lease:
			return fmt.Errorf("the Redis where the parties meet does not answer: %w", err)
		}
		select {
		case <-time.After(heartbeat):
		case <-ctx.Done():
			return nil
		}
	}
}

// Close ends the party's part in the run. With done it waits until the others have read its payloads, and then leaves
// nothing behind; otherwise the others notice that it is gone. Keys that it cannot delete expire.
func (p *Party) Close(ctx context.Context, done bool) {
	defer p.redis.Close()
	done = done && p.Meet(ctx, "end") == nil
	p.stop()
	p.watch.Wait()
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	if done {
		_ = p.latch.Done(leaving)
		return
	}
	for _, key := range p.stale {
		p.redis.Expire(leaving, key, latch.Lease) // another party may be about to read it
	}
	_ = p.latch.Leave(leaving)
}

// First reports whether this party does what has to be done once.
func (p *Party) First() bool { return p.number == 0 }

// Name returns p1, p2 and so on.
func (p *Party) Name() string { return nameOf(p.number) }

func nameOf(number int) string { return fmt.Sprintf("p%d", number+1) }

// Label returns the party's host and process, for people.
func (p *Party) Label() string { return labelOf(p.id) }

// labelOf returns the part of an id that is for people.
func labelOf(id string) string {
	_, label, _ := strings.Cut(id, " ")
	return label
}

// Run returns the id of the run: the same for all parties, and different for each run.
func (p *Party) Run() string {
	_, run, _ := strings.Cut(p.members[0], "-")
	run, _, _ = strings.Cut(run, " ")
	return run
}

// base returns the beginning of all keys on Redis, in a hash tag, so that they share one slot of a cluster.
func (p *Party) base() string { return "{loadtest:" + p.name + "}" }

// key returns the beginning of the keys of a step. It contains the run's id, as an earlier run may have left keys
// behind.
func (p *Party) key(step string) string { return p.base() + ":" + p.Run() + ":" + step }
