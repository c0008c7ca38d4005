package history

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"time"
)

// An Instant is in nanoseconds after the start of its cell, by the wall clock of the machine that recorded it. Package
// audit does not compare instants of two hosts.
type Instant int64

// Never is the instant of an event that did not happen, such as a missing answer. It is null in JSON.
const Never Instant = math.MaxInt64

// At returns t as an instant of a cell that began at start. The zero time, as of an absent JSON member, becomes Never.
func At(start, t time.Time) Instant {
	if t.IsZero() {
		return Never
	}
	return Instant(t.Round(0).Sub(start.Round(0)))
}

// Known reports whether the event is known to have happened.
func (i Instant) Known() bool { return i != Never }

// String renders the instant as stories do: "+2.314 s".
func (i Instant) String() string {
	if !i.Known() {
		return "never"
	}
	return fmt.Sprintf("%+.3f s", time.Duration(i).Seconds())
}

// MarshalJSON writes nanoseconds, and null for Never.
func (i Instant) MarshalJSON() ([]byte, error) {
	if !i.Known() {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, int64(i), 10), nil
}

// UnmarshalJSON reads the output of MarshalJSON.
func (i *Instant) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		*i = Never
		return nil
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return fmt.Errorf("an instant is a number of nanoseconds or null, not %.40s", b)
	}
	*i = Instant(n)
	return nil
}
