package explore

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/schedule"
	"stockapi/loadtest/schedule/search"
)

// grant returns a step that carries out a command of a client.
func grant(who int, cmd command) choice {
	return choice{Option: search.Option{Step: schedule.Step{Kind: schedule.Grant, Who: who}}, cmd: &cmd}
}

func testServer(name string, index int) *store {
	return &store{Server: schedule.Server{Name: name, Index: index}}
}

// Steps of two clients commute if their order matters neither to the servers nor to the judge.
func TestIndependentSteps(t *testing.T) {
	stock, lock, other := testServer("stock", 0), testServer("1", 1), testServer("2", 2)
	set := func(server *store, key string) command {
		return command{Command: schedule.Command{Name: "set", Keys: []string{key}}, server: server}
	}
	refused, acquire, elsewhere, another := set(lock, "key"), set(lock, "key"), set(other, "key"), set(lock, "x")
	acquire.write, acquire.opens, elsewhere.write, another.write = true, true, true, true
	read := command{Command: schedule.Command{Name: "get", Keys: []string{"units"}}, server: stock}
	for _, c := range []struct {
		a, b    command
		commute bool
		why     string
	}{
		{acquire, acquire, false, "the first acquires the lock"},
		{refused, refused, true, "neither has changed anything"},
		{acquire, refused, false, "the second is refused because of the first"},
		{acquire, elsewhere, true, "the servers differ"},
		{another, acquire, true, "the keys differ"},
		{acquire, read, false, "work before another's lease breaks nothing, and after it does"},
		{refused, read, true, "it has begun no lease"},
		{read, read, true, "both only read"},
	} {
		assert.Equal(t, c.commute, independent(grant(0, c.a), grant(1, c.b)), c.why)
		assert.Equal(t, c.commute, independent(grant(1, c.b), grant(0, c.a)), c.why)
		time := newChoice(schedule.Step{Kind: schedule.Time}, nil)
		assert.False(t, independent(time, grant(0, c.a)), "time concerns all clients")
	}
	lost := grant(0, acquire)
	lost.Kind = schedule.LoseRequest
	assert.True(t, independent(lost, grant(1, acquire)), "it is not carried out")
}

// A script's keys are those that it declares, and the channel that it publishes to: a message comes after it.
func TestAChannelCountsAsAKey(t *testing.T) {
	assert.Equal(t, []string{"k", "channel"}, keysOf([]any{"evalsha", "digest", 1, "k", "owner", 0, "PUBLISH", "channel"}))
	assert.Equal(t, []string{"k", "channel"}, keysOf([]any{"evalsha", "digest", 2, "k", "channel", "owner", "PUBLISH"}))
}

// The commands of one client commute only if they are one request to several servers.
func TestOneRequestToSeveralServers(t *testing.T) {
	first := command{Command: schedule.Command{Name: "set"}, server: testServer("1", 1), round: 1, since: 3}
	second := first
	second.server = testServer("2", 2)
	assert.True(t, independent(grant(0, first), grant(0, second)))
	for _, differ := range []func(*command){
		func(c *command) { c.since = 4 }, func(c *command) { c.round = 2 },
		func(c *command) { c.server = first.server },
	} {
		other := second
		differ(&other)
		assert.False(t, independent(grant(0, first), grant(0, other)))
	}
}
