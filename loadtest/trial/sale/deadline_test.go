package sale

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// Each move of a line has a deadline, in ms. The lease is 2 s, a plain sale takes 10 ms, and the margin is 2 s.
func TestDeadlines(t *testing.T) {
	plain := history.Facts{TTL: 2 * time.Second, Takes: 10 * time.Millisecond}
	impatient, renewed, quick, long := plain, plain, plain, plain
	impatient.Patience = 1500 * time.Millisecond
	renewed.Every = 600 * time.Millisecond
	quick.TTL = 400 * time.Millisecond
	long.TTL = 10 * time.Minute
	alone, open := Scene{Left: Forever}, Scene{Open: true, Left: Forever}
	under := Scene{Open: true, Under: true, Left: Forever}
	for _, one := range []struct {
		why   string
		move  string
		of    history.Facts
		s     Scene
		after int
	}{
		{"any order is over by then", "a>write", plain, alone, 20000},
		{"a long lease is not waited for", "a>write", long, alone, 20000},
		{"a lease and the margin", "b<read", plain, open, 4000},
		{"a long lease, as far as the trial waits", "b<read", long, open, 62000},
		{"the margin, since a lease was let pass", "b<read", plain, Scene{Open: true, Lapsed: true, Left: Forever}, 2000},
		{"until a held order's client gives up", "b<read", plain, Scene{Open: true, Left: 700 * time.Millisecond}, 700},
		{"a quarter of the lease, since it reaches no further than the lock", "b>acquire", plain, under, 500},
		{"a request to the database needs no lock", "b>db2", plain, under, 4000},
		{"a moment, since it gets nowhere", "b>end", plain, under, 500},
		{"a share of what a held order's client waits", "b>end", impatient, under, 400},
		{"a share of a short lease", "b>end", quick, under, 100},
		{"a moment of several polls", "b>end", long, under, 700},
		{"one sale of several orders", "b>end", plain, Scene{Open: true, Under: true, Again: true, Left: Forever}, 4000},
		{"all of them together", "b>end", plain, Scene{Again: true, Came: 3 * time.Second, Left: Forever}, 1000},
		{"a new order polls for a moment", "c@b", plain, alone, 500},
		{"an order that does not wait is answered by then", "b>waits", plain, open, 300},
		{"shops undo an acquire without a reply by then", "time", plain, alone, 400},
		{"two clients wait", "time", quick, Scene{Held: 2, Left: Forever}, 100},
		{"a period and a half", "a<renewal", renewed, alone, 900},
		{"as long as a reply can be held", "a<renewal", history.Facts{Every: time.Minute, Patience: time.Second}, alone, 700},
	} {
		line, err := schedule.ParseLine(one.move)
		require.NoError(t, err)
		p := &Passport{Facts: one.of}
		assert.Equal(t, time.Duration(one.after)*time.Millisecond, p.Deadline(line[0], one.s), "%s: %s", one.move, one.why)
	}
}

// Shares of a lease, and the wait for it, count from when an order first asks for the lock.
func TestDeadlinesOfOrdersThatComeLate(t *testing.T) {
	late := &Passport{Facts: history.Facts{TTL: 2 * time.Second}, Lead: 3 * time.Second}
	for move, want := range map[string]time.Duration{"b>acquire": 3500 * time.Millisecond,
		"b>end": 3500 * time.Millisecond, "c@b": 3500 * time.Millisecond, "b>waits": 3300 * time.Millisecond} {
		line, err := schedule.ParseLine(move)
		require.NoError(t, err)
		s := Scene{Open: true, Under: true, Left: Forever}
		assert.Equal(t, want, late.Deadline(line[0], s), move)
		s.Sent = true
		assert.Equal(t, want-late.Lead, late.Deadline(line[0], s), "%s, and the order was sent", move)
	}
	assert.Equal(t, 5800*time.Millisecond, late.LongestHold(), "another order comes meanwhile")
}

// An acquire's reply is held for less than a lease, less its renewal; others for as long as the client waits, or for
// longer than a lease.
func TestHowLongRepliesAreHeld(t *testing.T) {
	for _, one := range []struct{ lease, every, patience, reply, acquire, expiry int }{
		{2000, 0, 0, 2800, 2800, 2000},
		{2000, 0, 5000, 4700, 4700, 5000},
		{2000, 0, 1000, 700, 700, 2000},
		{2000, 600, 0, 2800, 1100, 2000},
		{2000, 1500, 0, 2800, 0, 2000},
	} {
		ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
		p := &Passport{Facts: history.Facts{TTL: ms(one.lease), Every: ms(one.every), Patience: ms(one.patience)}}
		assert.Equal(t, ms(one.reply), p.LongestHold(), one)
		assert.Equal(t, ms(one.acquire), p.LongestAcquireHold(), one)
		assert.Equal(t, ms(one.expiry), p.Expiry(true), one)
		assert.Equal(t, ms(one.lease), p.Expiry(false), one)
	}
}

// An order may take as long as the lease, or its instance would still work for it when the next one arrives.
func TestHTTPTimeCoversTheLease(t *testing.T) {
	for lease, want := range map[time.Duration]time.Duration{
		0: 20 * time.Second, 2 * time.Second: 20 * time.Second, 30 * time.Second: 32 * time.Second, time.Minute: time.Minute,
	} {
		assert.Equal(t, want, (&Passport{Facts: history.Facts{TTL: lease}}).HTTPTime())
	}
}
