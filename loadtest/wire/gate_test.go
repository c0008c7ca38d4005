package wire

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/schedule"
)

// The connection of a dead client closes at about the time when the gate forgets its commands. Whichever comes first,
// the wire goes on.
func TestDeadClientDoesNotBlock(t *testing.T) {
	for name, bury := range map[string]func(*Gate, *schedule.Client){
		"as it dies": func(g *Gate, c *schedule.Client) { g.Retire(c) },
		"at the end": func(g *Gate, _ *schedule.Client) { g.OpenAll() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, c := NewGate(nil), &schedule.Client{Name: "a"}
				g.Begin()
				cmd := &Command{Seen: Seen{Command: schedule.Command{Client: c, Server: &schedule.Server{}}}}
				gone, decided := make(chan struct{}), make(chan schedule.Decision, 1)
				go func() { decided <- g.Wait(cmd, gone) }()
				synctest.Wait()
				require.Len(t, g.Of(c), 1)
				g.Change(func() { c.Dead = true })
				bury(g, c)
				close(gone)
				synctest.Wait()
				require.Len(t, decided, 1, "the command still waits")
				assert.Contains(t, []schedule.Decision{schedule.Fail, schedule.TooLate}, <-decided)
				assert.Empty(t, g.Of(c))
			})
		})
	}
}
