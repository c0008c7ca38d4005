package rig

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// Patience bounds how long a step waits for the command that it names, and then for its answer.
const Patience = 3 * time.Second

// Errors of a step.
var (
	ErrNotSent    = errors.New("has not sent that many commands")
	ErrGivenUp    = errors.New("has closed the connection")
	ErrUnanswered = fmt.Errorf("was not answered within %s", Patience)
)

// Await returns the command of an instance that waits at its wires with that number, as a trace counts them.
func (r *Rig) Await(ctx context.Context, e *End, nth int) (*wire.Command, error) {
	for begun := time.Now(); ; time.Sleep(quietGap) {
		r.Quiet(ctx)
		if waiting := r.Gate.Of(&e.Client); len(waiting) > nth {
			return waiting[nth], nil
		}
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case time.Since(begun) > Patience:
			return nil, fmt.Errorf("%s %w", e.Name, ErrNotSent)
		}
	}
}

// Take takes a step of a command that waits, and returns when it is over: the server has answered or never will, or the
// client is dead.
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
	}
	return r.decide(ctx, cmd, d)
}

// decide lets a command go, and waits until the server has answered, or never will.
func (r *Rig) decide(ctx context.Context, cmd *wire.Command, d schedule.Decision) error {
	if !r.Gate.Decide(cmd, d) {
		return fmt.Errorf("%s %w of %s", cmd.Client.Name, ErrGivenUp, cmd.Text())
	}
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	select {
	case <-cmd.Done():
		return nil
	case <-timer.C:
		return fmt.Errorf("%s %w", cmd.Text(), ErrUnanswered)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
