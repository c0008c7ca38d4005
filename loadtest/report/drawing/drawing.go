// Package drawing turns a cell into the data of its timeline, and holds what draws that data in a browser: timeline.js
// draws a part of it as SVG, for a report and for the wall of a class; viewer.js adds the strip, the zoom, the list of
// commands and the keyboard, for a page that is read. It decides nothing: who held which lock, and until when, is
// history's timeline, and what broke is the audit's.
package drawing

import (
	"encoding/json"
	"math"

	"stockapi/loadtest/history"
)

// A Drawing is the timeline of a cell, as timeline.js draws it. Orders, lanes and commands are named by their indices;
// -1 is none.
type Drawing struct {
	// Lanes are those of the instances first, then those of what is around them, then those of the locks.
	Lanes      []Lane      `json:"lanes"`
	Orders     []Order     `json:"orders"`
	Tenures    []Tenure    `json:"tenures,omitempty"`
	Commands   []Command   `json:"commands,omitempty"`
	Faults     []Fault     `json:"faults,omitempty"`
	Violations []Violation `json:"violations,omitempty"`
	// First is the part that is shown first.
	First Frame `json:"first"`
	// Queue means that the orders are drawn as they arrived, each in a row of its own.
	Queue bool `json:"queue,omitempty"`
	// Notes say what has to be known of the whole drawing.
	Notes []string `json:"notes,omitempty"`
}

// A Time is in milliseconds after the start of the cell. NaN means never, which is null in a file.
type Time float64

// never is the time of what did not happen.
var never = Time(math.NaN())

// timeOf returns an instant in milliseconds, to the microsecond.
func timeOf(at history.Instant) Time {
	if !at.Known() {
		return never
	}
	return inMillis(float64(at))
}

// inMillis returns a time in nanoseconds as milliseconds, to the microsecond.
func inMillis(ns float64) Time { return Time(math.Round(ns/1e3) / 1e3) }

// MarshalJSON writes null for never.
func (t Time) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(t)) || math.IsInf(float64(t), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(t))
}

// Known reports whether the moment is known to have come.
func (t Time) Known() bool { return !math.IsNaN(float64(t)) }

// A Lane is a band of the drawing. Kind is instance, around or lock.
type Lane struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Title is the whole name of a lock: its key and its node.
	Title string `json:"title,omitempty"`
	// Colour is a number from 0 to 3, the same for all that an instance does.
	Colour int `json:"colour"`
}

// An Order is a bar on the lane of its instance.
type Order struct {
	// ID is unique in the cell. Name is what to call it, such as "Anna"; "" is "order", and then its ID.
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	Lane int    `json:"lane"`
	// Sent and Done are its request and its answer.
	Sent Time `json:"sent"`
	Done Time `json:"done"`
	// From and To are its lease, or without one its time at the stock. They are never if it had neither; To is never if
	// its end is not known.
	From  Time `json:"from"`
	To    Time `json:"to"`
	Lease bool `json:"lease,omitempty"`
	// Released is when it gave its lock back, as its lease says.
	Released Time `json:"released"`
	// Lost is when it lost its lock before that, between Since and At, and why. It is nil if it kept the lock.
	Lost *Lost `json:"lost,omitempty"`
	// Fence is the number of its fencing token, the first of the cell being 1; 0 if it has none.
	Fence   int     `json:"fence,omitempty"`
	Outcome string  `json:"outcome"`
	Units   []int64 `json:"units,omitempty"`
	// Does says what became of it after its name, such as "sells unit # again", where # is its first unit.
	Does string `json:"does"`
	// Turn says in which turn of a queue it got the lock. Overtaken means that this was not its own turn.
	Turn      string `json:"turn,omitempty"`
	Overtaken bool   `json:"overtaken,omitempty"`
}

// Lost says how an order lost its lock while it believed that it held it.
type Lost struct {
	Since Time   `json:"since"`
	At    Time   `json:"at"`
	How   string `json:"how,omitempty"` // as of a tenure
	Why   string `json:"why"`
}

// A Tenure is a bar on the lane of a lock: solid from From to Since, dashed until At.
type Tenure struct {
	Lane  int    `json:"lane"`
	Order int    `json:"order"`
	From  Time   `json:"from"`
	Since Time   `json:"since"`
	At    Time   `json:"at"`
	How   string `json:"how,omitempty"` // released, removed, expired, session or gone
	Why   string `json:"why,omitempty"`
	// Maybe means that the whole of it is not known, such as that of an order which died and told nothing.
	Maybe bool `json:"maybe,omitempty"`
	// Beside means that others may have the lock at the same time.
	Beside bool `json:"beside,omitempty"`
}

// A Command is a mark on its order's bar. Kind is read, write, refused (a write that the stock refused), unsure (a
// write whose reply was lost), acquire, renew, release, woken or other.
type Command struct {
	Order int    `json:"order"`
	Lane  int    `json:"lane"` // of the instance that sent it
	Lock  int    `json:"lock"` // the lane of the lock that it is about
	Kind  string `json:"kind"`
	// Failed means that it did not do what it was sent for.
	Failed bool `json:"failed,omitempty"`
	// Came and Heard are when a wire got it, and when its sender got the reply: never if no wire carried it.
	Came  Time `json:"came"`
	At    Time `json:"at"`
	End   Time `json:"end"`
	Heard Time `json:"heard"`
	// Text is the command as it was sent, or as its sender told it; Reply is the reply, or the error.
	Text   string `json:"text"`
	Reply  string `json:"reply,omitempty"`
	Effect string `json:"effect,omitempty"`
	Node   string `json:"node,omitempty"`
	// Says is what is written beside the mark, such as "reads 98".
	Says string `json:"says,omitempty"`
}

// A Fault is hatched on the lane of its instance, or on a lane around it. Kind is stop, kill, died, or empty if the
// process went on.
type Fault struct {
	Lane  int    `json:"lane"`
	Order int    `json:"order"`
	Kind  string `json:"kind,omitempty"`
	From  Time   `json:"from"`
	To    Time   `json:"to"`
	Text  string `json:"text"`
	Short string `json:"short,omitempty"` // where there is little room
}

// A Violation is the first piece of evidence of a verdict that is broken.
type Violation struct {
	Verdict string `json:"verdict"`
	Letter  string `json:"letter"`
	Sign    string `json:"sign"` // the class of its colour: stock-broken, lock-broken, stuck or unfair
	What    string `json:"what"` // in a few words
	Text    string `json:"text"` // in a sentence
	Orders  []int  `json:"orders,omitempty"`
	At      []Time `json:"at,omitempty"`
	Unit    int64  `json:"unit,omitempty"`
}

// A Frame is a part of a drawing: a time, and the orders that matter in it. All others are drawn small if there are
// many.
type Frame struct {
	From   Time  `json:"from"`
	To     Time  `json:"to"`
	Orders []int `json:"orders,omitempty"`
}
