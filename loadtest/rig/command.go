package rig

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// Patience bounds how long a step waits for its command, and then for the reply.
const Patience = 3 * time.Second

// Errors of a step.
var (
	ErrNotSent    = errors.New("has not sent that many commands")
	ErrDead       = errors.New("is dead")
	ErrGivenUp    = errors.New("has closed the connection")
	ErrUnanswered = fmt.Errorf("was not answered within %s", Patience)
)

// Take applies a step to a command that [Player.Await] has returned. It returns once the server has answered or never
// will, or the command is late and on its way, or the client is dead.
func (r *Rig) Take(ctx context.Context, step schedule.Kind, cmd *wire.Command) (err error) {
	e, d := r.Ends[cmd.Client.Index], schedule.Pass
	switch step {
	case schedule.CrashBefore:
		return r.Kill(e)
	case schedule.CrashAfter:
		cmd.Deliver = make(chan struct{})
		defer func() { err = errors.Join(err, r.Kill(e)) }()
	case schedule.LoseRequest:
		d = schedule.LostRequest
	case schedule.LoseReply:
		d = schedule.LostReply
	case schedule.Drop:
		d = schedule.Refuse
	case schedule.Late:
		cmd.Arrive = make(chan struct{})
		return r.decide(ctx, cmd, schedule.ComesLate, cmd.OnItsWay())
	case schedule.Arrive:
		return r.arrive(ctx, cmd)
	}
	return r.decide(ctx, cmd, d, cmd.Done())
}

// decide makes a decision about a command, and waits until it has been carried out.
func (r *Rig) decide(ctx context.Context, cmd *wire.Command, d schedule.Decision, over <-chan struct{}) error {
	if !r.Gate.Decide(cmd, d) {
		return fmt.Errorf("%s %w of %s", cmd.Client.Name, ErrGivenUp, cmd.Text())
	}
	return await(ctx, cmd, over)
}

func await(ctx context.Context, cmd *wire.Command, over <-chan struct{}) error {
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	select {
	case <-over:
		return nil
	case <-timer.C:
		return fmt.Errorf("%s %w", cmd.Text(), ErrUnanswered)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// arrive sends on a late command. A server that is down never gets it; being cut off from one stops no command that was
// sent before.
func (r *Rig) arrive(ctx context.Context, cmd *wire.Command) error {
	down := false
	r.Gate.Change(func() {
		if down = r.Stores[cmd.Server.Index].Down; down {
			cmd.State = wire.Done
		}
	})
	if down {
		return nil
	}
	close(cmd.Arrive)
	return await(ctx, cmd, cmd.Done())
}
