package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/schedule"
)

// Sentence says in one sentence how the schedule breaks a verdict, in the words of the load test. It names a step by
// its number, because much of a schedule has the same time.
func (s Story) Sentence(v Violation) string {
	said := ""
	switch v.Verdict {
	case Stock:
		said = s.soldAgain(v)
	case Exclusion:
		said = s.bothHeld(v)
	case OwnRelease:
		said = s.removed(v)
	case Liveness:
		return s.before(v.At) + s.stuck(v)
	}
	if said == "" {
		said = v.Because
	}
	return s.around(v.At) + said
}

// soldAgain tells of a unit that was sold twice, "" if the violation is another one.
func (s Story) soldAgain(v Violation) string {
	again := v.At - 1
	if again < 0 || again >= len(s.Lines) || !s.sells(again) {
		return ""
	}
	unit := s.Lines[again].Left + 1
	for i := range again {
		if s.sells(i) && s.Lines[i].Left+1 == unit && s.Lines[i].Step.Who != s.Lines[again].Step.Who {
			return fmt.Sprintf("%s sold unit %d at %s; %s sold unit %d again at %s",
				s.who(i, v.At), unit, s.at(i), s.who(again, v.At), unit, s.at(again))
		}
	}
	return ""
}

// sells reports whether a step writes a stock that is smaller by a unit.
func (s Story) sells(i int) bool {
	call := s.Lines[i].Call
	if call == nil || call.Server != "stock" || call.Err != "" {
		return false
	}
	switch call.Name {
	case "set", "exec", "eval:write":
		return true
	case "eval:take":
		return i == 0 || s.Lines[i-1].Left != s.Lines[i].Left
	}
	return false
}

// bothHeld tells of two clients that had the lock at once.
func (s Story) bothHeld(v Violation) string {
	first, second, found := s.overlapping(v.At)
	if !found {
		return ""
	}
	from, last, _ := s.Overlap(v.At)
	return fmt.Sprintf("%s and %s both held the lock from %s to %s", s.client(first.Client, v.At),
		s.client(second.Client, v.At), s.at(from-1), s.at(last-1))
}

// Overlap returns the steps, from 1, between which two clients worked under leases of their own, by step number end. It
// returns false if no two did.
func (s Story) Overlap(end int) (from, last int, found bool) {
	first, second, found := s.overlapping(end)
	return second.From, min(first.Last, end), found
}

// overlapping returns two leases of which the second began while the client of the first still worked.
func (s Story) overlapping(end int) (first, second Lease, found bool) {
	for i, second := range s.Leases {
		for _, first := range s.Leases[:i] {
			if first.Client != second.Client && second.From < first.Last && second.From <= end {
				return first, second, true
			}
		}
	}
	return Lease{}, Lease{}, false
}

// removed tells of a lock that another client than its owner removed.
func (s Story) removed(v Violation) string {
	at := v.At - 1
	if at < 0 || at >= len(s.Lines) || s.Lines[at].Call == nil {
		return ""
	}
	who := s.Lines[at].Step.Who
	for _, lease := range slices.Backward(s.Leases) {
		if lease.Client != who && lease.From <= at {
			return fmt.Sprintf("%s removed the lock at %s although %s had taken it at %s",
				s.who(at, at), s.at(at), s.client(lease.Client, at), s.at(lease.From-1))
		}
	}
	return ""
}

// stuck tells why a rung is not live.
func (s Story) stuck(v Violation) string {
	for _, one := range s.Orders {
		if one.Later && one.Err != nil {
			return fmt.Sprintf("a fresh order did not get through in %s: %s", brief(LongestRecovery), one.Err)
		}
	}
	return v.Because
}

// at names a step.
func (s Story) at(i int) string { return fmt.Sprintf("step %d", i+1) }

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

func brief(d time.Duration) string { return fmt.Sprintf("%g s", d.Seconds()) }

// who names the client of a step, with what happened to it before step number end.
func (s Story) who(i, end int) string { return s.client(s.Lines[i].Step.Who, end) }

// client names a client, with what happened to it before step number end: "a, whose lease ended at step 4,".
func (s Story) client(who, end int) string {
	name := schedule.ClientName(who)
	if what := s.happened(who, end); len(what) > 0 {
		return name + ", " + strings.Join(what, ", ") + ","
	}
	return name
}

// happened lists what happened to a client in the first steps: its faults, and the end of its leases.
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
			what = append(what, held+" at "+s.at(i))
		case ended && !line.Step.OfServer(): // what happened to a server is said before
			what = append(what, fmt.Sprintf("whose lease of %s %s at %s (+%s s)", brief(LeaseTTL), s.ending(i), s.at(i),
				seconds(line.After)))
		}
	}
	return what
}

// fault says what happened to the client of a step, so that it reads on after its name.
func (s Story) fault(i int) string {
	line, command := s.Lines[i], ""
	if line.Call != nil {
		command = line.Call.Name + "/" + line.Call.Server
	}
	switch line.Step.Kind {
	case schedule.CrashBefore:
		return fmt.Sprintf("killed at step %d", i+1)
	case schedule.CrashAfter:
		return fmt.Sprintf("killed after %s at step %d", command, i+1)
	case schedule.LoseRequest:
		return fmt.Sprintf("whose %s was lost on its way at step %d", command, i+1)
	case schedule.LoseReply:
		return fmt.Sprintf("whose reply to %s was lost at step %d", command, i+1)
	case schedule.Drop:
		return fmt.Sprintf("whose message was lost at step %d", i+1)
	case schedule.GiveUp:
		return fmt.Sprintf("whose caller had gone at step %d", i+1)
	}
	return fmt.Sprintf("%s at step %d", line.What, i+1)
}

// ending says how a lease ended that was not given back.
func (s Story) ending(i int) string {
	if line := s.Lines[i]; line.Step.ByClient() {
		return "was removed by " + schedule.ClientName(line.Step.Who)
	}
	return "was over"
}

// heldFor returns how long the commands of a client waited that is held from a step on.
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
		server := "the lock server"
		if strings.Contains(line.Holds, "2: ") {
			server = fmt.Sprintf("node %d", line.Step.Who+1)
		}
		switch line.Step.Kind {
		case schedule.NodeDown:
			fmt.Fprintf(&text, "%s could not be reached from step %d on: ", server, i+1)
		case schedule.NodeEmpty:
			fmt.Fprintf(&text, "%s restarted empty at step %d: ", server, i+1)
		case schedule.ClockJump:
			fmt.Fprintf(&text, "the clock of %s jumped by %s at step %d: ", server, brief(LeaseTTL), i+1)
		}
	}
	return text.String()
}

// before lists all that happened in the first steps.
func (s Story) before(end int) string {
	var text strings.Builder
	text.WriteString(s.around(end))
	for who := range s.Orders {
		if s.Orders[who].Later {
			continue
		}
		if what := s.happened(who, end); len(what) > 0 {
			fmt.Fprintf(&text, "%s, %s: ", schedule.ClientName(who), strings.Join(what, ", "))
		}
	}
	return text.String()
}
