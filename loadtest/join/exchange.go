package join

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"stockapi/loadtest/latch"
)

const (
	// heaviest is the most that a party may give the others at once, compressed: all of it has to fit into the memory
	// of the Redis, beside the locks.
	heaviest = 64 << 20
	// keep is how long what a party gives stays on Redis if it dies before it can take it back.
	keep = 10 * time.Minute
)

// Meet waits until all parties have come to the step.
func (p *Party) Meet(ctx context.Context, step string) error {
	_, err := p.meet(ctx, step, 0)
	return err
}

// meet waits until all have come to the step, and returns the instant at which they go on, by Redis' clock: that long
// after the last has come.
func (p *Party) meet(ctx context.Context, step string, lead time.Duration) (time.Time, error) {
	l := &latch.Latch{Redis: p.redis, Name: p.key(step), Parties: len(p.members), Party: p.id, Lead: lead}
	s, err := l.Await(ctx, nil)
	if err != nil {
		return time.Time{}, p.because(ctx, err)
	}
	p.forget(ctx) // all are here, and so have read what they were given before
	return s.Start, l.Done(ctx)
}

// because prefers the reason why the run has ended to what came of it at some step.
func (p *Party) because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// exchange gives all parties what each has, and returns it in the parties' order, with this one's own. Even that takes
// the way over Redis: so all parties have the same in their hands, to the last bit.
func exchange[T any](ctx context.Context, p *Party, step string, mine T) ([]T, error) {
	packed, err := pack(mine, heaviest)
	if err != nil {
		return nil, err
	}
	key := p.valueOf(step, p.number)
	if err := p.redis.Set(ctx, key, packed, keep).Err(); err != nil {
		return nil, p.because(ctx, fmt.Errorf("cannot give the other parties what was measured: %w", err))
	}
	err = p.Meet(ctx, step)
	p.stale = append(p.stale, key)
	if err != nil {
		return nil, err
	}
	all := make([]T, len(p.members))
	for i := range all {
		packed, err := p.redis.Get(ctx, p.valueOf(step, i)).Bytes()
		if err == nil {
			err = unpack(packed, &all[i])
		}
		if err != nil {
			return nil, p.because(ctx, fmt.Errorf("what party %d (%s) measured cannot be read: %w", i+1, labelOf(p.members[i]), err))
		}
	}
	return all, nil
}

// valueOf is where party number i leaves what it has for the others.
func (p *Party) valueOf(step string, i int) string {
	return p.key(step) + ":" + nameOf(i)
}

// forget removes what this party gave, where everybody has read it or nobody needs it. If it cannot, it expires.
func (p *Party) forget(ctx context.Context) {
	if len(p.stale) > 0 && p.redis.Del(ctx, p.stale...).Err() == nil {
		p.stale = nil
	}
}

// pack makes of a value what may lie on Redis for a while, if it is at most so many bytes.
func pack(v any, most int) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if err := json.NewEncoder(w).Encode(v); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if b.Len() > most {
		return nil, fmt.Errorf("a history of %.1f MB, compressed, is more than the %.1f MB that parties may give each other: use fewer --requests",
			float64(b.Len())/(1<<20), float64(most)/(1<<20))
	}
	return b.Bytes(), nil
}

func unpack(packed []byte, v any) error {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

// clock compares Redis' clock with this machine's.
func (p *Party) clock(ctx context.Context) (latch.Offset, error) {
	o, _, err := latch.ReadClock(ctx, p.redis)
	if err != nil {
		return o, p.because(ctx, fmt.Errorf("the Redis where the parties meet does not tell the time: %w", err))
	}
	return o, nil
}
