package history

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A course has, at each command, what its order knew when it sent that: by the replies that it had received.
func TestCourses(t *testing.T) {
	acquire := func(n int) Command { return carried(n, EffectAcquired) }
	tried := func(n int) Command { return carried(n, EffectTried) }
	write := func(n int) Command { return carried(n, EffectWrote) }
	release := func(n int) Command { return carried(n, EffectReleased) }
	second := func(c Command) Command {
		c.Key = "second lock"
		return c
	}
	usually := func(e Effect, c Command) Command {
		c.Wire.Usual = e
		return c
	}
	held := func(until int, c Command) Command {
		c.At, c.End = in(until), in(until+1)
		return heard(c.End, c)
	}
	for _, one := range []struct {
		what  string
		trace []Command
		want  []State // before each command, in the order in which they came, and after all
		keys  []int   // the same; nil: one while it holds the lock
	}{
		{"no acquire", []Command{write(10), write(20)}, []State{NoLock, NoLock, NoLock}, nil},
		{"an acquire", []Command{acquire(10), write(20)}, []State{NoLock, Holds, Holds}, nil},
		{"a reply heard late", []Command{heard(in(25), acquire(10)), write(20), write(30)},
			[]State{NoLock, Unsure, Holds, Holds}, nil},
		{"a lost reply", []Command{heard(Never, acquire(10)), write(20)}, []State{NoLock, Unsure, Unsure}, nil},
		{"a retry without a reply", []Command{acquire(10), heard(Never, acquire(20)), write(30)},
			[]State{NoLock, Holds, Holds, Holds}, nil},
		{"an acquire in vain", []Command{tried(10), acquire(20), write(30)}, []State{NoLock, Waiting, Holds, Holds}, nil},
		{"a no that is heard late", []Command{heard(in(25), tried(10)), write(20)}, []State{NoLock, Unsure, Waiting}, nil},
		{"a release, before its reply", []Command{acquire(10), heard(in(35), release(20)), write(30)},
			[]State{NoLock, Holds, HasFreed, HasFreed}, nil},
		{"a release before the acquire's reply", []Command{heard(in(35), acquire(10)), release(20), write(40)},
			[]State{NoLock, Unsure, HasFreed, HasFreed}, nil},
		{"a release in vain", []Command{acquire(10), usually(EffectReleased, carried(20, EffectNothing)), write(30)},
			[]State{NoLock, Holds, HasFreed, HasFreed}, nil},
		{"an acquire after a release", []Command{acquire(10), release(20), acquire(30), write(40)},
			[]State{NoLock, Holds, HasFreed, Holds, Holds}, nil},
		{"a renewal in vain", []Command{acquire(10), usually(EffectRenewed, tried(20)), write(30)},
			[]State{NoLock, Holds, KnowsEnd, KnowsEnd}, nil},
		{"a renewal in vain that is heard late", []Command{acquire(10), heard(in(35), usually(EffectRenewed, tried(20))),
			write(30)}, []State{NoLock, Holds, Holds, KnowsEnd}, nil},
		{"pipelined after the acquire", []Command{acquire(10), held(30, write(10))}, []State{NoLock, Unsure, Holds}, nil},
		{"pipelined before the release", []Command{acquire(10), release(21), held(30, write(20))},
			[]State{NoLock, Holds, Holds, HasFreed}, nil},
		{"notes", []Command{acquire(10), on(EndedLock, 15, LockRemoved), on("woken", 16, "")}, []State{NoLock, Holds}, nil},
		{"two keys", []Command{acquire(10), second(acquire(20)), release(30), second(release(40))},
			[]State{NoLock, Holds, Holds, Holds, HasFreed}, []int{0, 1, 2, 1, 0}},
		{"one of two keys", []Command{acquire(10), second(tried(20)), write(30)}, []State{NoLock, Holds, Holds, Holds}, nil},
	} {
		c := TimelineOf(&Cell{Ops: []Op{{Instance: "a", Trace: one.trace}}}, Terms{}).CourseOf(0)
		var got []State
		for i, s := range append(c.Events, Event{Belief: c.Last}) {
			b := s.Belief
			got = append(got, b.State)
			switch {
			case one.keys != nil:
				assert.Equal(t, one.keys[i], b.Keys, one.what)
			case assert.Equal(t, b.State == Holds, b.Keys == 1, one.what):
				assert.True(t, b.State != Holds || b.Since.Known(), one.what)
			}
		}
		assert.Equal(t, one.want, got, one.what)
	}
	trace := []Command{acquire(10), second(acquire(20)), release(30)}
	c := TimelineOf(&Cell{Ops: []Op{{Trace: trace}}}, Terms{}).CourseOf(0)
	assert.Equal(t, NoLock, c.Events[1].Key.State, "it holds the other key")
	assert.Equal(t, c.Events[0].Command, c.Events[2].Key.Took)

	named := carried(20, EffectNamed)
	named.Wire.Is = "a token"
	c = TimelineOf(&Cell{Ops: []Op{{Trace: []Command{acquire(10), named, release(30)}}}}, Terms{}).CourseOf(0)
	assert.Equal(t, "a token", c.Events[2].Key.Value)
	assert.Nil(t, c.Events[2].Key.Looked)
}
