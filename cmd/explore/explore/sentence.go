package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// Sentence describes how the schedule breaks a verdict, and what had happened to the clients and servers before. It
// names steps by number, because many steps of a schedule share a time.
func (s Story) Sentence(v Violation) string {
	if v.Verdict == history.Liveness {
		return s.before(v.At) + v.Because
	}
	end := v.At
	if v.Verdict == history.OwnRelease {
		end-- // the step itself ends the other's lease
	}
	args := slices.Clone(v.args)
	for i, arg := range args {
		if c, ok := arg.(named); ok && c.index >= 0 {
			args[i] = s.client(c.index, end)
		}
	}
	return s.around(v.At) + fmt.Sprintf(v.format, args...)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

func brief(d time.Duration) string { return fmt.Sprintf("%g s", d.Seconds()) }

// client names a client, with what happened to it before step number end: "Anna, whose lease expired at step 4,".
func (s Story) client(who, end int) string {
	name := schedule.Person(who)
	if what := s.happened(who, end); len(what) > 0 {
		return name + ", " + strings.Join(what, ", ") + ","
	}
	return name
}

// happened lists what happened to a client in the first steps: its faults, and the ends of its leases.
func (s Story) happened(who, end int) (what []string) {
	for i, line := range s.Lines[:min(end, len(s.Lines))] {
		if line.Step.ByClient() && line.Step.Who == who && line.Step.IsFault() {
			what = append(what, s.fault(i))
		}
		ended := slices.Contains(line.Ended, who)
		switch {
		case line.Step.Kind == schedule.Hold && line.Step.Who == who:
			held := fmt.Sprintf("held for %s s", seconds(s.heldFor(i)))
			if ended {
				held += " under a lease of " + brief(LeaseTTL)
			}
			what = append(what, fmt.Sprintf("%s at step %d", held, i+1))
		case ended && !line.Step.OfServer(): // faults of a server come first in the sentence
			what = append(what, fmt.Sprintf("whose lease of %s %s at step %d (+%s s)", brief(LeaseTTL), s.ending(i), i+1,
				seconds(line.After)))
		}
	}
	return what
}

// fault describes what happened to the client of a step, to follow its name.
func (s Story) fault(i int) string {
	line, command := s.Lines[i], ""
	if line.cmd != nil {
		command = line.cmd.Name + "/" + line.cmd.Server.Name
	}
	return fmt.Sprintf("%s at step %d", line.Step.Fault(command), i+1)
}

// ending describes how a lease ended that was not released.
func (s Story) ending(i int) string {
	if line := s.Lines[i]; line.Step.ByClient() {
		return "was removed by " + schedule.Person(line.Step.Who)
	}
	return "expired"
}

// heldFor returns how long the client's commands waited under a hold that began at a step.
func (s Story) heldFor(i int) time.Duration {
	from := time.Duration(0)
	if i > 0 {
		from = s.Lines[i-1].After
	}
	until := s.Lines[len(s.Lines)-1].After
	for j := i + 1; j < len(s.Lines); j++ {
		if line := s.Lines[j]; line.Step.ByClient() && line.Step.Who == s.Lines[i].Step.Who {
			until = s.Lines[j-1].After
			break
		}
	}
	return until - from
}

// around lists what happened to the servers in the first steps, as the beginning of a sentence about its effect.
func (s Story) around(end int) string {
	var text strings.Builder
	for i, line := range s.Lines[:min(end, len(s.Lines))] {
		switch line.Step.Kind {
		case schedule.NodeDown:
			fmt.Fprintf(&text, "%s could not be reached from step %d on: ", line.Server, i+1)
		case schedule.NodeEmpty:
			fmt.Fprintf(&text, "%s restarted empty at step %d: ", line.Server, i+1)
		case schedule.ClockJump:
			fmt.Fprintf(&text, "the clock of %s jumped by %s at step %d: ", line.Server, brief(LeaseTTL), i+1)
		}
	}
	return text.String()
}

// before lists all that happened in the first steps.
func (s Story) before(end int) string {
	var text strings.Builder
	text.WriteString(s.around(end))
	for who := range s.Orders {
		if isLater(s.Orders[who]) {
			continue
		}
		if what := s.happened(who, end); len(what) > 0 {
			fmt.Fprintf(&text, "%s, %s: ", schedule.Person(who), strings.Join(what, ", "))
		}
	}
	return text.String()
}
