package history

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Instant is a moment in nanoseconds after the start of its cell. It is read from the wall clock of whoever
// wrote it down, so two instants of different machines may only be compared through package audit's clocks.
type Instant int64

// Never is the instant of what did not happen: the answer that never came. It is written as null.
const Never Instant = math.MaxInt64

// At returns t as an instant of a cell that began at start. The zero time, which is how an absent time arrives
// from JSON, becomes Never.
func At(start, t time.Time) Instant {
	if t.IsZero() {
		return Never
	}
	return Instant(t.Round(0).Sub(start.Round(0)))
}

// Known reports whether the moment came at all.
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

// UnmarshalJSON reads what MarshalJSON wrote.
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
