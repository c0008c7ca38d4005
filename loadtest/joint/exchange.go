package joint

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
	// maxPayload bounds what a party may send at once, compressed: all payloads have to fit into the memory of the Redis,
	// beside the locks.
	maxPayload = 64 << 20
	// maxUnpacked bounds the size of the same when it is unpacked.
	maxUnpacked = 1 << 30
	// payloadTTL bounds the life of a payload on Redis whose party dies before it can delete it.
	payloadTTL = 10 * time.Minute
)

// Meet waits until all parties have come to the step.
func (p *Party) Meet(ctx context.Context, step string) error {
	_, err := p.meet(ctx, step, 0)
	return err
}

// meet waits until all parties have come to the step, and returns the instant at which they go on, by Redis' clock:
// lead after the last has come.
func (p *Party) meet(ctx context.Context, step string, lead time.Duration) (time.Time, error) {
	l := &latch.Latch{Redis: p.redis, Name: p.key(step), Parties: len(p.members), Party: p.id, Lead: lead}
	s, err := l.Await(ctx, nil)
	if err != nil {
		return time.Time{}, p.cause(ctx, err)
	}
	p.deleteStale(ctx) // all are here, so all have read the earlier payloads
	return s.Start, l.Done(ctx)
}

// cause returns the reason why the run has ended, if it has, instead of err.
func (p *Party) cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// exchange sends a value to all parties and returns the values of all, in the parties' order. The party's own value
// takes the way over Redis too, so that all parties have exactly the same values.
func exchange[T any](ctx context.Context, p *Party, step string, mine T) ([]T, error) {
	packed, err := pack(mine, maxPayload)
	if err != nil {
		return nil, err
	}
	key := p.valueOf(step, p.number)
	if err := p.redis.Set(ctx, key, packed, payloadTTL).Err(); err != nil {
		return nil, p.cause(ctx, fmt.Errorf("cannot give the other parties what was measured: %w", err))
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
			return nil, p.cause(ctx,
				fmt.Errorf("what party %d (%s) measured cannot be read: %w", i+1, labelOf(p.members[i]), err))
		}
	}
	return all, nil
}

// valueOf returns the key under which party number i puts its value.
func (p *Party) valueOf(step string, i int) string {
	return p.key(step) + ":" + nameOf(i)
}

// deleteStale deletes the payloads that every party has read or that no party needs. If it cannot, they expire.
func (p *Party) deleteStale(ctx context.Context) {
	if len(p.stale) > 0 && p.redis.Del(ctx, p.stale...).Err() == nil {
		p.stale = nil
	}
}

// pack compresses a value. It fails if the result has more bytes than most.
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
		return nil, fmt.Errorf("a history of %.1f MB, compressed, is more than the %.1f MB "+
			"that parties may give each other: use fewer --requests",
			float64(b.Len())/(1<<20), float64(most)/(1<<20))
	}
	return b.Bytes(), nil
}

func unpack(packed []byte, v any) error {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(r, maxUnpacked))
	switch {
	case err != nil:
		return err
	case len(text) == maxUnpacked:
		return fmt.Errorf("it has more than %d MB", maxUnpacked>>20)
	}
	return json.Unmarshal(text, v)
}

// clock compares Redis' clock with this machine's.
func (p *Party) clock(ctx context.Context) (latch.Offset, error) {
	o, _, err := latch.ReadClock(ctx, p.redis)
	if err != nil {
		return o, p.cause(ctx, fmt.Errorf("the time of the Redis where the parties meet cannot be read: %w", err))
	}
	return o, nil
}
